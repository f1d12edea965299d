import type {Contribution} from '../contribution';
import {addCalibration, factsTable, startRun} from '../runs';

export default {
  kind: 'log-evaluation',
  show: (layout, results) => {
    const builder = startRun(layout, 'evaluate-log', 'A controller on a log it has not seen', results);
    builder.section.tables.push(factsTable('Off-policy, without flying it', results.content));
    addCalibration(builder);
    builder.finish();
  },
} satisfies Contribution;
