import {type Axis, colour, layered} from '../chart';
import type {Contribution} from '../contribution';
import type {Json} from '../document';
import {prose, textIn} from '../reading';
import {addLearningCurves, addRidgePath, rewardOf} from '../rewards';
import type {ChartPlan, Data, SectionBuilder} from '../section_builder';

const step: Axis = {title: 'time step'};
const flightColumns = ['step', 'nectar', 'value', 'position'];
const referenceColumns = ['step', 'optimal_position', 'flow_position', 'printed_flow_position'];

function nectarAndValue(builder: SectionBuilder, flight: string): ChartPlan {
  return {
    draw: () => {
      const {name: data} = builder.table(flight, flightColumns);
      return layered(step, {title: 'nectar per step, and value'}, [
        {data, mark: 'line', x: 'step', y: 'nectar', label: 'nectar collected'},
        {data, mark: 'line', x: 'step', y: 'value', label: 'estimated value Wᵀx', colour: colour.estimate},
      ]);
    },
  };
}

/** The nectar at every place and step of a flight: a picture of tiles, which are too many to be drawn one by one. */
function nectarUnder(builder: SectionBuilder, flight: Data): Data {
  const field = builder.table('nectar_field', ['step', 'position', 'nectar']);
  const steps = flight.column('step').filter((at) => !Number.isNaN(at));
  const first = steps.reduce((a, b) => Math.min(a, b));
  const last = steps.reduce((a, b) => Math.max(a, b));
  const inside = field.column('step').map((at) => at >= first && at <= last);
  const part = (name: string) => field.column(name).filter((_, i) => inside[i]);
  return builder.dataset(`nectar_field_from_${first}`,
    {step: part('step'), position: part('position'), nectar: part('nectar')},
    {picture: {x: 'step', y: 'position', value: 'nectar', domain: [0, 2]}});
}

function flightMap(
  builder: SectionBuilder, title: string, file: string, columns: string[], position: string,
): ChartPlan {
  return {
    title,
    draw: () => {
      const flight = builder.table(file, columns);
      const field = nectarUnder(builder, flight);
      return layered({...step, scale: {zero: false, nice: false}},
        {title: 'position y (part of the circle)', scale: {domain: [0, 1], nice: false}}, [
          {
            data: field.name, mark: 'image', x: 'left', y: 'top', options: {aspect: false, smooth: false, clip: true},
            channels: {x2: {field: 'right'}, y2: {field: 'bottom'}, url: {field: 'url'}},
          },
          {data: flight.name, mark: 'circle', x: 'step', y: position, colour: 'white', options: {size: 14, opacity: 1}},
        ], 240);
    },
  };
}

function draw(builder: SectionBuilder, experiment: Json): void {
  const best = textIn(builder.listing('best_flight'), 'learner') || 'best learner';
  const flown = (title: string, file: string) => flightMap(builder, title, file, flightColumns, 'position');
  const reference = (title: string, position: string) =>
    flightMap(builder, title, 'reference', referenceColumns, position);

  builder.figure({
    id: 'initial',
    title: 'Nectar and value while the bee flies at random',
    paper: 'figure 1 (a)',
    caption: prose`
      The first 250 steps of π_0. The value is what the flight will earn from here on, each step counting half as much
      as the one before: about twice the nectar, since a bee that moves at random stays near where it is.`,
  }, [nectarAndValue(builder, 'initial_flight')]);
  builder.figure({
    id: 'improved',
    title: 'Nectar and value once it acts on that value',
    paper: 'figure 2 (a)',
    caption: prose`
      The first 250 steps of the improved policy. A bee that is always at the fullest place tastes between 1 and 2; one
      that flies at random falls to 0 again and again. How far this one has come from the second to the first is its
      learner's doing.`,
  }, [nectarAndValue(builder, 'improved_flight')]);
  builder.figure({
    id: 'flights',
    title: 'The flight over the nectar',
    paper: 'figures 1 (b) and 2 (b)',
    caption: prose`
      Each dot is the bee at one step; light places are full of nectar, dark ones empty. A random bee crosses them
      blindly; a learnt one waits on the light islands and changes to the next as they fade, and the exact optimum, from
      a dynamic program that knows the whole field, shows how well that can be done at all.`,
  }, [
    flown('random flight π_0', 'initial_flight'),
    flown(`improved policy, learner '${textIn(experiment, 'learner')}'`, 'improved_flight'),
    flown(`best learner, '${best}'`, 'best_flight'),
    reference('exact optimum', 'optimal_position'),
  ]);
  builder.figure({
    id: 'flow',
    title: "The paper's Euler–Lagrange flow",
    paper: 'figure 3',
    caption: prose`
      As printed, with one sign wrong, the flow flies off at full speed and crosses the nectar as a blind bee would;
      with the sign corrected it dwells on the islands, as the paper's picture does.`,
  }, [reference('as printed', 'printed_flow_position'), reference('with its sign corrected', 'flow_position')]);
  const reward = rewardOf(experiment);
  addRidgePath(builder, reward);
  addLearningCurves(builder, reward, [{learner: best, file: 'learning_curve'}]);
}

export default {experiments: ['bee-world'], draw} satisfies Contribution;
