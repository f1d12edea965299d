// What a file of sections/ is: its default says of which results it makes something, and what.

import type {Json, Results} from './document';
import type {Layout} from './layout';
import type {SectionBuilder} from './section_builder';

/** Figures of results of `waggle-paper reproduce` with these names, each in the section of its result. */
export interface FiguresOfExperiments {
  experiments: string[];
  draw: (builder: SectionBuilder, result: Json) => void;
}

/** Sections of a results.json of this kind. */
export interface SectionsOfKind {
  kind: string;
  show: (layout: Layout, results: Results) => void;
}

/** One section of all results of `waggle-paper reproduce` whose names begin so, in whichever folders, in place of theirs. */
export interface SectionOfSuite {
  suite: string;
  gather: (layout: Layout, results: Results[]) => void;
}

export type Contribution = FiguresOfExperiments | SectionsOfKind | SectionOfSuite;
