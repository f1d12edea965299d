// Results of `waggle-paper reproduce` and `waggle-paper compare`: a section for every experiment, one for all learners of a problem.

import type {Json, Results} from './document';
import {type Layout, type Table, withoutEmptyColumns} from './layout';
import {counted, entriesOf, listIn, member, numberIn, prose, shown, textIn} from './reading';
import {type LearningCurve, addDistribution, addLearningCurves, rewardOf} from './rewards';
import {SectionBuilder} from './section_builder';

type DrawFigures = (builder: SectionBuilder, result: Json) => void;

/** Without those of suites, by how their names begin. */
export function addExperiments(layout: Layout, results: Results, suites: string[], draw: DrawFigures): void {
  const problems = new Map<string, Json[]>();
  for (const experiment of listIn(results.content, 'experiments')) {
    if (suites.some((suite) => textIn(experiment, 'experiment').startsWith(suite))) continue;
    const name = problemOf(experiment);
    problems.set(name, [...problems.get(name) ?? [], experiment]);
  }
  for (const learners of problems.values()) {
    if (learners.length > 1 && rewardOf(learners[0]!).column) addComparison(layout, results, learners);
    else for (const learner of learners) addExperiment(layout, results, learner, draw);
  }
}

function problemOf(experiment: Json): string {
  return [textIn(experiment, 'experiment'), textIn(experiment, 'timing')].filter(Boolean).join('-');
}

function addExperiment(layout: Layout, results: Results, experiment: Json, draw: DrawFigures): void {
  const builder = new SectionBuilder(layout, problemOf(experiment), results, listIn(experiment, 'figures'));
  const {section} = builder;
  section.title = textIn(experiment, 'title');
  section.text = textIn(experiment, 'text');
  const seed = numberIn(experiment, 'figure_seed');
  if (seed !== null) {
    section.text += ` The flights and runs drawn are those of seed ${seed}, the median of the seeds run.`;
  }
  section.options = member(experiment, 'options');
  section.tables.push(resultTable(experiment));
  section.notes.push(...notesOf(experiment));
  draw(builder, experiment);
  if (rewardOf(experiment).column) addDistribution(builder, [experiment]);
  builder.finish();
}

/** Several learners of one problem: one table and one figure for all of them. */
function addComparison(layout: Layout, results: Results, learners: Json[]): void {
  const first = learners[0]!;
  const curves: LearningCurve[] = [];
  const listed = learners.flatMap((learner) => listIn(learner, 'figures').map((entry) => {
    const file = `learning_curve_${curves.length}`;  // under a name of the learner's own
    curves.push({learner: textIn(learner, 'learner'), file});
    return {...entry as {[key: string]: Json}, name: file};
  }));
  const builder = new SectionBuilder(layout, `compare-${problemOf(first)}`, results, listed);
  const {section} = builder;
  const reward = rewardOf(first);
  section.title = `${textIn(first, 'title')}: all learners`;
  section.text = prose`
    The same number of steps and the same size of reservoir for all of them. None knows the problem.`;
  section.options = Object.fromEntries(learners.map((learner) =>
    [textIn(learner, 'learner'), member(member(learner, 'options'), 'learner')]));
  section.tables.push(comparisonTable(learners, reward.column));
  section.notes.push(...learners.flatMap(notesOf));
  addDistribution(builder, learners);
  if (curves.length > 0) addLearningCurves(builder, reward, curves);
  builder.finish();
}

export function seedsOf(experiment: Json): string {
  const seeds = numberIn(experiment, 'seeds') ?? 0;
  const first = numberIn(experiment, 'first_seed') ?? 0;
  return seeds === 1 ? `seed ${first}` : `seeds ${first} to ${first + seeds - 1}`;
}

function rangeOf(metric: Json): string {
  const low = numberIn(metric, 'p05');
  const high = numberIn(metric, 'p95');
  return low !== null && high !== null && low < high ? `${shown(low)} – ${shown(high)}` : '';
}

function medianOf(metric: Json): string {
  return shown(numberIn(metric, 'median')) || 'none';
}

/** The key of a column of numbers in JSON: "to reach" is to_reach, "exact" is reference. */
function keyOf(column: string): string {
  return column === 'exact' ? 'reference' : column.replaceAll(' ', '_');
}

function resultTable(experiment: Json): Table {
  const paper = textIn(experiment, 'paper_column') || 'paper';
  const reference = textIn(experiment, 'reference_column') || 'exact';
  const labels = member(experiment, 'labels');
  const metrics = entriesOf(member(experiment, 'metrics')).map(([name, metric]) => [
    textIn(labels, name) || name, shown(numberIn(metric, keyOf(paper))), medianOf(metric), rangeOf(metric),
    shown(numberIn(metric, keyOf(reference)))]);
  const facts = entriesOf(member(experiment, 'facts')).map(([, fact]) => [
    textIn(fact, 'label'), shown(numberIn(fact, 'paper')), shown(numberIn(fact, 'value')), '',
    shown(numberIn(fact, 'reference'))]);
  return withoutEmptyColumns({
    caption: prose`
      Learner '${textIn(experiment, 'learner')}', ${seedsOf(experiment)}: the median and the range from the 5th to the
      95th percentile`,
    columns: ['quantity', paper, 'ours', '5–95 %', reference],
    rows: [...metrics, ...facts.filter(([label]) => label)],
  });
}

function comparisonTable(learners: Json[], name: string): Table {
  const first = learners[0]!;
  const metric = member(member(first, 'metrics'), name);
  const rows = learners.map((learner) => {
    const own = member(member(learner, 'metrics'), name);
    return [textIn(learner, 'learner'), medianOf(own), rangeOf(own)];
  });
  const paper = numberIn(metric, 'paper');
  if (paper !== null) rows.unshift(["the paper's run", shown(paper), '']);
  rows.push(['exact optimum', shown(numberIn(metric, 'reference')), '']);
  return {
    caption: `${textIn(member(first, 'labels'), name) || name}, ${seedsOf(first)}`,
    columns: ['learner', 'median', '5–95 %'],
    rows,
  };
}

export function notesOf(experiment: Json): string[] {
  const notes: string[] = [];
  const seeds = numberIn(experiment, 'seeds') ?? 0;
  const learner = `'${textIn(experiment, 'learner')}'`;
  const diverged = listIn(experiment, 'diverged_seeds').length;
  if (diverged > 0) {
    const are = diverged === 1 ? 'it is' : 'they are';
    notes.push(`${learner} lost the system for ${diverged} of ${counted(seeds, 'seed')}; ${are} left out.`);
  }
  const fits = numberIn(experiment, 'rank_deficient') ?? 0;
  if (fits > 0) {
    const were = fits === 1 ? 'was' : 'were';
    notes.push(`${learner}, ${fits} of ${counted(seeds, 'fit')} ${were} rank deficient; the ridge decides the rest.`);
  }
  for (const [warning, count] of entriesOf(member(experiment, 'warnings'))) {
    notes.push(`${learner}, ${String(count)} of ${counted(seeds, 'seed')}: ${warning}.`);
  }
  return notes;
}
