import {type Axis, colour, dashed, layered} from '../chart';
import type {Contribution} from '../contribution';
import type {Json} from '../document';
import {prose, textIn} from '../reading';
import {addLearningCurves, addRidgePath, rewardOf} from '../rewards';
import type {ChartPlan, SectionBuilder} from '../section_builder';

const most = 2000;  // points; more would hide each other
const inventory: Axis = {title: 'inventory y (units of stock)'};
const dots = {size: 6, opacity: 0.5, filled: true};

function valueOfInventory(builder: SectionBuilder): ChartPlan {
  return {
    draw: () => {
      const learnt = builder.table('value', ['inventory', 'value'], {most});
      const {name: data} = builder.table('value_curve', ['inventory', 'initial_policy_value', 'optimal_value']);
      return layered(inventory, {title: 'value (discounted profit)'}, [
        {data: learnt.name, mark: 'point', x: 'inventory', y: 'value', label: 'learnt value of π_0', options: dots},
        {
          data, mark: 'line', x: 'inventory', y: 'initial_policy_value', label: 'exact value of π_0',
          colour: colour.exact,
        },
        {
          data, mark: 'line', x: 'inventory', y: 'optimal_value', label: 'exact value of the optimal policy',
          colour: colour.estimate, options: dashed,
        },
      ], 320);
    },
  };
}

function inventoryOf(builder: SectionBuilder, title: string, column: string, ink: string): ChartPlan {
  return {
    title,
    draw: () => {
      const columns = ['initial_policy', 'improved_policy'];
      const run = builder.table('inventory', ['step', ...columns], {most: 5000});
      // The same scale for both policies, or the tamed inventory looks as wild as the other.
      const widest = columns.flatMap((name) => run.column(name))
        .reduce((all, y) => (Number.isNaN(y) ? all : Math.max(all, Math.abs(y))), 0);
      return layered({title: 'time step'}, {...inventory, scale: {domain: [-widest, widest]}},
        [{data: run.name, mark: 'line', x: 'step', y: column, colour: ink, options: {strokeWidth: 0.7}}], 240);
    },
  };
}

function actions(builder: SectionBuilder): ChartPlan {
  return {
    draw: () => {
      const {name: data} = builder.table('scatter', ['inventory', 'action', 'optimal_action'], {most});
      return layered(inventory, {title: 'action a (units traded)'}, [
        {data, mark: 'point', x: 'inventory', y: 'action', label: 'action of the improved policy', options: dots},
        {data, mark: 'line', x: 'inventory', y: 'optimal_action', label: 'optimal action', colour: colour.estimate},
      ], 320);
    },
  };
}

function histogram(builder: SectionBuilder): ChartPlan {
  return {
    draw: () => {
      const {name: data} = builder.table('histogram', ['lower', 'upper', 'density', 'optimal_density']);
      return layered(inventory, {title: 'probability density (per unit of stock)', zero: true}, [
        {
          data, mark: 'rect', x: 'lower', y: 'density', label: 'under the improved policy', options: {opacity: 0.7},
          channels: {x2: {field: 'upper'}, y2: {datum: 0}},
        },
        {
          data, mark: 'line', x: 'middle', y: 'optimal_density', label: 'exact, under the optimal policy',
          colour: colour.estimate, transform: [{calculate: '(datum.lower + datum.upper) / 2', as: 'middle'}],
        },
      ]);
    },
  };
}

function draw(builder: SectionBuilder, experiment: Json): void {
  const timing = textIn(experiment, 'timing') === 'arrival'
    ? 'arrival; the paper draws the one for departure.'
    : 'departure, the line that the paper draws.';
  builder.figure({
    id: 'value',
    title: 'Value against inventory',
    paper: 'figure 4',
    caption: prose`
      Each point is the value learnt for one step of the random policy π_0. They should lie on the exact value of π_0,
      the policy being evaluated; the paper draws the optimal policy's curve, which is another one. Far out, where π_0
      seldom goes, the estimate is at its worst.`,
  }, [valueOfInventory(builder)]);
  builder.figure({
    id: 'inventory',
    title: 'Inventory over time',
    paper: 'figure 5',
    caption: prose`
      The initial policy lets the inventory wander; the learnt one holds it near zero by trading against it.`,
  }, [
    inventoryOf(builder, 'initial policy π_0', 'initial_policy', colour.measured),
    inventoryOf(builder, 'improved policy', 'improved_policy', colour.estimate),
  ]);
  builder.figure({
    id: 'actions',
    title: 'What it does at each inventory',
    paper: 'figure 6 (a)',
    caption: prose`
      The improved policy trades against its inventory; its actions scatter, since it takes the best of a hundred random
      trades on a jagged estimate. The line is the exact optimum for reward on ${timing}`,
  }, [actions(builder)]);
  builder.figure({
    id: 'stationary',
    title: 'Where the inventory spends its time',
    paper: 'figure 6 (b)',
    caption: prose`
      The histogram of the inventory under the improved policy next to the exact normal density under the optimal policy
      of the same reward timing.`,
  }, [histogram(builder)]);
  const reward = rewardOf(experiment);
  addRidgePath(builder, reward);
  addLearningCurves(builder, reward, [
    {learner: textIn(builder.listing('learning_curve'), 'learner') || 'best learner', file: 'learning_curve'}]);
}

export default {experiments: ['market-maker'], draw} satisfies Contribution;
