import {type Spec, View, parse} from 'vega';
import {type TopLevelSpec, compile} from 'vega-lite';

import {type Chart, type Report, type Row, rowsOf} from './document';
import {type Theme, coloured, configOf} from './theme';

const rows = new Map<string, Row[]>();

/** The chart's specification, complete: its theme and the data it names. */
function completed(
  chart: Chart, names: string[], report: Report, theme: Theme, width: number,
): TopLevelSpec {
  const datasets: Record<string, Row[]> = {};
  for (const name of names) {
    const data = report.datasets[name];
    if (data && !rows.has(name)) rows.set(name, rowsOf(data));
    datasets[name] = rows.get(name) ?? [];
  }
  return {...coloured(chart.spec, theme), datasets, config: configOf(theme, width)} as TopLevelSpec;
}

/** Draws a chart into an element, as wide as that; returns what draws it. */
export async function draw(
  chart: Chart, names: string[], report: Report, theme: Theme, into: HTMLElement,
): Promise<View> {
  const spec: Spec = compile(completed(chart, names, report, theme, into.clientWidth)).spec;
  const view = new View(parse(spec), {renderer: 'canvas', container: into, hover: true});
  await view.runAsync();
  return view;
}
