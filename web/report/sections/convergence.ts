import {type Layer, colour, layered} from '../chart';
import type {Contribution} from '../contribution';
import {prose, textIn} from '../reading';
import type {ChartPlan, Data, SectionBuilder} from '../section_builder';

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) / 2;
  return (sorted[Math.floor(place)]! + sorted[Math.ceil(place)]!) / 2;
}

const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;

/** The straight line through the medians on logarithmic axes: its slope and its two ends. */
function fitLine(data: Data, x: string, y: string): {slope: number; xs: number[]; ys: number[]} | null {
  const byX = new Map<number, number[]>();
  const errors = data.column(y);
  data.column(x).forEach((at, i) => {
    const error = errors[i]!;
    if (at > 0 && error > 0) byX.set(at, [...byX.get(at) ?? [], error]);
  });
  const points = [...byX].sort(([a], [b]) => a - b).map(([at, all]) => [Math.log(at), Math.log(median(all))] as const);
  if (points.length < 2) return null;
  const [middleX, middleY] = [mean(points.map(([u]) => u)), mean(points.map(([, v]) => v))];
  const sum = (of: (u: number, v: number) => number) => points.reduce((all, [u, v]) => all + of(u - middleX, v), 0);
  const slope = sum((u, v) => u * v) / sum((u) => u * u);
  const ends = [...byX.keys()].sort((a, b) => a - b);
  const xs = [ends[0]!, ends.at(-1)!];
  return {slope, xs, ys: xs.map((end) => Math.exp(middleY + slope * (Math.log(end) - middleX)))};
}

function scaling(
  builder: SectionBuilder, title: string, file: string, x: string, xTitle: string, y: string,
): ChartPlan {
  return {
    title,
    draw: () => {
      const data = builder.table(file, [x, y]);
      const layers: Layer[] = [{data: data.name, mark: 'point', x, y, label: 'one seed', options: {size: 18}}];
      const fit = fitLine(data, x, y);
      if (fit) {
        const line = builder.dataset(`${file}_fit`, {[x]: fit.xs, fit: fit.ys});
        const label = `fitted: error ∝ ${x}^${fit.slope.toFixed(2)}`;
        layers.push({data: line.name, mark: 'line', x, y: 'fit', label, colour: colour.estimate});
      }
      return layered({title: xTitle, log: true, format: '~s'}, {title: 'root mean square error', log: true}, layers);
    },
  };
}

export default {
  experiments: ['convergence-theorem-1', 'convergence-theorem-2'],
  draw: (builder, result) => {
    const theorem = textIn(result, 'experiment').replace('convergence-', '').replaceAll('-', '_');
    builder.figure({
      id: 'slopes',
      title: 'Errors fall as the theorem says',
      caption: prose`
        Both axes are logarithmic, so a power law is a straight line. Against the steps: what is left between the
        estimate and the best readout of the same features, which a central limit theorem lets fall as the square root.
        Against the features: the whole error, given plenty of steps.`,
    }, [
      scaling(builder, 'against the steps', `${theorem}_steps`, 'steps', 'steps of data ℓ', 'estimation_error'),
      scaling(builder, 'against the features', `${theorem}_features`, 'features', 'features N', 'error'),
    ]);
  },
} satisfies Contribution;
