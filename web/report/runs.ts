// What sections of single runs have in common.

import {colour, dashed, layered} from './chart';
import type {Json, Results} from './document';
import type {Layout, Table} from './layout';
import {entriesOf, listIn, member, prose, shown} from './reading';
import {SectionBuilder} from './section_builder';

/** A section of one run, with what every kind of run says of itself. */
export function startRun(layout: Layout, id: string, title: string, results: Results): SectionBuilder {
  const builder = new SectionBuilder(layout, id, results, listIn(results.content, 'figures'));
  builder.section.title = title;
  builder.section.options = member(results.content, 'options');
  builder.section.notes.push(...listIn(results.content, 'warnings').filter((text) => typeof text === 'string'));
  return builder;
}

/** What sections say elsewhere, or nowhere. */
const notFacts = new Set([
  'version', 'kind', 'command', 'options', 'figures', 'warnings', 'environment', 'sizes', 'has_confidence', 'channels',
  'divergence_limit', 'provenance', 'action_bounds']);

/** A table of every number and word at the top of an object and one level below. */
export function factsTable(caption: string, content: Json): Table {
  const rows: string[][] = [];
  const add = (name: string, value: Json) => {
    const text = typeof value === 'number' ? (Number.isInteger(value) ? String(value) : shown(value))
      : typeof value === 'boolean' ? (value ? 'yes' : 'no') : value;
    if (typeof text === 'string') rows.push([name.replaceAll('_', ' '), text]);
  };
  for (const [name, value] of entriesOf(content)) {
    if (notFacts.has(name)) continue;
    add(name, value);
    for (const [inner, number] of entriesOf(value)) add(`${name}: ${inner}`, number);
  }
  return {caption, columns: ['quantity', 'value'], rows};
}

export function addCalibration(builder: SectionBuilder): void {
  if (!builder.lists('calibration')) return;
  builder.figure({
    id: 'calibration',
    title: 'Does the value come true?',
    caption: prose`
      The rows of the log in tenths by their estimated value, and the mean discounted return that followed in the log.
      On the dashed line the estimate is what followed. Where the learnt policy is better than the logged one its values
      lie to the right of it: it expects to earn more than was earned.`,
  }, [{
    draw: () => {
      const tenths = builder.table('calibration', ['value', 'return', 'deviation']);
      const values = tenths.column('value').filter((value) => !Number.isNaN(value));
      const ends = [Math.min(...values), Math.max(...values)];
      const diagonal = builder.dataset('diagonal', {value: ends, return: ends});
      return layered({title: 'estimated value'}, {title: 'discounted return'}, [
        {
          data: tenths.name, mark: 'rule', x: 'value', y: 'below', options: {opacity: 0.5},
          channels: {y2: {field: 'above'}},
          transform: [
            {calculate: 'datum.return - datum.deviation', as: 'below'},
            {calculate: 'datum.return + datum.deviation', as: 'above'}],
        },
        {
          data: tenths.name, mark: 'point', x: 'value', y: 'return', label: 'a tenth of the rows',
          options: {filled: true, size: 50},
        },
        {
          data: diagonal.name, mark: 'line', x: 'value', y: 'return', label: 'as estimated', colour: colour.exact,
          options: dashed,
        },
      ], 300);
    },
  }]);
}
