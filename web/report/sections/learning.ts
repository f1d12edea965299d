import {colour, dotted, layered} from '../chart';
import type {Contribution} from '../contribution';
import type {Json} from '../document';
import type {Table} from '../layout';
import {listIn, member, numberIn, prose, textIn} from '../reading';
import {EXPLAINED, explained} from '../predictions';
import {addCalibration, factsTable, startRun} from '../runs';
import type {SectionBuilder} from '../section_builder';

/** Of a predictive controller: how much it looks back at, and what it keeps of that. */
function memoryTable(predictive: Json): Table {
  const memory = member(predictive, 'memory');
  const kept = listIn(predictive, 'dimensions').filter((size) => typeof size === 'number');
  const [least, most] = [Math.min(...kept), Math.max(...kept)];
  const number = (key: string, of = memory) => String(numberIn(of, key) ?? '');
  return {
    caption: 'What the memory keeps',
    columns: ['quantity', 'value'],
    rows: [
      ['units of the reservoir', number('units')],
      ['last inputs, remembered exactly', String((numberIn(memory, 'frames') ?? 0) + 1)],
      ['numbers of memory', number('size')],
      ['numbers kept of it, which predict the future', least === most ? String(most) : `${least} to ${most}`],
      ['of them seen now', number('seen_now', predictive)],
      ['fits that are averaged', number('fits', predictive)],
    ].filter(([, value]) => value),
  };
}

/** How much of what will be seen is known so many steps before. */
function addPredictions(builder: SectionBuilder, predictive: Json): void {
  const horizons = listIn(predictive, 'horizons').filter((steps) => typeof steps === 'number');
  const predictions = listIn(predictive, 'predictions').map((one) => ({
    name: textIn(one, 'name'),
    explained: listIn(one, 'explained').map((share) => (typeof share === 'number' ? share : null)),
  }));
  const varying = predictions.filter(({explained}) => explained.some((share) => share !== null));
  if (horizons.length === 0 || varying.length === 0) return;
  builder.figure({id: 'predictions', title: 'What it predicts', caption: EXPLAINED}, [{
    draw: () => explained(builder, 'predictions', horizons,
      varying.map(({name, explained: shares}) => ({name, shares}))),
  }]);
}

export default {
  kind: 'learn',
  show: (layout, results) => {
    const builder = startRun(layout, 'learn', 'A controller learnt from a log', results);
    const predictive = member(results.content, 'predictive');
    builder.section.tables.push(factsTable('What was learnt from what', results.content));
    if (predictive !== null) builder.section.tables.push(memoryTable(predictive));
    builder.figure({
      id: 'value',
      title: 'Reward and value at the end of the log',
      caption: prose`
        The value is the discounted reward that the learnt policy expects from each step on, seen through its memory of
        the log.`,
    }, [{
      draw: () => {
        const {name: data} = builder.table('value', ['row', 'reward', 'value']);
        return layered({title: 'row of the log'}, {title: 'reward per step, and value'}, [
          {data, mark: 'line', x: 'row', y: 'reward', label: 'reward'},
          {data, mark: 'line', x: 'row', y: 'value', label: 'estimated value', colour: colour.estimate},
        ]);
      },
    }]);
    if (builder.lists('ridge_path')) {
      builder.figure({
        id: 'ridge',
        title: 'How much to regularise',
        caption: prose`The cross-validated error of every λ that was considered; the lowest was taken.`,
      }, [{
        draw: () => {
          const {name: data} = builder.table('ridge_path', ['ridge', 'error']);
          return layered({title: 'λ / mean squared feature', log: true, format: '.0e'}, {title: 'error', log: true},
            [{data, mark: 'line', x: 'ridge', y: 'error', options: dotted}]);
        },
      }]);
    }
    addPredictions(builder, predictive);
    addCalibration(builder);
    builder.finish();
  },
} satisfies Contribution;
