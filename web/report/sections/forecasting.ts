import {colour, dashed, layered} from '../chart';
import type {Contribution} from '../contribution';
import {prose} from '../reading';
import type {ChartPlan, SectionBuilder} from '../section_builder';

const columns = ['step', 'target', 'prediction', 'error'];

function predicted(builder: SectionBuilder, file: string): ChartPlan[] {
  const x = {title: 'step of the test'};
  return [{
    title: 'the series and its prediction',
    draw: () => {
      const {name: data} = builder.table(file, columns);
      return layered(x, {title: 'value (scaled)'}, [
        {data, mark: 'line', x: 'step', y: 'target', label: 'series', colour: colour.exact},
        {
          data, mark: 'line', x: 'step', y: 'prediction', label: 'prediction', colour: colour.estimate,
          options: dashed,
        },
      ], 240);
    },
  }, {
    title: 'its error',
    draw: () => {
      const {name: data} = builder.table(file, columns);
      return layered(x, {title: 'prediction − series'},
        [{data, mark: 'line', x: 'step', y: 'error', options: {strokeWidth: 1}}], 240);
    },
  }];
}

function lorenz(builder: SectionBuilder, coordinate: string): ChartPlan {
  return {
    title: `coordinate ${coordinate}`,
    draw: () => {
      const free = `${coordinate}_loop`;
      const {name: data} = builder.table('lorenz_closed_loop', ['lyapunov_time', coordinate, free]);
      return layered({title: 'time (Lyapunov times)'}, {title: `${coordinate} (scaled)`}, [
        {data, mark: 'line', x: 'lyapunov_time', y: coordinate, label: 'Lorenz system', colour: colour.exact},
        {
          data, mark: 'line', x: 'lyapunov_time', y: free, label: 'free run', colour: colour.estimate,
          options: dashed,
        },
      ], 220);
    },
  };
}

function memory(builder: SectionBuilder, units: number): ChartPlan {
  return {
    title: `${units} units`,
    draw: () => {
      const {name: data} = builder.table(`memory_${units}`, ['delay', 'squared_correlation']);
      return layered({title: 'delay (steps)'}, {title: 'share of the input recalled', zero: true},
        [{data, mark: 'area', x: 'delay', y: 'squared_correlation', options: {opacity: 0.6}}], 220);
    },
  };
}

export default {
  experiments: ['forecasting'],
  draw: (builder) => {
    builder.figure({
      id: 'mackey-glass',
      title: 'Mackey–Glass, ten steps ahead',
      caption: prose`
        The prediction hides the series: its error, beside it, is tens of thousands of times smaller.`,
    }, predicted(builder, 'mackey_glass_10'));
    builder.figure({
      id: 'narma10',
      title: 'NARMA10',
      caption: prose`
        A series that depends on the product of inputs ten steps apart: the reservoir must remember and multiply.`,
    }, predicted(builder, 'narma10'));
    builder.figure({
      id: 'lorenz',
      title: 'Lorenz, running freely',
      caption: prose`
        After 200 true steps the model is fed on its own predictions. It follows a chaotic system, whose errors grow
        e-fold every Lyapunov time, until they have grown to the attractor's size; from then on it only looks like it.`,
    }, [lorenz(builder, 'x'), lorenz(builder, 'z')]);
    builder.figure({
      id: 'memory',
      title: 'What the reservoir remembers',
      caption: prose`
        The share of a white-noise input that a linear readout recovers after a delay. The area is the memory capacity;
        no reservoir of n units has more than n.`,
    }, [memory(builder, 100), memory(builder, 300)]);
  },
} satisfies Contribution;
