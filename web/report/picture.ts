// Tiles as one picture: drawn one by one, those of a flight would make an SVG of megabytes.

import {scheme} from 'vega';

import type {Dataset, Row, Tiles} from './layout';

/** The places along one side of the grid, in order, and the distance between two of them. */
function sideOf(values: (number | null)[]): {places: Map<number, number>; low: number; high: number; gap: number} {
  const sorted = [...new Set(values.filter((value) => value !== null))].sort((a, b) => a - b);
  const low = sorted[0] ?? 0;
  const high = sorted.at(-1) ?? 0;
  return {
    places: new Map(sorted.map((value, i) => [value, i])), low, high,
    gap: sorted.length > 1 ? (high - low) / (sorted.length - 1) : 1,
  };
}

/** The picture as the one row that an image mark draws: where its edges are, and its address. */
export function pictureOf(data: Dataset, tiles: Tiles): Row {
  const [xs, ys, values] = [tiles.x, tiles.y, tiles.value].map((name) => data.values[data.columns.indexOf(name)] ?? []);
  const across = sideOf(xs!);
  const up = sideOf(ys!);
  const canvas = document.createElement('canvas');
  canvas.width = across.places.size;
  canvas.height = up.places.size;
  const context = canvas.getContext('2d')!;
  const colourAt = scheme('viridis') as (share: number) => string;
  const [from, to] = tiles.domain;
  values!.forEach((value, i) => {
    const column = across.places.get(xs![i] ?? NaN);
    const row = up.places.get(ys![i] ?? NaN);
    if (value === null || column === undefined || row === undefined) return;
    context.fillStyle = colourAt(Math.min(1, Math.max(0, (value - from) / (to - from))));
    context.fillRect(column, canvas.height - 1 - row, 1, 1);
  });
  // A tile begins at its step and has its place in the middle.
  return {
    left: across.low, right: across.high + across.gap, bottom: up.low - up.gap / 2, top: up.high + up.gap / 2,
    url: canvas.toDataURL('image/png'),
  };
}
