import {type Layer, colour, dashed, layered} from '../chart';
import type {Contribution} from '../contribution';
import type {Json} from '../document';
import type {Table} from '../layout';
import {member, numberIn, prose, shown, textIn} from '../reading';
import {startRun} from '../runs';

/** What each policy scored: by episodes, if it is said by what. */
function scores(content: Json): Table {
  const judged = textIn(content, 'score');
  const row = (name: string, key: string): string[] => {
    const score = member(content, key);
    const mean = numberIn(score, member(score, 'score') === null ? 'mean_reward' : 'score');
    return [name, mean === null ? 'lost the system' : shown(mean), shown(numberIn(score, 'standard_error'))];
  };
  const rows = [row('learnt', 'learnt'), row('initial', 'initial')];
  if (member(content, 'optimum') !== null) rows.push(row('optimum, exact', 'optimum'));
  if (member(content, 'reference') !== null) rows.push(row('reference', 'reference'));
  return {
    caption: `${judged ? `By the ${judged}` : 'Mean reward per step'}, and the standard error of that mean`,
    columns: ['policy', judged ? 'score' : 'mean reward', '± standard error'],
    rows,
  };
}

export default {
  kind: 'evaluation',
  show: (layout, results) => {
    const {content} = results;
    const builder = startRun(layout, 'evaluate', `A controller on ${textIn(content, 'environment')}`, results);
    builder.section.options = member(content, 'environment_options');
    builder.section.tables.push(scores(content));
    const optimum = numberIn(member(content, 'optimum'), 'mean_reward');
    builder.figure({
      id: 'reward',
      title: 'Reward over time',
      caption: prose`
        The mean over a window that moves with time, a fiftieth of the run. The learnt policy starts with an empty memory
        and needs a moment to know where it is.`,
    }, [{
      draw: () => {
        const mean = (file: string, label: string, ink: string): Layer => {
          const means = builder.table(file, ['step', 'mean']);
          const {name: data} = builder.dataset(`${label} mean`, {step: means.column('step'), mean: means.column('mean')});
          return {data, mark: 'line', x: 'step', y: 'mean', label, colour: ink};
        };
        const layers = [
          mean('learnt', 'learnt policy', colour.estimate), mean('initial', 'initial policy', colour.measured)];
        if (optimum !== null) {
          const {name: data} = builder.dataset('optimum', {mean: [optimum]});
          layers.push({data, mark: 'rule', y: 'mean', label: 'exact optimum', colour: colour.exact, options: dashed});
        }
        return layered({title: 'time step'}, {title: `mean ${textIn(content, 'reward') || 'reward'} per step`}, layers);
      },
    }]);
    builder.finish();
  },
} satisfies Contribution;
