// The nectar over time as a heat map, with the paths of the bee and of the ghost, and the circle
// they live on as it is now.

import {CELLS} from './core';
import {AMOUNTS, amount, amountColour} from './palette';
import {between} from './timeline';
import type {Timeline} from './timeline';

export const SHOWN_STEPS = 190;
const NOW_WIDTH = 34;  // of the column that is the present, in CSS pixels

interface Pixels {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
}

/** The canvas in CSS pixels, as sharp as the screen. */
export function fit(canvas: HTMLCanvasElement): Pixels | null {
  const context = canvas.getContext('2d');
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (!context || width === 0 || height === 0) return null;
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const wide = Math.round(width * ratio);
  const high = Math.round(height * ratio);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return {context, width, height};
}

/** A bee seen from above, flying to the right, `size` pixels long. */
function drawBee(context: CanvasRenderingContext2D, x: number, y: number, size: number,
                 heading: number, beat: number): void {
  context.save();
  context.translate(x, y);
  context.rotate(heading);
  const r = size / 2;
  context.lineWidth = 1;
  for (const side of [-1, 1]) {  // wings
    context.save();
    context.rotate(side * (0.95 + 0.22 * beat));
    context.beginPath();
    context.ellipse(-r * 0.1, side * r * 0.62, r * 0.34, r * 0.66, 0, 0, 2 * Math.PI);
    context.fillStyle = 'rgba(255,255,255,0.78)';
    context.strokeStyle = 'rgba(20,20,30,0.45)';
    context.fill();
    context.stroke();
    context.restore();
  }
  context.beginPath();
  context.ellipse(0, 0, r, r * 0.58, 0, 0, 2 * Math.PI);
  context.fillStyle = '#f0a202';
  context.fill();
  context.save();
  context.clip();
  context.fillStyle = '#1d1a16';
  for (const stripe of [-0.62, -0.12, 0.38]) context.fillRect(r * stripe - r * 0.12, -r, r * 0.25, 2 * r);
  context.restore();
  context.lineWidth = 2;
  context.strokeStyle = '#ffffff';
  context.stroke();
  context.beginPath();
  context.arc(r * 0.92, 0, r * 0.32, 0, 2 * Math.PI);
  context.fillStyle = '#1d1a16';
  context.fill();
  context.restore();
}

function drawGhost(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  context.beginPath();
  context.arc(x, y, size / 2, 0, 2 * Math.PI);
  context.fillStyle = 'rgba(255,255,255,0.28)';
  context.fill();
  context.lineWidth = 2.5;
  context.strokeStyle = '#000000aa';
  context.stroke();
  context.lineWidth = 1.5;
  context.strokeStyle = '#ffffff';
  context.setLineDash([3, 2.5]);
  context.stroke();
  context.setLineDash([]);
}

/** What a view draws on, and when: the step that is shown, the last whole one and the share of the next. */
function moment(canvas: HTMLCanvasElement, timeline: Timeline) {
  const pixels = fit(canvas);
  const step = timeline.current();
  if (!pixels || !step) return null;
  const last = Math.floor(timeline.now);
  return {...pixels, step, last, share: timeline.now - last};
}

export class StripView {
  private readonly picture = document.createElement('canvas');
  private image: ImageData | null = null;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.picture.width = SHOWN_STEPS + 2;
    this.picture.height = CELLS;
  }

  draw(timeline: Timeline, beat: number): void {
    const seen = moment(this.canvas, timeline);
    if (!seen) return;
    const {context, width, height, step, last, share} = seen;
    const past = width - NOW_WIDTH;
    const wide = past / SHOWN_STEPS;
    const x = (time: number) => past - (timeline.now - time) * wide;
    const y = (position: number) => (1 - position) * height;
    this.paint(timeline, last);
    context.imageSmoothingEnabled = true;
    context.clearRect(0, 0, width, height);
    context.drawImage(this.picture, x(last - SHOWN_STEPS - 0.5), 0, this.picture.width * wide, height);
    this.paintNow(context, timeline, past, height);

    const path = (place: (time: number) => number) => {
      context.beginPath();
      let before = NaN;
      for (let time = Math.max(timeline.start, last - SHOWN_STEPS - 1); time <= last; ++time) {
        const at = place(time);
        if (Math.abs(at - before) < 0.5) context.lineTo(x(time), y(at));
        else context.moveTo(x(time), y(at));
        before = at;
      }
    };
    path((time) => timeline.at(time).ghostPosition);
    context.lineWidth = 1.5;
    context.setLineDash([2, 4]);
    context.strokeStyle = 'rgba(255,255,255,0.85)';
    context.stroke();
    context.setLineDash([]);
    path((time) => timeline.at(time).position);
    context.lineJoin = 'round';
    context.lineWidth = 4.5;
    context.strokeStyle = 'rgba(20,16,30,0.55)';
    context.stroke();
    context.lineWidth = 2.2;
    context.strokeStyle = '#ff9e3d';
    context.stroke();

    const next = timeline.at(Math.min(timeline.end - 1, last + 1));
    const middle = past + NOW_WIDTH * 0.42;
    drawGhost(context, middle, y(between(step.ghostPosition, next.ghostPosition, share)), 17);
    drawBee(context, middle, y(between(step.position, next.position, share)), 24, 0, beat);
  }

  /** Colours the steps up to `last`, one column each. */
  private paint(timeline: Timeline, last: number): void {
    const context = this.picture.getContext('2d');
    if (!context) return;
    this.image ??= context.createImageData(this.picture.width, CELLS);
    const data = this.image.data;
    for (let column = 0; column < this.picture.width; ++column) {
      const time = last - SHOWN_STEPS + column;
      const held = time >= timeline.start && time < timeline.end && time >= 0;
      const field = held ? timeline.field(time) : null;
      for (let cell = 0; cell < CELLS; ++cell) {
        const to = 4 * ((CELLS - 1 - cell) * this.picture.width + column);
        const from = 3 * amount(field ? field[cell] ?? 0 : 0, 0, 2);
        data[to] = AMOUNTS[from] ?? 0;
        data[to + 1] = AMOUNTS[from + 1] ?? 0;
        data[to + 2] = AMOUNTS[from + 2] ?? 0;
        data[to + 3] = field ? 255 : 0;
      }
    }
    context.putImageData(this.image, 0, 0);
  }

  private paintNow(context: CanvasRenderingContext2D, timeline: Timeline, left: number,
                   height: number): void {
    const gradient = context.createLinearGradient(0, height, 0, 0);
    const field = timeline.field(Math.floor(timeline.now));
    field.forEach((nectar, cell) => gradient.addColorStop((cell + 0.5) / CELLS, amountColour(nectar, 0, 2)));
    context.fillStyle = gradient;
    context.fillRect(left, 0, NOW_WIDTH, height);
    context.fillStyle = 'rgba(255,255,255,0.75)';
    context.fillRect(left - 0.5, 0, 1, height);
  }
}

/** The circle of circumference 1, as it is now. */
export class RingView {
  constructor(private readonly canvas: HTMLCanvasElement) {}

  draw(timeline: Timeline, beat: number): void {
    const seen = moment(this.canvas, timeline);
    if (!seen) return;
    const {context, width, height, step, last, share} = seen;
    const size = Math.min(width, height);
    const radius = size / 2 - 26;
    context.clearRect(0, 0, width, height);
    context.save();
    context.translate(width / 2, height / 2);
    // y = 0 is on the right, and y grows against the clock.
    const field = timeline.field(last);
    const gradient = context.createConicGradient(0, 0, 0);
    for (let cell = 0; cell <= CELLS; ++cell) {
      const colour = amountColour(field[(2 * CELLS - cell) % CELLS] ?? 0, 0, 2);
      gradient.addColorStop(cell / CELLS, colour);
    }
    context.beginPath();
    context.arc(0, 0, radius, 0, 2 * Math.PI);
    context.lineWidth = 30;
    context.strokeStyle = gradient;
    context.stroke();

    const next = timeline.at(Math.min(timeline.end - 1, last + 1));
    const put = (position: number): [number, number, number] => {
      const angle = -2 * Math.PI * position;
      return [radius * Math.cos(angle), radius * Math.sin(angle), angle];
    };
    const [gx, gy] = put(between(step.ghostPosition, next.ghostPosition, share));
    drawGhost(context, gx, gy, 26);
    const [x, y, angle] = put(between(step.position, next.position, share));
    let way = next.position - step.position;
    if (way > 0.5) way -= 1;
    if (way < -0.5) way += 1;
    drawBee(context, x, y, 36, angle - (way < 0 ? -Math.PI / 2 : Math.PI / 2), beat);
    context.restore();
  }
}
