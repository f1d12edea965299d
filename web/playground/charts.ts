// Line charts, all in one style, that follow the theme and the width of their place.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import {themed} from './palette';

export interface Line {
  /** In the legend; empty: not in it. */
  label: string;
  /** The style sheet's name of its colour. */
  colour: string;
  width?: number;
  dash?: number[];
  /** Dots instead of a line; a number is their size. */
  dots?: boolean | number;
  /** A line from one of its points to the next, whatever lies between; a number is the size of its points. */
  joined?: boolean | number;
  /** The number of lines further on to which there is a band, in a faint shade of its colour. Neither edge is drawn. */
  bandTo?: number;
}

const BAND_OPACITY = 0.18;
const JOINED_SIZE = 7;

export interface ChartOptions {
  xLabel: string;
  yLabel: string;
  lines: Line[];
  height: number;
  /** The ends of the y axis, also if they change; by the data if not given. */
  yRange?: [number, number] | (() => [number, number]);
  xRange?: [number, number];
  /** Powers of ten up the y axis. */
  logarithmic?: boolean;
  /** And along the x axis. */
  xLogarithmic?: boolean;
  /** Of the numbers beside the y axis, in pixels. */
  ySize?: number;
}

function axis(label: string, size: number): uPlot.Axis {
  return {
    label,
    labelSize: 18,
    labelGap: 2,
    labelFont: '12px system-ui, sans-serif',
    font: '11px system-ui, sans-serif',
    stroke: () => themed('soft'),
    grid: {stroke: () => themed('line'), width: 1},
    ticks: {stroke: () => themed('line'), width: 1, size: 4},
    size,
    gap: 4,
  };
}

/** A colour as #rrggbb that lets through what is behind it. */
function faint(colour: string): string {
  return `${colour}${Math.round(255 * BAND_OPACITY).toString(16).padStart(2, '0')}`;
}

export class Chart {
  private readonly plot: uPlot;
  private wide = 0;

  constructor(private readonly place: HTMLElement, private readonly options: ChartOptions) {
    const {yRange, xRange} = options;
    this.plot = new uPlot(
      {
        width: 320,
        height: options.height,
        padding: [6, 18, 0, 0],
        cursor: {show: false},
        legend: {show: false},
        scales: {
          x: {time: false, ...(xRange ? {range: xRange} : {}), ...(options.xLogarithmic ? {distr: 3 as const} : {})},
          y: {...(yRange ? {range: yRange} : {}), ...(options.logarithmic ? {distr: 3 as const} : {})},
        },
        axes: [axis(options.xLabel, 26), axis(options.yLabel, options.ySize ?? 34)],
        bands: options.lines.flatMap(({bandTo, colour}, i) => (bandTo === undefined ? [] : [
          {series: [i + 1, i + 1 + bandTo] as [number, number], fill: () => faint(themed(colour))}])),
        series: [
          {},
          ...options.lines.map((line): uPlot.Series => ({
            label: line.label,
            stroke: () => (line.label === '' ? 'transparent' : themed(line.colour)),
            width: line.width ?? 1.75,
            ...(line.dash ? {dash: line.dash} : {}),
            ...(line.joined ? {spanGaps: true} : {}),
            ...(line.dots ? {paths: () => null, points: {show: true, size: line.dots === true ? 4 : line.dots, width: 0,
                                                         fill: () => themed(line.colour)}}
                          : {points: {show: Boolean(line.joined) && line.label !== '', width: 0, fill: () => themed(line.colour),
                                      size: typeof line.joined === 'number' ? line.joined : JOINED_SIZE}}),
          })),
        ],
      },
      [[], ...options.lines.map(() => [])],
      place,
    );
    place.append(this.legend());
    new ResizeObserver(() => this.resize()).observe(place);
    this.resize();
  }

  set(data: uPlot.AlignedData): void {
    this.plot.setData(data);
  }

  redraw(): void {
    this.plot.redraw();
  }

  private resize(): void {
    const wide = this.place.clientWidth;
    if (wide === 0 || wide === this.wide) return;
    this.wide = wide;
    this.plot.setSize({width: wide, height: this.options.height});
  }

  private legend(): HTMLElement {
    const list = document.createElement('ul');
    list.className = 'legend';
    for (const line of this.options.lines.filter(({label}) => label !== '')) {
      const item = document.createElement('li');
      const mark = document.createElement('i');
      mark.className = line.dots ? 'dots' : line.dash ? 'dashed' : '';
      mark.style.setProperty('--mark', `var(--${line.colour})`);
      item.append(mark, line.label);
      list.append(item);
    }
    return list;
  }
}
