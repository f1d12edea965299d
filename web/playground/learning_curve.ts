// The pole's learning curve: practice, what was learnt, and what recurrent PPO needs, on one axis of steps.

import type uPlot from 'uplot';
import {recordedCurve} from '../recorded/recurrent_ppo';
import type {Line} from './charts';
import type {SwingLearnt, SwingMark, SwingSystem} from './core';

/** From the worst to the best of an episode, about. */
export const SCORES: Record<SwingSystem, [number, number]> = {pendulum: [-1800, 0], 'cart-pole': [0, 520]};
/** Recurrent PPO on the same problems: steps and scores of others, as docs/research/control.md quotes them. */
const QUOTED: Record<SwingSystem, readonly {steps: number; score: number}[]> = {
  pendulum: [{steps: 74_000, score: -190}, {steps: 100_000, score: -218}],
  'cart-pole': [{steps: 100_000, score: 500}],
};
/** And a curve of it, recorded once. */
const RECORDED = {
  pendulum: recordedCurve('pendulum')?.points ?? [], 'cart-pole': recordedCurve('cart-pole')?.points ?? [],
};
export const LEARNING_STEPS: [number, number] = [100, 200_000];

export const LEARNING_LINES: Line[] = [
  {label: 'an episode of practice', colour: 'random', dots: 4},
  {label: 'each time it learns', colour: 'bee', joined: true, width: 2},
  {label: 'learnt, 10 episodes', colour: 'optimum', dots: 12},
  {label: 'recurrent PPO', colour: 'value', joined: 5},
  {label: 'the same, by others', colour: 'value', dots: 10},
  {label: '', colour: 'value', joined: true, bandTo: 1},
  {label: '', colour: 'value', joined: true},
];

/** A point of some of the lines. */
interface Point {
  steps: number;
  scores: [line: number, score: number][];
}

/** Every point has a column of its own, with a row for each line. */
export function learningColumns(system: SwingSystem, marks: SwingMark[], learnt: SwingLearnt | null): uPlot.AlignedData {
  const points: Point[] = [
    ...marks.map(({steps, fit, score}): Point => ({steps, scores: [[fit ? 1 : 0, score]]})),
    ...(learnt ? [{steps: learnt.steps, scores: [[2, learnt.score]]} satisfies Point] : []),
    ...RECORDED[system].map(({steps, median, least, most}): Point => ({steps, scores: [[3, median], [5, most], [6, least]]})),
    ...QUOTED[system].map(({steps, score}): Point => ({steps, scores: [[4, score]]})),
  ];
  points.sort((a, b) => a.steps - b.steps);
  const rowOf = (line: number) => points.map(({scores}) => scores.find(([of]) => of === line)?.[1] ?? null);
  return [points.map(({steps}) => steps), ...LEARNING_LINES.map((_, line) => rowOf(line))];
}
