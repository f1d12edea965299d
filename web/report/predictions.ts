// How much of what will be seen is known before, as `learn --results` and the control suite show it.

import {type Layer, type Spec, colour, dotted, layered} from './chart';
import {counted, prose} from './reading';
import {Missing, type SectionBuilder} from './section_builder';

const inks = [colour.measured, colour.estimate, colour.other, colour.fourth, colour.paper, colour.exact];

export const EXPLAINED = prose`
  The share of the variance of what is seen that was known so many steps before, given the actions in between: R² of
  rows not fitted to. 1 is all of it; 0 or less is no better than the mean.`;

export interface Prediction {
  name: string;
  /** R² for each horizon; null or NaN where nothing varies. */
  shares: (number | null)[];
}

export function explained(builder: SectionBuilder, id: string, horizons: number[], predictions: Prediction[]): Spec {
  const varying = predictions.filter(({shares}) => shares.some((share) => share !== null && !Number.isNaN(share)));
  if (varying.length === 0) throw new Missing('nothing of what is seen varies');
  // Under names of our own: a column's may be anything, and Vega reads some as paths.
  const columns = Object.fromEntries(varying.map(({shares}, i) =>
    [`explained_${i + 1}`, shares.map((share) => (Number.isNaN(share) ? null : share))]));
  const {name: data} = builder.dataset(id, {steps: horizons, ...columns});
  const shown = varying.slice(0, inks.length);
  if (shown.length < varying.length) {
    builder.remark(`Drawn: ${shown.length} of ${counted(varying.length, 'prediction')}; its CSV has them all.`);
  }
  return layered({title: 'steps ahead', log: true, format: 'd', ticks: horizons}, {title: 'R²'}, shown.map(
    ({name}, i): Layer => ({data, mark: 'line', x: 'steps', y: `explained_${i + 1}`, label: name, colour: inks[i], options: dotted})));
}
