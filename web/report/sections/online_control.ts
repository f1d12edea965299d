import {colour, dashed, layered} from '../chart';
import type {Contribution} from '../contribution';
import {prose} from '../reading';

export default {
  experiments: ['online-control'],
  draw: (builder) => builder.figure({
    id: 'nectar',
    title: 'Nectar while learning',
    caption: prose`
      The mean of the last 200 steps, random moves included: within a thousand steps the bee is near its best.`,
  }, [{
    draw: () => {
      const {name: data} = builder.table('running_nectar', ['step', 'mean_nectar', 'optimum']);
      return layered({title: 'time step'}, {title: 'mean nectar per step'}, [
        {data, mark: 'line', x: 'step', y: 'mean_nectar', label: 'while it learns'},
        {data, mark: 'line', x: 'step', y: 'optimum', label: 'exact optimum', colour: colour.exact, options: dashed},
      ]);
    },
  }]),
} satisfies Contribution;
