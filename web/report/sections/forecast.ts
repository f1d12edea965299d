import {type Layer, colour, layered} from '../chart';
import type {Contribution} from '../contribution';
import type {Json} from '../document';
import type {Table} from '../layout';
import {counted, listIn, member, numberIn, prose, shown, textIn} from '../reading';
import {type ChartPlan, SectionBuilder} from '../section_builder';

function errors(content: Json, loop: boolean): Table {
  const free = loop ? ['closed loop NRMSE', 'steps within 0.4σ'] : [];
  return {
    caption: 'Errors on the test part, beside persistence and a linear autoregression',
    columns: ['model', 'NRMSE', 'R²', ...free],
    rows: listIn(content, 'models').map((model) => {
      const score = member(model, 'score');
      const row = [textIn(model, 'name'), shown(numberIn(score, 'nrmse')), shown(numberIn(score, 'r_squared'))];
      if (!loop) return row;
      const run = member(model, 'closed_loop');
      return [...row, shown(numberIn(run, 'nrmse')), String(numberIn(run, 'valid_steps') ?? '')];
    }),
  };
}

/** Under names of our own: a column's may be anything, and Vega reads some as paths. */
function forecastOf(
  builder: SectionBuilder, column: string, own: string, {tested, loop}: {tested: boolean; loop: boolean},
): ChartPlan {
  return {
    draw: () => {
      const most = 5000;
      const parts = [
        {field: 'series', label: 'series', from: column, ink: colour.exact},
        ...tested ? [{field: 'forecast', label: 'forecast', from: `${column}_predicted`, ink: colour.estimate}] : [],
        ...loop ? [{field: 'free_run', label: 'free run', from: `${column}_closed_loop`, ink: colour.other}] : [],
      ];
      const file = builder.table('predictions', ['row', ...parts.map(({from}) => from)], {most, mayBeEmpty: true});
      const numbers = (name: string) => file.column(name).map((value) => (Number.isNaN(value) ? null : value));
      const columns = Object.fromEntries(parts.map(({field, from}) => [field, numbers(from)]));
      const {name: data} = builder.dataset(own, {row: numbers('row'), ...columns}, {most});
      const layers = parts.map(({field, label, ink}): Layer =>
        ({data, mark: 'line', x: 'row', y: field, label, colour: ink}));
      return layered({title: 'row'}, {title: column}, layers);
    },
  };
}

export default {
  kind: 'forecast',
  show: (layout, results) => {
    const {content} = results;
    const builder = new SectionBuilder(layout, 'forecast', results, listIn(content, 'figures'));
    const {section} = builder;
    const count = (key: string) => numberIn(content, key) ?? 0;
    section.title = 'Forecast';
    section.text = `Trained on ${count('trained')} rows, tested on the ${count('tested')} after them, ` +
      `${counted(numberIn(content, 'horizon') ?? 1, 'step')} ahead.`;
    section.options = member(content, 'options');
    const tested = count('tested') > 0;
    const loop = count('closed_loop') > 0;
    section.tables.push(errors(content, loop));
    listIn(content, 'columns').filter((column) => typeof column === 'string').forEach((column, index) => {
      const own = `column_${index + 1}`;
      builder.figure({
        id: own,
        title: `${column} and its forecast`,
        caption: loop ? prose`
          The free run is fed on its own predictions from the end of the training part; the other forecasts see the
          series up to the step they start from.` : 'Each forecast sees the series up to the step it starts from.',
      }, [forecastOf(builder, column, own, {tested, loop})]);
    });
    builder.finish();
  },
} satisfies Contribution;
