// Learning curves of recurrent PPO as paper/experiments/recurrent_ppo.py recorded them: that file says how.

import text from './recurrent_ppo.csv?raw';

/** What several seeds had learnt after so many steps: the mean return of fresh episodes. */
export interface Judged {
  steps: number;
  median: number;
  least: number;
  most: number;
  /** Of training until then, one core; their median. */
  cpuSeconds: number;
}

export interface Curve {
  seeds: number;
  points: Judged[];
}

/** In a sentence of a caption. */
export const ORIGIN = 'sb3-contrib’s RecurrentPPO with the settings of rl-baselines3-zoo (paper/experiments/recurrent_ppo.py)';

interface Row {
  problem: string;
  seed: number;
  steps: number;
  score: number;
  cpuSeconds: number;
}

export function rowsOf(csv: string): Row[] {
  const [, ...lines] = csv.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [problem = '', seed, steps, score, cpuSeconds] = line.split(',');
    return {problem, seed: Number(seed), steps: Number(steps), score: Number(score), cpuSeconds: Number(cpuSeconds)};
  });
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

/** Of a problem of the control suite; null if none was recorded. Before it has learnt there is no place on a logarithmic axis. */
export function recordedCurve(problem: string, csv = text): Curve | null {
  const rows = rowsOf(csv).filter((row) => row.problem === problem && row.steps > 0);
  const seeds = new Set(rows.map(({seed}) => seed)).size;
  const points = [...new Set(rows.map(({steps}) => steps))].sort((a, b) => a - b).flatMap((steps) => {
    const there = rows.filter((row) => row.steps === steps);
    if (there.length < seeds) return [];  // a band of fewer seeds would be narrower for no other reason
    const scores = there.map(({score}) => score);
    return [{
      steps, median: median(scores), least: Math.min(...scores), most: Math.max(...scores),
      cpuSeconds: median(there.map((row) => row.cpuSeconds)),
    }];
  });
  return points.length === 0 ? null : {seeds, points};
}
