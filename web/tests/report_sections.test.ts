// What the page makes of hand-made results, of which every number is known. Without a browser.

import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';

import {afterAll, describe, expect, test} from 'vitest';

import type {Spec} from '../report/chart';
import type {DataFile, Handed, Json} from '../report/document';
import {type Figure, csvOf, rowsOf} from '../report/layout';
import {counted} from '../report/reading';
import {layoutOf} from '../report/sections';
import {recordedCurve} from '../recorded/recurrent_ppo';
import {controlFiles, controlResults} from './control_results';
import {must, temporaryFolder} from './waggle';

const folder = temporaryFolder();
const at = (...names: string[]) => join(folder.path, ...names);
afterAll(() => folder.remove());

type Made = Record<string, Json>;

const theorem: Made = {
  experiment: 'convergence-theorem-1', title: 'Theorem 1', text: 'What it is about.', learner: 'least squares',
  seeds: 2, first_seed: 0,
  metrics: {
    z_first: {median: 0.25, p05: 0.2, p95: 0.3, values: [0.2, 0.3]},
    a_second: {median: null, values: []},
  },
  labels: {z_first: 'error </script> & "quotes"'},
  figures: [
    {name: 'theorem_1_steps', file: 't/steps.csv'}, {name: 'theorem_1_features', file: 't/features.csv'}],
};

/** Errors that fall exactly as ℓ^−½ and N^−1. */
const errors = {
  't/steps.csv': 'steps,seed,error,estimation_error\n100,0,1,0.1\n10000,0,1,0.01\n1000000,0,1,0.001\n',
  't/features.csv': 'features,seed,error\n10,0,0.1\n100,0,0.01\n1000,0,0.001\n',
};

const metric: Json = {paper: 1.52, reference: 1.63, median: 1.2, p05: 1.1, p95: 1.3, values: [1.1, 1.3]};
const bees: Made = {
  experiment: 'bee-world', title: 'Bee World', learner: 'paper', seeds: 2, first_seed: 0, rank_deficient: 2,
  main_metric: {name: 'mean_nectar', axis: 'nectar', better: 'higher'}, metrics: {mean_nectar: metric},
  figures: [
    {name: 'initial_flight', file: 'flight.csv'}, {name: 'learning_curve', file: 'curve.csv', learner: 'iterated'}],
};

/** What the page shows of results with these files, through the program. */
async function shown(content: Made, files: Record<string, string>) {
  const results = {version: '0.1.0', kind: 'experiments', command: 'waggle-paper reproduce mine', ...content};
  for (const [name, text] of Object.entries({...files, 'results.json': JSON.stringify(results)})) {
    mkdirSync(dirname(at('r', name)), {recursive: true});
    writeFileSync(at('r', name), text);
  }
  await must('report', at('r'), '-o', at('report.html'));
  const html = readFileSync(at('report.html'), 'utf8');
  const [, json] = /<script id="document" type="application\/json">([^<]*)<\/script>/.exec(html)!;
  return layoutOf(JSON.parse(json!) as Handed);
}

/** Which column each label of a chart draws, and in which colour: {series: 'y $blue'}. */
function drawn(spec: Spec): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const {encoding} of spec.layer) {
    const label = encoding.color?.datum;
    if (typeof label !== 'string') continue;
    const {domain, range} = encoding.color!.scale as {domain: string[]; range: string[]};
    fields[label] = `${(encoding.y?.type === 'quantitative' ? encoding.y : encoding.x)?.field} ${range[domain.indexOf(label)]}`;
  }
  return fields;
}

const named = (figures: Figure[], id: string) => figures.find((figure) => figure.id === id)!;

describe('an experiment', () => {
  test('has a table, and lines fitted through its points', async () => {
    const {sections: [section], datasets} = await shown({experiments: [theorem]}, errors);
    expect(section!.command).toBe('waggle-paper reproduce mine');
    // In the file's order, with labels where it has them; text that looks like markup stays text.
    expect(section!.tables[0]!.columns).toEqual(['quantity', 'ours', '5–95 %']);
    expect(section!.tables[0]!.rows).toEqual([
      ['error </script> & "quotes"', '0.250', '0.200 – 0.300'], ['a_second', 'none', '']]);
    const charts = JSON.stringify(section!.figures[0]!.charts);
    expect(charts).toContain('error ∝ steps^-0.50');
    expect(charts).toContain('error ∝ features^-1.00');
    const line = datasets['convergence-theorem-1/theorem_1_steps_fit']!;
    expect(line.values[0]).toEqual([100, 1e6]);
    expect(line.values[1]![0]).toBeCloseTo(0.1, 12);
    expect(line.values[1]![1]).toBeCloseTo(0.001, 12);
    expect(section!.figures[0]).toMatchObject({notes: [], remarks: [], missing: ''});
  });

  test('says what is missing where it would be', async () => {
    const lost = {...errors, 't/features.csv': 'features,seed,error\n10,0,nan\n100,0,0.01\n1000,0,0.001\n'};
    const figures = [{name: 'theorem_1_steps', file: 't/gone.csv'}, (theorem.figures as Json[])[1]!];
    const {sections: [section]} = await shown({experiments: [{...theorem, figures}]}, lost);
    expect(section!.figures[0]!.notes).toEqual([
      "Missing: against the steps: 't/gone.csv' is not there",
      "1 of 3 values of 'error' in t/features.csv is not a number; it is left out."]);

    const other = {...errors, 't/features.csv': 'features,seed,mistake\n10,0,1\n'};
    const second = await shown({experiments: [{...theorem, figures}]}, other);
    expect(second.sections[0]!.figures[0]!.missing).toBe("against the features: 'features.csv' has no column 'error'");
  });

  test('draws each column under its own name', async () => {
    const market = {
      ...bees, experiment: 'market-maker', timing: 'departure',
      main_metric: {name: 'average_cost', axis: 'cost', better: 'lower'}, metrics: {average_cost: metric},
      figures: [{name: 'scatter', file: 'scatter.csv'}, {name: 'histogram', file: 'histogram.csv'}],
    };
    const {sections, datasets} = await shown({experiments: [bees, market]}, {
      'flight.csv': 'step,nectar,value,position\n0,1,2,0.5\n1,1.5,3,0.6\n',
      'curve.csv': 'steps,median,p05,p95,optimum\n100,1,0.9,1.1,1.63\n200,1.5,1.4,1.6,1.63\n',
      'scatter.csv': 'inventory,action,optimal_action\n1,-0.4,-0.33\n2,-0.7,-0.66\n',
      'histogram.csv': 'lower,upper,density,optimal_density\n-1,0,0.5,0.4\n0,1,0.5,0.4\n',
    });
    const fields = (section: number, id: string) => drawn(named(sections[section]!.figures, id).charts[0]!.spec);
    expect(fields(0, 'bee-world-initial')).toEqual(
      {'nectar collected': 'nectar $blue', 'estimated value Wᵀx': 'value $red'});
    expect(fields(0, 'bee-world-learning')).toEqual(
      {'median over the seeds': 'median $blue', 'exact optimum': 'optimum $ink'});
    expect(datasets['bee-world/optimum']!.values).toEqual([[1.63]]);
    expect(datasets['bee-world/paper']!.values).toEqual([[1.52]]);
    expect(datasets['bee-world/seeds']!.values).toEqual([[0, 0], [1.1, 1.3]]);
    expect(fields(1, 'market-maker-departure-actions')).toEqual(
      {'action of the improved policy': 'action $blue', 'optimal action': 'optimal_action $red'});
    expect(fields(1, 'market-maker-departure-stationary')).toEqual(
      {'under the improved policy': 'density $blue', 'exact, under the optimal policy': 'optimal_density $red'});
    expect(sections[0]!.notes.join()).toContain('2 of 2 fits were rank deficient');
  });

  test('need not be known by name', async () => {
    const mine = {
      ...theorem, experiment: 'mine', title: 'My own', main_metric: {name: 'z_first', axis: 'litres', better: 'lower'}};
    const {sections: [section]} = await shown({experiments: [mine]}, errors);
    expect(section).toMatchObject({title: 'My own', text: 'What it is about.'});
    expect(section!.figures.length).toBe(1);
    expect(section!.figures[0]!.caption).toContain('Further left is better');
    expect(JSON.stringify(section!.figures[0]!.charts)).toContain('litres');
    const both = await shown({experiments: [mine, {...mine, learner: 'another'}]}, errors);
    expect(both.sections[0]!.title).toBe('My own: all learners');
  });
});

describe('the control suite', () => {
  test('is one section of all its runs', async () => {
    const {sections, datasets} = await shown(controlResults, controlFiles);
    expect(sections.map(({id}) => id)).toEqual(['control']);
    const [section] = sections;
    expect(section!.tables[0]!.columns).toEqual(['problem', 'predictive', 'paper', 'reference', 'recurrent PPO']);
    expect(section!.tables[0]!.rows).toEqual([
      ['pendulum, angle only, 10,000 steps', '-147.000', '-1200.000', '-137.000', '-190.000 (74k)']]);
    expect(section!.figures.map(({id, missing, notes}) => [id, missing, notes])).toEqual(
      ['control-steps', 'control-seconds', 'control-practice', 'control-predictions', 'control-seeds'].map((id) => [id, '', []]));
    const fields = (id: string) => drawn(named(section!.figures, id).charts[0]!.spec);
    const curve = recordedCurve('pendulum')!;
    const rival = `recurrent PPO, ${counted(curve.seeds, 'seed')}`;
    const beside = {[rival]: 'score $purple', 'recurrent PPO, as published': 'score $purple', reference: 'score $ink'};
    expect(fields('control-steps')).toEqual({predictive: 'score $red', paper: 'score $blue', ...beside});
    expect(fields('control-practice')).toEqual({predictive: 'median $red', paper: 'median $blue', ...beside});
    expect(fields('control-seconds')).toMatchObject({[rival]: 'score $purple', 'recurrent PPO, measured by others': 'score $purple'});
    expect(fields('control-predictions')).toEqual({cos: 'explained_1 $blue', 'sin.1': 'explained_2 $red'});
    expect(datasets['control/pendulum, angle only/against steps']).toMatchObject({
      columns: ['learner', 'steps', 'score', 'p05', 'p95'],
      values: [[0, 1], [10000, 10000], [-147, -1200], [-163, -1300], [-141, -1100]],
    });
    expect(datasets['control/pendulum, angle only/published']!.values).toEqual([[74000], [-190]]);
    expect(datasets['control/pendulum, angle only/recurrent PPO']).toMatchObject({
      columns: ['steps', 'score', 'least', 'most'], values: [curve.points.map(({steps}) => steps),
        curve.points.map(({median}) => median), curve.points.map(({least}) => least), curve.points.map(({most}) => most)]});
    expect(datasets['control/pendulum, angle only/recurrent PPO, seconds']!.values[0]).toEqual(
      curve.points.map(({cpuSeconds}) => cpuSeconds));
    expect(datasets['control/pendulum, angle only/against seconds']!.values).toEqual(
      [[0, 0, 0, 1, 1, 1], [-163, -147, -141, -1300, -1200, -1100], [9.5, 9, 10, 0.5, 0.6, 0.55]]);
    expect(datasets['control/pendulum, angle only/measured']!.values).toEqual([[-190], [606]]);
  });

  test('says nothing of recurrent PPO where nothing is known of it', () => {
    const [run] = controlResults.experiments as Made[];
    const alone: Made = {...run!, options: {steps: 10000}, metrics: {score: {reference: -137, median: -147, values: [-147]}}};
    const {sections: [section]} = layoutOf({version: '', problems: [], results: [
      {folder: '', content: {...controlResults, experiments: [{...alone, figures: []}]}, files: {}}]});
    const [figure] = section!.figures;
    expect(drawn(figure!.charts[0]!.spec)).toEqual({predictive: 'score $red', reference: 'score $ink'});
    expect(figure!.caption).not.toContain('PPO');
  });

  test('has a recorded curve: the median of the seeds, the worst and the best', () => {
    const csv = '# made of\nproblem,seed,steps,score,cpu_seconds\n' +
      'pendulum,0,0,-1200,0\npendulum,0,100,-900,5\npendulum,1,100,-500,7\npendulum,2,100,-800,6\npendulum,0,1000,-100,50\nother,0,5,1,2\n';
    // Of 1000 steps one seed alone is known, and 0 steps have no place on a logarithmic axis.
    expect(recordedCurve('pendulum', csv)).toEqual(
      {seeds: 3, points: [{steps: 100, median: -800, least: -900, most: -500, cpuSeconds: 6}]});
    expect(recordedCurve('nothing', csv)).toBeNull();
    const even = csv.replaceAll(/.*,2,100.*\n/g, '');
    expect(recordedCurve('pendulum', even)).toMatchObject({seeds: 2, points: [{median: -700, cpuSeconds: 6}]});
    for (const problem of ['pendulum', 'cart-pole']) {
      const {seeds, points} = recordedCurve(problem)!;
      expect(seeds).toBeGreaterThan(0);
      expect(points.length).toBeGreaterThan(0);
      for (const {median, least, most} of points) expect(least <= median && median <= most).toBe(true);
      expect(points.map(({steps}) => steps)).toEqual(points.map(({steps}) => steps).sort((a, b) => a - b));
    }
  });

  test('gathers folders, and goes on without files', () => {
    const [whole, other] = controlResults.experiments as Made[];
    const content = (experiment: Made) => ({...controlResults, experiments: [{...experiment, figures: []}]});
    const {sections, problems} = layoutOf({version: '', problems: [], results: [
      {folder: 'a', content: content(whole!), files: {}},
      {folder: 'b', content: content({...other!, learner: 'one-layer'}), files: {}}]});
    expect(problems).toEqual([]);
    expect(sections.length).toBe(1);
    expect(sections[0]).toMatchObject({folder: 'a, b'});
    expect(sections[0]!.tables[0]!.columns).toEqual(['problem', 'predictive', 'one-layer', 'reference', 'recurrent PPO']);
    expect(sections[0]!.figures.map(({id}) => id)).toEqual(['control-steps', 'control-seeds']);
  });
});

describe('a run', () => {
  test('says what a controller predicts and keeps', () => {
    const {sections: [section], datasets} = layoutOf({version: '', problems: [], results: [{
      folder: '', files: {}, content: {kind: 'learn', figures: [], predictive: {
        memory: {units: 300, frames: 3, size: 315}, fits: 4, dimensions: [7, 8], seen_now: 1, horizons: [1, 2],
        predictions: [{name: 'a.b', explained: [0.9, 0.8]}, {name: 'still', explained: [null, null]}],
      }}}]});
    expect(section!.tables[1]!.rows).toContainEqual(['numbers kept of it, which predict the future', '7 to 8']);
    expect(section!.tables[1]!.rows).toContainEqual(['last inputs, remembered exactly', '4']);
    expect(drawn(named(section!.figures, 'learn-predictions').charts[0]!.spec)).toEqual({'a.b': 'explained_1 $blue'});
    expect(datasets['learn/predictions']!.values).toEqual([[1, 2], [0.9, 0.8]]);
  });

  test('may have columns of any name', async () => {
    const {sections: [section], datasets} = await shown({
      kind: 'forecast', columns: ['a.b[0]'], tested: 2, figures: [{name: 'predictions', file: 'predictions.csv'}],
    }, {'predictions.csv': 'row,a.b[0],a.b[0]_predicted\n7,1,2\n8,3,4\n'});
    expect(section!.figures[0]!.title).toBe('a.b[0] and its forecast');
    expect(datasets['forecast/column_1']).toMatchObject(
      {columns: ['row', 'series', 'forecast'], values: [[7, 8], [1, 3], [2, 4]]});
  });
});

describe('figures say what they do not show', () => {
  test('rows that are not drawn, or not in the CSV', async () => {
    const many = Array.from({length: 3000}, (_, i) => `${i},${i / 7},0.5`);
    const scatter = `inventory,action,optimal_action\n${many.join('\n')}\n`;
    const market = {
      ...bees, experiment: 'market-maker', timing: 'arrival', figures: [{name: 'scatter', file: 'scatter.csv'}]};
    const {sections: [section], datasets} = await shown({experiments: [market]}, {'scatter.csv': scatter});
    expect(named(section!.figures, 'market-maker-arrival-actions').remarks).toEqual([
      'Drawn: 2,000 of the 3,000 rows of scatter.csv, evenly spaced.', 'Its CSV has them all.']);
    const data = datasets['market-maker-arrival/scatter']!;
    expect(rowsOf(data).length).toBe(2000);
    expect(csvOf(data)).toBe(scatter);  // to the last digit

    // Of a file that the program has thinned.
    const file: DataFile = {columns: ['row', 'reward', 'value'], values: [[0, 2], [1, 1], [2, 2]], rows: 4, refused: {}};
    const thinned = layoutOf({version: '', problems: [], results: [{
      folder: '', content: {kind: 'learn', figures: [{name: 'value', file: 'value.csv'}]}, files: {'value.csv': file}}]});
    expect(thinned.sections[0]!.figures[0]!.remarks).toEqual([
      'Drawn: 2 of the 4 rows of value.csv, evenly spaced.', 'Its CSV has 2 of them; all are in that file.']);
  });

  test('what has no place on a logarithmic axis', async () => {
    const some = {...errors, 't/features.csv': 'features,seed,error\n10,0,0.1\n100,0,0\n1000,0,0.001\n'};
    const {sections: [section]} = await shown({experiments: [theorem]}, some);
    const [figure] = section!.figures;
    expect(figure!.notes).toEqual([
      "1 of 3 values of 'error' is not shown: a logarithmic axis has no place for what is not above 0."]);
    expect(figure!.charts[0]!.spec.layer[0]!.transform).toBeUndefined();
    expect(figure!.charts[1]!.spec.layer[0]!.transform).toEqual([
      {calculate: 'datum["error"] > 0 ? datum["error"] : null', as: 'error'}]);
  });
});

test('results that cannot be shown are a problem, and the others are shown', () => {
  const {problems, sections} = layoutOf({version: '', problems: ['one'], results: [
    {folder: 'bad', content: {kind: 'experiments', experiments: [{...bees, figures: 7, metrics: null}]}, files: {}},
    {folder: 'good', content: {kind: 'log-evaluation', mean: 1.5}, files: {}}]});
  expect(problems[0]).toBe('one');
  expect(sections.at(-1)!.tables[0]!.rows).toEqual([['mean', '1.500']]);
});
