import {colour, dotted, layered} from '../chart';
import type {Contribution} from '../contribution';
import {prose} from '../reading';
import {addCalibration, factsTable, startRun} from '../runs';

export default {
  kind: 'learn',
  show: (layout, results) => {
    const builder = startRun(layout, 'learn', 'A controller learnt from a log', results);
    builder.section.tables.push(factsTable('What was learnt from what', results.content));
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
    addCalibration(builder);
    builder.finish();
  },
} satisfies Contribution;
