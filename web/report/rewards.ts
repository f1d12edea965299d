// The figures that problems with learners have in common: they show what a learner earns, or what it costs.

import {type Axis, type Layer, colour, dashed, dotted, layered} from './chart';
import type {Json} from './document';
import {listIn, member, numberIn, prose, textIn} from './reading';
import type {ChartPlan, SectionBuilder} from './section_builder';

/** The main metric of results. */
export interface Reward {
  /** Its name, also in the files; empty: the results have none. */
  column: string;
  axis: Axis;
  higherIsBetter: boolean;
}

export function rewardOf(result: Json): Reward {
  const metric = member(result, 'main_metric');
  return {
    column: textIn(metric, 'name'),
    axis: {title: textIn(metric, 'axis'), log: member(metric, 'logarithmic') === true},
    higherIsBetter: textIn(metric, 'better') === 'higher',
  };
}

/** Error and reward against λ. */
export function addRidgePath(builder: SectionBuilder, reward: Reward): void {
  const against = (title: string, y: Axis, column: string, ink: string): ChartPlan => ({
    title,
    draw: () => {
      const path = builder.table('ridge_path', ['relative', 'error', reward.column]);
      return layered({title: 'λ / mean squared feature', log: true, format: '.0e'}, y,
        [{data: path.name, mark: 'line', x: 'relative', y: column, colour: ink, options: dotted}], 220);
    },
  });
  builder.figure({
    id: 'ridge',
    title: 'How much to regularise',
    caption: prose`
      The cross-validated error, which the log alone can tell, and what the greedy policy then earns, which is what one
      wants to know and takes a run of the system for each λ. The first is smooth and the second is not: one run of one
      seed is a noisy judge.`,
  }, [
    against('cross-validated error', {title: 'error', log: true}, 'error', colour.measured),
    against(reward.axis.title, reward.axis, reward.column, colour.estimate),
  ]);
}

/** A learner and the name its file is listed under. */
export interface LearningCurve {
  learner: string;
  file: string;
}

/** The reward of each round of data, and of the optimum. */
export function addLearningCurves(builder: SectionBuilder, reward: Reward, curves: LearningCurve[]): void {
  builder.figure({
    id: 'learning',
    title: 'Learning in rounds',
    caption: prose`
      What each round of data earned: it is collected by the policy learnt from the rounds before, some of its actions
      still at random. The band holds nine in ten seeds.`,
  }, curves.map(({learner, file}) => ({
    title: `learner '${learner}'`,
    draw: () => {
      const {name: data} = builder.table(file, ['steps', 'median', 'p05', 'p95', 'optimum']);
      return layered({title: 'steps of experience'}, reward.axis, [
        {data, mark: 'area', x: 'steps', y: 'p05', options: {opacity: 0.25}, channels: {y2: {field: 'p95'}}},
        {data, mark: 'line', x: 'steps', y: 'median', label: 'median over the seeds', options: dotted},
        {data, mark: 'line', x: 'steps', y: 'optimum', label: 'exact optimum', colour: colour.exact, options: dashed},
      ]);
    },
  })));
}

/** Every seed of every learner as a dot, their quartiles as a box, the paper's run and the optimum as lines. */
export function addDistribution(builder: SectionBuilder, learners: Json[]): void {
  const reward = rewardOf(learners[0]!);
  const metricOf = (learner: Json) => member(member(learner, 'metrics'), reward.column);
  const names = learners.map((learner) => textIn(learner, 'learner'));
  const places: number[] = [];
  const values: (number | null)[] = [];
  learners.forEach((learner, place) => {
    for (const value of listIn(metricOf(learner), 'values')) {
      places.push(place);
      values.push(typeof value === 'number' ? value : null);
    }
  });
  const metric = metricOf(learners[0]!);
  const draw = () => {
    const data = builder.dataset('seeds', {learner: places, value: values}).name;
    // The learner's name from its place: datasets hold numbers only.
    const transform = [{calculate: `${JSON.stringify(names)}[datum.learner]`, as: 'name'}];
    const channels = {y: {field: 'name', type: 'nominal', sort: names, title: 'learner'}};
    const layers: Layer[] = [
      {data, mark: 'boxplot', x: 'value', options: {extent: 'min-max', size: 14, opacity: 0.35}, channels, transform},
      {data, mark: 'circle', x: 'value', label: 'one seed', options: {size: 16, opacity: 0.7}, channels, transform},
    ];
    const line = (id: string, label: string, ink: string, value: number | null) => {
      if (value === null) return;
      const {name} = builder.dataset(id, {value: [value]});
      layers.push({data: name, mark: 'rule', x: 'value', label, colour: ink, options: {strokeWidth: 2}});
    };
    line('paper', "the paper's run", colour.paper, numberIn(metric, 'paper'));
    line('optimum', 'exact optimum', colour.exact, numberIn(metric, 'reference'));
    return layered({title: reward.axis.title}, {title: ''}, layers, 110 + 32 * names.length);
  };
  builder.figure({
    id: 'seeds',
    title: learners.length > 1 ? 'Every learner, every seed' : 'Every seed',
    caption: prose`
      Each dot is one seed, the box holds the middle half of them.
      ${numberIn(metric, 'paper') === null ? '' : 'The paper prints one run.'}
      Further ${reward.higherIsBetter ? 'right' : 'left'} is better; the optimum cannot be beaten but by chance in a
      finite run.`,
  }, [{draw}]);
}
