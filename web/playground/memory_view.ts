// What the bee remembers: the activations of its reservoir, one cell for each unit, slow units
// first and quick ones last.

import {AMOUNTS, amount} from './palette';
import {fit} from './field_view';

export class MemoryView {
  private scale = 1;

  constructor(private readonly canvas: HTMLCanvasElement) {}

  draw(memory: Float32Array): void {
    const pixels = fit(this.canvas);
    if (!pixels) return;
    const {context, width, height} = pixels;
    context.clearRect(0, 0, width, height);
    if (memory.length === 0) return;
    let largest = 0;
    for (const value of memory) largest = Math.max(largest, Math.abs(value));
    this.scale += 0.05 * (Math.max(largest, 1e-6) - this.scale);  // no flicker
    const columns = evenColumns(memory.length, Math.sqrt((memory.length * width) / height));
    const rows = Math.ceil(memory.length / columns);
    const wide = width / columns;
    const high = height / rows;
    const gap = Math.min(1, wide / 6);
    memory.forEach((value, i) => {
      const colour = 3 * amount(Math.sqrt(Math.abs(value) / this.scale), 0, 1);
      context.fillStyle = `rgb(${AMOUNTS[colour]},${AMOUNTS[colour + 1]},${AMOUNTS[colour + 2]})`;
      context.fillRect((i % columns) * wide, Math.floor(i / columns) * high, wide - gap, high - gap);
    });
  }
}

/** A number of columns near the wanted one, in which the last row is full if that can be had. */
function evenColumns(cells: number, wanted: number): number {
  let best = Math.max(1, Math.round(wanted));
  let distance = Infinity;
  for (let columns = Math.ceil(wanted / 1.6); columns <= wanted * 1.6; ++columns) {
    if (cells % columns !== 0 || Math.abs(columns - wanted) >= distance) continue;
    best = columns;
    distance = Math.abs(columns - wanted);
  }
  return best;
}
