// Chart specifications, in Vega-Lite, made of axes and layers.

/**
 * Colours by what they mean, the same in every figure. The theme puts in its own, light or dark; both are told apart
 * by the colour-blind.
 */
export const colour = {
  measured: '$blue',  // what happened
  estimate: '$red',  // what was learnt, or what it is held against
  exact: '$ink',  // exact solutions
  paper: '$purple',  // what the paper prints
  other: '$green',  // a third of its kind
  fourth: '$orange',  // a fourth
  fifth: '$sky',
  sixth: '$muted',
} as const;

export interface Axis {
  /** With its unit in brackets, if it has one. */
  title: string;
  log?: boolean;
  /** Whether 0 must be on it. */
  zero?: boolean;
  /** Of its numbers, as d3 writes it; none: by itself. */
  format?: string;
  /** Where it has numbers; none: by itself. */
  ticks?: number[];
  /** Pixels between its ends and what is drawn. */
  padding?: number;
  /** In place of the scale that follows from the above. */
  scale?: Record<string, unknown>;
}

/** One mark for every row of a dataset. */
export interface Layer {
  /** The dataset's name. */
  data: string;
  /** Of Vega-Lite: line, point, rule, area, bar, rect, circle, image. */
  mark: string;
  /** Columns; none for a rule across the chart. */
  x?: string;
  y?: string;
  /** In the legend; none: not in it. */
  label?: string;
  colour?: string;
  /** Of the mark, such as `dashed`. */
  options?: {strokeDash?: number[]; shape?: string; [key: string]: unknown};
  /** Further channels, such as x2. */
  channels?: Record<string, unknown>;
  /** Of the rows. */
  transform?: object[];
}

export const dashed = {strokeDash: [6, 4]};
export const dotted = {point: {size: 20}};

export interface Channel {
  field?: string;
  scale?: {type?: string; [key: string]: unknown};
  [key: string]: unknown;
}

export interface LayerSpec {
  data: {name: string};
  mark: Record<string, unknown>;
  encoding: Record<string, Channel>;
  transform?: object[];
}

export interface Spec {
  width: 'container';
  height: number;
  layer: LayerSpec[];
}

function channel(field: string, axis: Axis): Channel {
  const scale: Record<string, unknown> =
    axis.log ? {type: 'log', nice: false} : {zero: axis.zero ?? false, nice: true};
  if (axis.padding) scale.padding = axis.padding;
  return {
    field, type: 'quantitative', scale: axis.scale ?? scale,
    axis: {
      title: axis.title,
      ...(axis.format ? {format: axis.format} : {}),
      ...(axis.ticks ? {values: axis.ticks} : {}),
      ...(axis.log ? {gridOpacity: 0.5} : {}),  // there are many lines
    },
  };
}

/** The layers over each other, on shared axes and with one legend. */
export function layered(x: Axis, y: Axis, layers: Layer[], height = 280): Spec {
  const named = layers.filter((layer) => layer.label);
  const scale = {domain: named.map((layer) => layer.label), range: named.map(colourOf)};
  const symbols = symbolsOf(named);
  const draw = (layer: Layer): LayerSpec => {
    const mark: Record<string, unknown> = {type: layer.mark, ...layer.options};
    const encoding: Record<string, Channel> = {};
    if (layer.x) encoding.x = channel(layer.x, x);
    if (layer.y) encoding.y = channel(layer.y, y);
    if (layer.label) encoding.color = {datum: layer.label, type: 'nominal', scale, ...symbols};
    else mark.color = colourOf(layer);
    return {
      data: {name: layer.data}, mark, encoding: {...encoding, ...layer.channels as Record<string, Channel>},
      ...(layer.transform ? {transform: layer.transform} : {}),
    };
  };
  return {width: 'container', height, layer: layers.map(draw)};
}

function colourOf(layer: Layer): string {
  return layer.colour ?? colour.measured;
}

/** What makes the legend show lines as lines, dashed ones as dashed: Vega-Lite would show one shape for all. */
function symbolsOf(named: Layer[]): {legend?: object} {
  const dashes: Record<string, number[]> = {};
  const shapes: Record<string, string> = {};
  for (const {label, mark, options} of named) {
    if (options?.strokeDash) dashes[label!] = options.strokeDash.map((length) => length / 2);  // its lines are short
    shapes[label!] = mark === 'line' || mark === 'rule' ? 'stroke' : options?.shape ?? 'circle';
  }
  const byLabel = (values: object) => `${JSON.stringify(values)}[datum.label]`;
  const legend = {
    ...Object.keys(dashes).length > 0 ? {symbolDash: {expr: `${byLabel(dashes)} || []`}} : {},
    ...new Set(Object.values(shapes)).size > 1 ? {symbolType: {expr: byLabel(shapes)}} : {},
  };
  return Object.keys(legend).length > 0 ? {legend} : {};
}

/** The datasets that a chart's layers name, each once. */
export function datasetsOf(spec: Spec): string[] {
  return [...new Set(spec.layer.map((one) => one.data.name))];
}
