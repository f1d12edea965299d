import {type Spec as VegaSpec, View, parse} from 'vega';
import {type TopLevelSpec, compile} from 'vega-lite';

import {datasetsOf} from './chart';
import {type Chart, type Dataset, type Layout, type Row, rowsOf} from './layout';
import {pictureOf} from './picture';
import {type Theme, coloured, configOf} from './theme';

const rows = new Map<string, Row[]>();

function rowsNamed(name: string, data: Dataset | undefined): Row[] {
  const known = rows.get(name);
  if (known) return known;
  const made = !data ? [] : data.picture ? [pictureOf(data, data.picture)] : rowsOf(data);
  rows.set(name, made);
  return made;
}

/** The chart's specification, complete: its theme and the data it names. */
function completed(chart: Chart, layout: Layout, theme: Theme, width: number): TopLevelSpec {
  const datasets = Object.fromEntries(
    datasetsOf(chart.spec).map((name) => [name, rowsNamed(name, layout.datasets[name])]));
  return {...coloured(chart.spec, theme), datasets, config: configOf(theme, width)} as unknown as TopLevelSpec;
}

/** Draws a chart into an element, as wide as that; returns what draws it. */
export async function draw(chart: Chart, layout: Layout, theme: Theme, into: HTMLElement): Promise<View> {
  const spec: VegaSpec = compile(completed(chart, layout, theme, into.clientWidth)).spec;
  const view = new View(parse(spec), {renderer: 'canvas', container: into, hover: true});
  await view.runAsync();
  return view;
}
