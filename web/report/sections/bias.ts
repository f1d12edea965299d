import {colour, dotted, layered} from '../chart';
import type {Contribution} from '../contribution';
import {prose} from '../reading';

export default {
  experiments: ['bias'],
  draw: (builder) => builder.figure({
    id: 'bias',
    title: 'Error of the curvature of the value',
    caption: prose`
      LSTD's error should fall with the square root of the data, and that of the Bellman residual stay where it is: the
      noise of the next state enters its squares and biases it.`,
  }, [{
    draw: () => {
      const {name: data} = builder.table('bias', ['steps', 'lstd_error', 'bellman_residual_error']);
      return layered({title: 'steps of data', log: true, format: '~s'}, {title: 'error (absolute)', log: true}, [
        {data, mark: 'line', x: 'steps', y: 'lstd_error', label: 'LSTD', options: dotted},
        {
          data, mark: 'line', x: 'steps', y: 'bellman_residual_error', label: 'Bellman residual',
          colour: colour.estimate, options: dotted,
        },
      ]);
    },
  }]),
} satisfies Contribution;
