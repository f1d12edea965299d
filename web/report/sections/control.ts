import {type Axis, type Layer, colour, dashed, dotted, layered} from '../chart';
import type {Contribution} from '../contribution';
import type {DataFile, Json, Results} from '../document';
import {notesOf, seedsOf} from '../experiments';
import type {Table} from '../layout';
import {counted, grouped, listIn, member, numberIn, prose, shown, textIn} from '../reading';
import {EXPLAINED, explained} from '../predictions';
import {type ChartPlan, type Data, Missing, SectionBuilder} from '../section_builder';
import {ORIGIN, recordedCurve} from '../../recorded/recurrent_ppo';

const suite = 'control-';
const rival = 'recurrent PPO';
const quoted = `${rival}, as published`;
const experience: Axis = {title: 'steps of experience', log: true, format: '~s'};
const inks = [colour.estimate, colour.measured, colour.other, colour.fourth, colour.fifth, colour.sixth];

/** One learner on one problem. */
interface Run {
  result: Json;
  title: string;
  learner: string;
  steps: number;
  score: Json;
  /** Its files are listed under names that begin so. */
  key: string;
}

/** All runs of the suite in whichever folders, and their files as if they were of one. */
function gathered(all: Results[]): {runs: Run[]; listed: Json[]; files: Record<string, DataFile>} {
  const runs: Run[] = [];
  const listed: Json[] = [];
  const files: Record<string, DataFile> = {};
  for (const {folder, content, files: own} of all) {
    const path = (name: string) => [folder, name].filter(Boolean).join('/');
    for (const [name, file] of Object.entries(own)) files[path(name)] = file;
    for (const result of listIn(content, 'experiments')) {
      if (!textIn(result, 'experiment').startsWith(suite)) continue;
      const key = `${textIn(result, 'experiment')}-${textIn(result, 'learner')}-${runs.length}`;
      const options = member(result, 'options');
      runs.push({
        result, key, title: textIn(result, 'title'), learner: textIn(result, 'learner'),
        steps: numberIn(options, 'steps') ?? 0, score: member(member(result, 'metrics'), 'score'),
      });
      for (const entry of listIn(result, 'figures')) {
        listed.push({
          ...entry as {[key: string]: Json}, name: `${key}-${textIn(entry, 'name')}`, file: path(textIn(entry, 'file'))});
      }
    }
  }
  return {runs, listed, files};
}

const unique = <T>(values: T[]) => [...new Set(values)];
const problemOf = (run: Run) => `${run.title}, ${grouped(run.steps)} steps`;
const inkOf = (place: number) => inks[place % inks.length]!;

/** A row for each problem and a column for each learner: what is left without a part stands beside the whole. */
function medians(runs: Run[], learners: string[]): Table {
  const rows = unique(runs.map(problemOf)).map((problem) => {
    const own = runs.filter((run) => problemOf(run) === problem);
    const {score, result} = own[0]!;
    const published = numberIn(score, 'recurrent_PPO');
    const steps = numberIn(member(result, 'options'), 'published_steps') ?? 0;
    const medianOf = (learner: string) => {
      const run = own.find((one) => one.learner === learner);
      return run ? shown(numberIn(run.score, 'median')) || 'lost' : '';
    };
    return [problem, ...learners.map(medianOf), shown(numberIn(score, 'reference')),
      published === null ? '' : `${shown(published)} (${grouped(steps / 1000)}k)`];
  });
  return {
    caption: `The median score of ${seedsOf(runs[0]!.result)}; ${rival} as published, after so many steps`,
    columns: ['problem', ...learners, 'reference', rival],
    rows,
  };
}

/** Room for a chart under its legend, a line a label where it is narrow. */
const heightOf = (layers: Layer[]) => 190 + 22 * layers.filter(({label}) => label).length;

/** What was recorded of the rival on the same problem: its curve in a band from the worst seed to the best. */
function recorded(builder: SectionBuilder, id: string, runs: Run[], x: 'steps' | 'cpu_seconds'): Layer[] {
  const problem = runs.map(({result}) => textIn(member(result, 'options'), 'recorded')).find(Boolean);
  const curve = problem ? recordedCurve(problem) : null;
  if (!curve) return [];
  const {points, seeds} = curve;
  const {name: data} = builder.dataset(`${id}/${x === 'steps' ? rival : `${rival}, seconds`}`, {
    [x]: points.map(({steps, cpuSeconds}) => (x === 'steps' ? steps : cpuSeconds)),
    score: points.map(({median}) => median), least: points.map(({least}) => least), most: points.map(({most}) => most),
  });
  return [
    {data, mark: 'area', x, y: 'least', colour: colour.paper, options: {opacity: 0.15}, channels: {y2: {field: 'most'}}},
    {data, mark: 'line', x, y: 'score', label: `${rival}, ${counted(seeds, 'seed')}`, colour: colour.paper, options: dotted},
  ];
}

/** What others have published of it, at the numbers of steps. */
function published(builder: SectionBuilder, id: string, runs: Run[]): Layer[] {
  const points = [...new Map(runs.map(({score, result}) =>
    [numberIn(member(result, 'options'), 'published_steps') ?? 0, numberIn(score, 'recurrent_PPO')] as const))]
    .filter(([steps, score]) => steps > 0 && score !== null);
  if (points.length === 0) return [];
  const {name: data} = builder.dataset(`${id}/published`,
    {steps: points.map(([steps]) => steps), score: points.map(([, score]) => score)});
  return [{
    data, mark: 'point', x: 'steps', y: 'score', label: quoted, colour: colour.paper,
    options: {filled: true, size: 90, shape: 'diamond'},
  }];
}

/** Lines across the chart at what is known without learning. */
function references(builder: SectionBuilder, id: string, runs: Run[]): Layer[] {
  const value = numberIn(runs[0]!.score, 'reference');
  if (value === null) return [];
  const {name: data} = builder.dataset(`${id}/reference`, {score: [value]});
  return [{data, mark: 'rule', y: 'score', label: 'reference', colour: colour.exact, options: dashed}];
}

/** The layers of each learner's rows of a dataset, which has the learner's place in a column. */
function ofEach(learners: string[], layersOf: (label: string, ink: string) => Layer[]): Layer[] {
  return learners.flatMap((learner, place) => layersOf(learner, inkOf(place))
    .map((layer) => ({...layer, transform: [{filter: `datum.learner === ${place}`}]})));
}

function againstSteps(builder: SectionBuilder, title: string, runs: Run[]): ChartPlan {
  return {
    title,
    draw: () => {
      const learners = unique(runs.map(({learner}) => learner));
      const rows = runs.map(({learner, steps, score}) =>
        [learners.indexOf(learner), steps, ...['median', 'p05', 'p95'].map((key) => numberIn(score, key))])
        .filter(([, , median]) => median !== null);
      if (rows.length === 0) throw new Missing('every seed lost the system');
      const names = ['learner', 'steps', 'score', 'p05', 'p95'];
      const {name: data} = builder.dataset(`${title}/against steps`,
        Object.fromEntries(names.map((name, c) => [name, rows.map((row) => row[c] ?? null)])));
      const layers = [
        ...recorded(builder, title, runs, 'steps'),
        ...ofEach(learners, (label, ink) => [
          {data, mark: 'rule', x: 'steps', y: 'p05', colour: ink, channels: {y2: {field: 'p95'}}},
          {data, mark: 'point', x: 'steps', y: 'score', label, colour: ink, options: {filled: true, size: 60}},
        ]), ...published(builder, title, runs), ...references(builder, title, runs)];
      return layered({...experience, padding: 14}, {title: 'score'}, layers, heightOf(layers));
    },
  };
}

/** The rows of all files of one kind, one learner after the other. */
function together(builder: SectionBuilder, id: string, runs: Run[], file: string, columns: string[]): Data {
  const learners = unique(runs.map(({learner}) => learner));
  const parts = runs.flatMap((run) => {
    try {
      return [{place: learners.indexOf(run.learner), data: builder.table(`${run.key}-${file}`, columns)}];
    } catch (error) {
      if (!(error instanceof Missing) || runs.length === 1) throw error;
      builder.remark(`Without '${run.learner}': ${error.message}.`);
      return [];
    }
  });
  if (parts.length === 0) throw new Missing('no learner has it');
  return builder.dataset(id, {
    learner: parts.flatMap(({place, data}) => Array<number>(data.rows).fill(place)),
    ...Object.fromEntries(columns.map((name) => [name, parts.flatMap(({data}) => data.column(name))])),
  });
}

function againstSeconds(builder: SectionBuilder, title: string, runs: Run[]): ChartPlan {
  return {
    title,
    draw: () => {
      const learners = unique(runs.map(({learner}) => learner));
      const {name: data} = together(builder, `${title}/against seconds`, runs, 'runs', ['score', 'cpu_seconds']);
      const layers = [...recorded(builder, title, runs, 'cpu_seconds'), ...ofEach(learners, (label, ink) => [
        {data, mark: 'circle', x: 'cpu_seconds', y: 'score', label, colour: ink, options: {size: 30, opacity: 0.8}}])];
      const measured = runs.map(({result}) => member(member(result, 'options'), 'measured')).find((one) => one !== null);
      if (measured) {
        const point = builder.dataset(`${title}/measured`,
          {score: [numberIn(measured, 'score')], cpu_seconds: [numberIn(measured, 'cpu_seconds')]});
        layers.push({
          data: point.name, mark: 'point', x: 'cpu_seconds', y: 'score', label: `${rival}, measured by others`,
          colour: colour.paper, options: {filled: true, size: 90, shape: 'diamond'},
        });
      }
      layers.push(...references(builder, title, runs));
      return layered({title: 'CPU seconds of learning', log: true, format: '~g', padding: 14}, {title: 'score'}, layers,
        heightOf(layers));
    },
  };
}

function practice(builder: SectionBuilder, problem: string, runs: Run[]): ChartPlan {
  return {
    title: problem,
    draw: () => {
      const learners = unique(runs.map(({learner}) => learner));
      const {name: data} = together(builder, `${problem}/practice`, runs, 'practice', ['steps', 'median', 'p05', 'p95']);
      const layers = [...recorded(builder, problem, runs, 'steps'), ...ofEach(learners, (label, ink) => [
        {
          data, mark: 'area', x: 'steps', y: 'p05', colour: ink, options: {opacity: 0.15},
          channels: {y2: {field: 'p95'}},
        },
        {data, mark: 'line', x: 'steps', y: 'median', label, colour: ink, options: dotted},
      ]), ...published(builder, problem, runs), ...references(builder, problem, runs)];
      return layered({...experience, padding: 8}, {title: 'score'}, layers, heightOf(layers));
    },
  };
}

function predictions(builder: SectionBuilder, run: Run): ChartPlan {
  return {
    title: `${problemOf(run)}: '${run.learner}'`,
    draw: () => {
      const data = builder.table(`${run.key}-predictions`, ['steps']);
      return explained(builder, `${run.key}/predictions`, data.column('steps'),
        data.columns.filter((name) => name !== 'steps').map((name) => ({name, shares: data.column(name)})));
    },
  };
}

const plane = ['angle', 'velocity', 'value'];
const angle: Axis = {title: 'angle θ (0 is upright)', scale: {domain: [-Math.PI, Math.PI], nice: false}};
const velocity: Axis = {title: 'velocity, hidden from the learner', scale: {domain: [-8, 8], nice: false}};

/** From the least exact value to 0, the greatest there can be: the same colours for both charts. */
function exactValues(builder: SectionBuilder, run: Run): {exact: Data; domain: [number, number]} {
  const exact = builder.table(`${run.key}-portrait_exact`, plane);
  const least = exact.column('value').filter((value) => !Number.isNaN(value)).reduce((a, b) => Math.min(a, b), 0);
  return {exact, domain: [least, 0]};
}

/** The learnt value along episodes: it is one of histories, so there is a colour only where one led. */
function learntPortrait(builder: SectionBuilder, problem: string, run: Run): ChartPlan {
  return {
    title: `${problem}: learnt, '${run.learner}'`,
    draw: () => {
      const {domain} = exactValues(builder, run);
      const {name: data} = builder.table(`${run.key}-portrait`, plane);
      const ink = {color: {
        field: 'value', type: 'quantitative', scale: {scheme: 'viridis', domain, clamp: true},
        legend: {title: 'value', orient: 'top', gradientLength: 160}}};
      return layered(angle, velocity, [
        {data, mark: 'circle', x: 'angle', y: 'velocity', options: {size: 22, opacity: 1}, channels: ink}], 300);
    },
  };
}

function exactPortrait(builder: SectionBuilder, problem: string, run: Run): ChartPlan {
  return {
    title: `${problem}: exact`,
    draw: () => {
      const {exact, domain} = exactValues(builder, run);
      const field = builder.dataset(`${run.key}/portrait`, Object.fromEntries(plane.map((name) => [name, exact.column(name)])),
        {picture: {x: 'angle', y: 'velocity', value: 'value', domain}});
      return layered(angle, velocity, [{
        data: field.name, mark: 'image', x: 'left', y: 'top', options: {aspect: false, smooth: false, clip: true},
        channels: {x2: {field: 'right'}, y2: {field: 'bottom'}, url: {field: 'url'}},
      }], 300);
    },
  };
}

function everySeed(builder: SectionBuilder, problem: string, runs: Run[]): ChartPlan {
  return {
    title: problem,
    draw: () => {
      const learners = unique(runs.map(({learner}) => learner));
      const rows = runs.flatMap(({learner, score}) => listIn(score, 'values')
        .filter((value) => typeof value === 'number').map((value) => [learners.indexOf(learner), value] as const));
      if (rows.length === 0) throw new Missing('every seed lost the system');
      const {name: data} = builder.dataset(`${problem}/seeds`,
        {learner: rows.map(([place]) => place), score: rows.map(([, score]) => score)});
      const transform = [{calculate: `${JSON.stringify(learners)}[datum.learner]`, as: 'name'}];
      const channels = {y: {field: 'name', type: 'nominal', sort: learners, title: null}};
      const box = {extent: 'min-max', size: 12, opacity: 0.35};
      const across = references(builder, problem, runs).map(({y, ...line}) => ({...line, x: y}));
      return layered({title: 'score'}, {title: ''}, [
        {data, mark: 'boxplot', x: 'score', options: box, channels, transform},
        {data, mark: 'circle', x: 'score', label: 'one seed', options: {size: 16, opacity: 0.7}, channels, transform},
        ...across], 90 + 26 * learners.length);
    },
  };
}

const ofTheRival = prose`
  The curve of ${rival} is that of ${ORIGIN}, recorded once on the same problem: fresh episodes of what it had learnt, the
  median of its seeds in a band from the worst to the best. The diamonds are what others have published; these
  runs stayed below them, so the diamonds are the mark to compare with.`;

function addFigures(builder: SectionBuilder, runs: Run[]): void {
  const rivalled = runs.some(({score, result}) =>
    numberIn(score, 'recurrent_PPO') !== null || textIn(member(result, 'options'), 'recorded') !== '');
  const beside = rivalled ? ofTheRival : '';
  type Plan = (builder: SectionBuilder, name: string, runs: Run[]) => ChartPlan;
  const each = (among: Run[], nameOf: (run: Run) => string, plan: Plan) =>
    unique(among.map(nameOf)).map((name) => plan(builder, name, among.filter((run) => nameOf(run) === name)));
  builder.figure({
    id: 'steps',
    title: 'Score against steps of experience',
    caption: prose`
      The median of the seeds and the range of nine in ten of them. Higher is better. The reference is what is known
      without learning. ${beside}`,
  }, each(runs, ({title}) => title, againstSteps));
  if (runs.some(({key}) => builder.lists(`${key}-runs`))) {
    builder.figure({
      id: 'seconds',
      title: 'Score against CPU seconds',
      caption: prose`
        Each dot is one seed on one core, experience included. The seconds of ${rival} are those of another machine; its
        curve is that of the figure above.`,
    }, each(runs, ({title}) => title, againstSeconds));
  }
  if (runs.some(({key}) => builder.lists(`${key}-practice`))) {
    builder.figure({
      id: 'practice',
      title: 'Learning curves',
      caption: prose`
        The score of each round of practice, some of its actions still at random: the mean of the episodes that ended
        in it, or the reward per step where there are none. Drawn are the median of the seeds and a band of nine in ten
        of them. ${beside}`,
    }, each(runs, problemOf, practice));
  }
  const predicting = runs.filter(({key}) => builder.lists(`${key}-predictions`));
  if (predicting.length > 0) {
    builder.figure({
      id: 'predictions', title: 'What it predicts, by how far ahead', caption: EXPLAINED,
    }, predicting.map((run) => predictions(builder, run)));
  }
  const portrayed = runs.filter(({key}) => builder.lists(`${key}-portrait`));
  if (portrayed.length > 0) {
    builder.figure({
      id: 'portrait',
      title: 'What the pendulum is worth, by angle and velocity',
      caption: prose`
        Left the learnt value along ten episodes of the median seed: the learner sees the angle alone, and its value is
        one of what it has seen, so there is a colour only where an episode led. Right the exact value of the best
        controller that sees everything, by dynamic programming with the same discount, in the same colours.`,
    }, portrayed.flatMap((run) => [learntPortrait(builder, problemOf(run), run), exactPortrait(builder, problemOf(run), run)]));
  }
  builder.figure({
    id: 'seeds',
    title: 'Every learner, every seed',
    caption: prose`
      Each dot is one seed, the box holds the middle half of them. A learner that lacks a part stands beside the whole
      one: what it loses is what the part is worth.`,
  }, each(runs, problemOf, everySeed));
}

export default {
  suite,
  gather: (layout, all) => {
    const {runs, listed, files} = gathered(all);
    const {content} = all[0]!;
    const commands = unique(all.map((results) => textIn(results.content, 'command'))).join('; ');
    const folder = unique(all.map((results) => results.folder)).join(', ');
    const builder = new SectionBuilder(layout, 'control', {
      folder, files, content: {command: commands, version: textIn(content, 'version')}}, listed);
    const {section} = builder;
    const learners = unique(runs.map(({learner}) => learner));
    section.title = 'The control suite';
    section.text = prose`
      ${counted(unique(runs.map(problemOf)).length, 'problem')} of which only a part is seen, one set of defaults for
      all of them. Judged by fresh episodes, or by a run where there are none.`;
    section.options = Object.fromEntries(runs.map(({learner, result}) =>
      [learner, member(member(result, 'options'), 'learner')]));
    section.tables.push(medians(runs, learners));
    section.notes.push(...runs.flatMap((run) => notesOf(run.result).map((note) => `${problemOf(run)}: ${note}`)));
    addFigures(builder, runs);
    builder.finish();
  },
} satisfies Contribution;
