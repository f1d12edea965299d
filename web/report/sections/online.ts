import {colour, dashed, layered} from '../chart';
import type {Contribution} from '../contribution';
import {prose} from '../reading';

export default {
  experiments: ['online-bee-world', 'online-market-maker'],
  draw: (builder) => {
    builder.figure({
      id: 'distance',
      title: 'How far from the solve over all steps',
      caption: prose`
        The distance of each algorithm's values from those of LSTD on all steps. Recursive least squares arrive;
        whitened steps follow; plain ones crawl along the directions in which the features hardly vary.`,
    }, [{
      draw: () => {
        const {name: data} = builder.table('distance', ['updates', 'recursive', 'whitened', 'plain']);
        const line = (name: string, ink: string) =>
          ({data, mark: 'line', x: 'updates', y: name, label: name, colour: ink});
        return layered({title: 'updates'}, {title: 'distance from LSTD', log: true}, [
          line('plain', colour.estimate), line('whitened', colour.other), line('recursive', colour.measured),
        ]);
      },
    }]);
    builder.figure({
      id: 'lemma',
      title: "The Lemma's decay",
      caption: prose`
        The mean flow of the whitened algorithm and the bound of the paper's Lemma, which it must stay below: a straight
        line on a logarithmic axis.`,
    }, [{
      draw: () => {
        const {name: data} = builder.table('mean_flow', ['time', 'distance', 'lemma']);
        return layered({title: 'time of the flow'}, {title: 'distance from the fixed point', log: true}, [
          {data, mark: 'line', x: 'time', y: 'distance', label: 'mean flow'},
          {
            data, mark: 'line', x: 'time', y: 'lemma', label: "the Lemma's bound", colour: colour.exact,
            options: dashed,
          },
        ]);
      },
    }]);
  },
} satisfies Contribution;
