// All that the program handed over, as sections of the page. Every file of sections/ is heeded: a new one is a file.

import type {Contribution} from './contribution';
import type {Handed, Json} from './document';
import {addExperiments} from './experiments';
import type {Layout} from './layout';
import {textIn} from './reading';
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
  for (const results of handed.results) {
    const kind = textIn(results.content, 'kind');
    const before = layout.sections.length;
    try {
      if (kind === 'experiments') addExperiments(layout, results, drawFigures);
      for (const file of Object.values(files)) {
        if ('kind' in file && file.kind === kind) file.show(layout, results);
      }
    } catch (error) {
      layout.sections.length = before;
      layout.problems.push(`${results.folder || '.'}: it cannot be shown; run its command again (${String(error)})`);
    }
  }
  return layout;
}
