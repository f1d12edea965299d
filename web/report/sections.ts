// All that the program handed over, as sections of the page. Every file of sections/ is heeded: a new one is a file.

import type {Contribution} from './contribution';
import type {Handed, Json} from './document';
import {addExperiments} from './experiments';
import type {Layout} from './layout';
import {listIn, textIn} from './reading';
import type {SectionBuilder} from './section_builder';

const files = import.meta.glob<Contribution>('./sections/*.ts', {eager: true, import: 'default'});

function drawFigures(builder: SectionBuilder, result: Json): void {
  const name = textIn(result, 'experiment');
  for (const file of Object.values(files)) {
    if ('experiments' in file && file.experiments.includes(name)) file.draw(builder, result);
  }
}

/** What cannot be shown is a problem, named with its folder. */
export function layoutOf(handed: Handed): Layout {
  const layout: Layout = {problems: [...handed.problems], sections: [], datasets: {}};
  const suites = Object.values(files).filter((file) => 'suite' in file);
  for (const results of handed.results) {
    attempt(layout, results.folder, () => {
      const kind = textIn(results.content, 'kind');
      if (kind === 'experiments') addExperiments(layout, results, suites.map(({suite}) => suite), drawFigures);
      for (const file of Object.values(files)) {
        if ('kind' in file && file.kind === kind) file.show(layout, results);
      }
    });
  }
  for (const {suite, gather} of suites) {
    const among = handed.results.filter(({content}) =>
      listIn(content, 'experiments').some((experiment) => textIn(experiment, 'experiment').startsWith(suite)));
    if (among.length > 0) attempt(layout, among[0]!.folder, () => gather(layout, among));
  }
  return layout;
}

/** Adds sections, or else what kept them from it. */
function attempt(layout: Layout, folder: string, add: () => void): void {
  const before = layout.sections.length;
  try {
    add();
  } catch (error) {
    layout.sections.length = before;
    layout.problems.push(`${folder || '.'}: it cannot be shown; run its command again (${String(error)})`);
  }
}
