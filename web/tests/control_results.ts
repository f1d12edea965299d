// Results as `waggle-paper compare control --out` writes them, made by hand: two learners on one problem, three seeds each.

import type {Json} from '../report/document';

function learner(name: string, values: number[]): {[key: string]: Json} {
  return {
    experiment: 'control-pendulum-10k', title: 'pendulum, angle only', text: '', learner: name, seeds: 3, first_seed: 0,
    main_metric: {name: 'score', axis: 'pendulum, angle only', better: 'higher'},
    paper_column: 'recurrent PPO', reference_column: 'reference',
    options: {
      steps: 10000, published_steps: 74000, measured: {score: -190, steps: 74000, cpu_seconds: 606},
      recorded: 'pendulum', learner: {preset: name},
    },
    metrics: {
      score: {recurrent_PPO: -190, reference: -137, median: values[1]!, p05: values[0]!, p95: values[2]!, values}},
    figures: ['runs', 'practice', ...name === 'predictive' ? ['predictions'] : []].map((figure) =>
      ({name: figure, file: `${name}-${figure}.csv`})),
  };
}

export const controlResults: {[key: string]: Json} = {
  version: '0.1.0', kind: 'experiments', command: 'waggle-paper compare control --seeds 3',
  experiments: [learner('predictive', [-163, -147, -141]), learner('paper', [-1300, -1200, -1100])],
};

export const controlFiles: Record<string, string> = {
  'predictive-runs.csv': 'seed,score,cpu_seconds\n0,-163,9.5\n1,-147,9\n2,-141,10\n',
  'predictive-practice.csv': 'steps,median,p05,p95,optimum\n5000,-1200,-1400,-1000,\n10000,-400,-600,-200,\n',
  'predictive-predictions.csv': 'steps,cos,still,sin.1\n1,0.99,,0.98\n4,0.9,,0.8\n',
  'paper-runs.csv': 'seed,score,cpu_seconds\n0,-1300,0.5\n1,-1200,0.6\n2,-1100,0.55\n',
  'paper-practice.csv': 'steps,median,p05,p95,optimum\n5000,-1200,-1400,-1000,\n10000,-1200,-1400,-1000,\n',
};
