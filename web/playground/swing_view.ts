// A rod on a hinge, or a cart with a pole, as it is, as it is seen, and as it is expected to be.

import {SWING, SWING_AHEAD, SWING_COLUMNS} from './core';
import type {SwingSystem} from './core';
import {fit} from './field_view';
import {themed} from './palette';

export interface Place {
  position: number;
  angle: number;
}

/** One step as it is shown. */
export interface SwingStep extends Place {
  velocity: number;
  angularVelocity: number;
  seen: Place;
  action: number;
  reward: number;
  episodeStep: number;
  /** What is expected to be seen, as SWING_AHEAD says; empty while nothing was learnt. */
  ahead: Place[];
}

export function stepsOf(rows: Float64Array): SwingStep[] {
  return Array.from({length: rows.length / SWING_COLUMNS}, (_, k) => {
    const at = (column: number) => rows[k * SWING_COLUMNS + column] ?? NaN;
    const ahead = SWING_AHEAD.map((__, i) => ({position: at(SWING.ahead + 2 * i), angle: at(SWING.ahead + 2 * i + 1)}));
    return {
      position: at(SWING.position), angle: at(SWING.angle), velocity: at(SWING.velocity),
      angularVelocity: at(SWING.angularVelocity), action: at(SWING.action), reward: at(SWING.reward),
      seen: {position: at(SWING.seenPosition), angle: at(SWING.seenAngle)},
      episodeStep: at(SWING.episodeStep),
      ahead: ahead.filter((place) => Number.isFinite(place.angle) && Number.isFinite(place.position)),
    };
  });
}

/** A place between two, angles the short way round. */
function betweenPlaces(a: Place, b: Place, share: number): Place {
  const way = b.angle - a.angle - 2 * Math.PI * Math.round((b.angle - a.angle) / (2 * Math.PI));
  return {position: a.position + share * (b.position - a.position), angle: a.angle + share * way};
}

/** Between two steps, all that is drawn as a place moves on smoothly. */
export function between(a: SwingStep, b: SwingStep, share: number): SwingStep {
  return {
    ...a, ...betweenPlaces(a, b, share), seen: betweenPlaces(a.seen, b.seen, share),
    ahead: a.ahead.map((place, i) => betweenPlaces(place, b.ahead[i] ?? place, share)),
  };
}

const HALF_TRACK = 2.4;
const LARGEST_ANGLE = (12 / 180) * Math.PI;
const LARGEST_TORQUE = 2;

/** Not so far that it ends an episode: as swing_session.cc has it. */
function within(value: number, end: number): number {
  return Math.max(-0.9 * end, Math.min(0.9 * end, value));
}

interface Scene {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
}

/** Where things are on a canvas of this size. */
class Geometry {
  readonly rod: number;   // its length in pixels
  readonly unit: number;  // pixels of a metre of track

  constructor(readonly system: SwingSystem, readonly width: number, readonly height: number) {
    this.unit = (width - 48) / (2 * HALF_TRACK);
    this.rod = system === 'pendulum' ? 0.4 * Math.min(width, height) : Math.min(0.66 * height, 2.2 * this.unit);
  }

  hinge(position: number): [number, number] {
    if (this.system === 'pendulum') return [this.width / 2, this.height / 2];
    return [this.width / 2 + this.unit * position, 0.82 * this.height];
  }

  tip(place: Place, length = this.rod): [number, number] {
    const [x, y] = this.hinge(place.position);
    return [x + length * Math.sin(place.angle), y - length * Math.cos(place.angle)];
  }
}

export class SwingView {
  constructor(readonly canvas: HTMLCanvasElement) {}

  /** What a hand at this place of the page takes hold of, and where it would be then. */
  grasp(event: PointerEvent, system: SwingSystem, now: Place): (event: PointerEvent) => Place {
    const geometry = new Geometry(system, this.canvas.clientWidth, this.canvas.clientHeight);
    const point = (each: PointerEvent): [number, number] => {
      const box = this.canvas.getBoundingClientRect();
      return [each.clientX - box.left, each.clientY - box.top];
    };
    const [x, y] = point(event);
    const [hingeX, hingeY] = geometry.hinge(now.position);
    const cart = system === 'cart-pole' && y > hingeY - 0.2 * geometry.rod;
    return (each) => {
      const [toX, toY] = point(each);
      const angle = Math.atan2(toX - hingeX, hingeY - toY);
      if (system === 'pendulum') return {position: 0, angle};
      if (cart) return {position: within(now.position + (toX - x) / geometry.unit, HALF_TRACK), angle: now.angle};
      return {position: now.position, angle: within(angle, LARGEST_ANGLE)};
    };
  }

  draw(system: SwingSystem, step: SwingStep | null, trail: readonly Place[], held: boolean): void {
    const scene = fit(this.canvas);
    if (!scene) return;
    const {context, width, height} = scene;
    context.fillStyle = themed('ground');
    context.fillRect(0, 0, width, height);
    const geometry = new Geometry(system, width, height);
    this.ground(scene, geometry);
    if (!step) return;
    trail.forEach((place, i) => {
      context.globalAlpha = (0.4 * (i + 1)) / (trail.length + 1);
      this.rod(scene, geometry, place, themed('random'), 4);
    });
    const fades = [0.5, 0.32, 0.2];
    [...step.ahead.entries()].reverse().forEach(([i, place]) => {
      context.globalAlpha = fades[i] ?? 0.2;
      if (system === 'cart-pole') this.cart(scene, geometry, place.position, themed('value'), false);
      this.rod(scene, geometry, place, themed('value'), 9 - 2 * i);
    });
    context.globalAlpha = 1;
    this.push(scene, geometry, step);
    if (system === 'cart-pole') this.cart(scene, geometry, step.position, themed('ink'), true);
    this.rod(scene, geometry, step, held ? themed('ink') : themed('bee'), 10);
    this.seen(scene, geometry, step);
    this.motion(scene, geometry, step);
    const [x, y] = geometry.hinge(step.position);
    dot(context, x, y, 6, themed('ink'));
  }

  /** What does not move: a circle that the rod's end describes, or the track and how far the pole may lean. */
  private ground({context, width}: Scene, geometry: Geometry): void {
    context.strokeStyle = themed('line');
    context.lineWidth = 2;
    context.beginPath();
    if (geometry.system === 'pendulum') {
      const [x, y] = geometry.hinge(0);
      context.arc(x, y, geometry.rod, 0, 2 * Math.PI);
      context.stroke();
      const [top, high] = geometry.tip({position: 0, angle: 0}, geometry.rod + 12);
      dot(context, top, high, 4, themed('optimum'));
      return;
    }
    const [, y] = geometry.hinge(0);
    context.moveTo(width / 2 - geometry.unit * HALF_TRACK, y + 24);
    context.lineTo(width / 2 + geometry.unit * HALF_TRACK, y + 24);
    for (const end of [-HALF_TRACK, HALF_TRACK]) {
      context.moveTo(width / 2 + geometry.unit * end, y + 12);
      context.lineTo(width / 2 + geometry.unit * end, y + 36);
    }
    context.stroke();
  }

  private rod({context}: Scene, geometry: Geometry, place: Place, colour: string, wide: number): void {
    line(context, geometry.hinge(place.position), geometry.tip(place), colour, wide);
  }

  private cart({context}: Scene, geometry: Geometry, position: number, colour: string, solid: boolean): void {
    const [x, y] = geometry.hinge(position);
    context.beginPath();
    context.roundRect(x - 30, y - 4, 60, 20, 5);
    if (solid) {
      context.fillStyle = themed('soft');
      context.fill();
      for (const wheel of [-17, 17]) dot(context, x + wheel, y + 18, 6, colour);
      return;
    }
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.stroke();
  }

  /** What it sees, where that is not what is: late, or noisy. */
  private seen({context}: Scene, geometry: Geometry, step: SwingStep): void {
    const [x, y] = geometry.tip(step.seen);
    context.beginPath();
    context.arc(x, y, 8, 0, 2 * Math.PI);
    context.strokeStyle = themed('ink');
    context.lineWidth = 2;
    context.stroke();
  }

  /** How fast it is, which nobody tells the learner: where the end would be in a quarter of a second. */
  private motion({context}: Scene, geometry: Geometry, step: SwingStep): void {
    context.setLineDash([3, 5]);
    const colour = themed('soft');
    const [hingeX, hingeY] = geometry.hinge(step.position);
    const sweep = Math.max(-1.5, Math.min(1.5, step.angularVelocity * 0.25));
    if (geometry.system === 'pendulum') {
      const radius = geometry.rod + 14;
      if (Math.abs(sweep) > 0.02) {
        context.beginPath();
        context.arc(hingeX, hingeY, radius, step.angle - Math.PI / 2, step.angle + sweep - Math.PI / 2, sweep < 0);
        context.strokeStyle = colour;
        context.lineWidth = 3;
        context.stroke();
        context.setLineDash([]);
        const [x, y] = geometry.tip({position: 0, angle: step.angle + sweep}, radius);
        arrowHead(context, x, y, step.angle + sweep + (sweep > 0 ? 0 : Math.PI), colour);
      }
    } else {
      const [tipX, tipY] = geometry.tip(step);
      const along = geometry.rod * sweep + geometry.unit * step.velocity * 0.25;
      if (Math.abs(along) > 4) {
        line(context, [tipX, tipY - 14], [tipX + along, tipY - 14], colour, 3);
        context.setLineDash([]);
        arrowHead(context, tipX + along, tipY - 14, along > 0 ? 0 : Math.PI, colour);
      }
    }
    context.setLineDash([]);
  }

  /** What it does: the torque at the hinge, or the push at the cart. */
  private push({context}: Scene, geometry: Geometry, step: SwingStep): void {
    const [x, y] = geometry.hinge(step.position);
    const colour = themed('optimum');
    if (geometry.system === 'pendulum') {
      const sweep = (step.action / LARGEST_TORQUE) * 1.6;
      if (Math.abs(sweep) < 0.05) return;
      context.beginPath();
      context.arc(x, y, 26, -Math.PI / 2, sweep - Math.PI / 2, sweep < 0);
      context.strokeStyle = colour;
      context.lineWidth = 4;
      context.stroke();
      arrowHead(context, x + 26 * Math.sin(sweep), y - 26 * Math.cos(sweep), sweep + (sweep > 0 ? 0 : Math.PI), colour);
      return;
    }
    const side = Math.sign(step.action);
    line(context, [x + side * 34, y + 6], [x + side * 52, y + 6], colour, 4);
    arrowHead(context, x + side * 54, y + 6, side > 0 ? 0 : Math.PI, colour);
  }
}

/** A leaning pole that still counts as held. */
export function isUp(system: SwingSystem, place: Place): boolean {
  return system === 'pendulum' ? Math.cos(place.angle) > 0.95 : Math.abs(place.angle) <= LARGEST_ANGLE;
}

function line(context: CanvasRenderingContext2D, from: [number, number], to: [number, number], colour: string,
              wide: number): void {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.strokeStyle = colour;
  context.lineWidth = wide;
  context.lineCap = 'round';
  context.stroke();
  context.lineCap = 'butt';
}

function dot(context: CanvasRenderingContext2D, x: number, y: number, radius: number, colour: string): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
}

/** Its point here, to the right if not turned. */
function arrowHead(context: CanvasRenderingContext2D, x: number, y: number, heading: number, colour: string): void {
  context.save();
  context.translate(x, y);
  context.rotate(heading);
  context.beginPath();
  context.moveTo(7, 0);
  context.lineTo(-5, -7);
  context.lineTo(-5, 7);
  context.closePath();
  context.fillStyle = colour;
  context.fill();
  context.restore();
}
