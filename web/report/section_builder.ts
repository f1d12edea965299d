import {type LayerSpec, type Spec, datasetsOf} from './chart';
import type {DataFile, Json, Results} from './document';
import type {Dataset, FigureText, Layout, Section} from './layout';
import {counted, grouped, member, textIn} from './reading';

/** Why a chart cannot be drawn, said where it would have been. */
export class Missing extends Error {}

/** A dataset of the page: its name there and its columns. */
export class Data {
  constructor(readonly name: string, private readonly set: Dataset) {}

  /** NaN where there is no number. */
  column(name: string): number[] {
    const values = this.set.values[this.set.columns.indexOf(name)];
    if (!values) throw new Missing(`there is no column '${name}'`);
    return values.map((value) => value ?? NaN);
  }

  get columns(): string[] {
    return this.set.columns;
  }

  get rows(): number {
    return this.set.values[0]?.length ?? 0;
  }
}

/** One chart of a figure. `draw` throws Missing if what it needs is not there. */
export interface ChartPlan {
  title?: string;
  draw: () => Spec;
}

/** Collects one section of the page from a results.json. What cannot be shown is named where it would have been. */
export class SectionBuilder {
  readonly section: Section;
  private notes: string[] = [];
  private remarks: string[] = [];

  /** `listed`: the array of figures of results.json. The id is made unique in the page. */
  constructor(
    private readonly layout: Layout, id: string, readonly results: Results, private readonly listed: Json[],
  ) {
    let unique = id;
    for (let i = 2; layout.sections.some((other) => other.id === unique); i++) unique = `${id}-${i}`;
    this.section = {
      id: unique, title: '', text: '', command: textIn(results.content, 'command'),
      version: textIn(results.content, 'version'), folder: results.folder, notes: [], tables: [], figures: [],
      options: null,
    };
  }

  /** What is listed of a file beside its place; null if it is not listed. */
  listing(name: string): Json {
    return this.listed.find((entry) => textIn(entry, 'name') === name) ?? null;
  }

  /** Whether a file of this name is listed, be it there or not. */
  lists(name: string): boolean {
    return this.listing(name) !== null;
  }

  /**
   * A file by the name it is listed under, with the columns that are needed. Of more than `most` rows, evenly spaced
   * ones are drawn. Unless columns `mayBeEmpty`, each must have a number.
   */
  table(name: string, columns: string[], {most, mayBeEmpty}: {most?: number; mayBeEmpty?: boolean} = {}): Data {
    const {path, file} = this.file(name);
    for (const column of columns) this.check(path, file, column, mayBeEmpty ?? false);
    this.sayWhatIsKept(path, file, most);
    return this.keep(name, {columns: file.columns, values: file.values, most});
  }

  /** A dataset that is in no file. */
  dataset(name: string, columns: Record<string, (number | null)[]>, drawn: Partial<Dataset> = {}): Data {
    return this.keep(name, {columns: Object.keys(columns), values: Object.values(columns), ...drawn});
  }

  /** Says under the figure how it is drawn. */
  remark(text: string): void {
    if (!this.remarks.includes(text)) this.remarks.push(text);
  }

  /** Adds a figure. A chart that cannot be drawn becomes a note, or, if none can be, the reason why it is missing. */
  figure(text: FigureText, charts: ChartPlan[]): void {
    this.notes = [];
    this.remarks = [];
    let why = '';
    const drawn = charts.flatMap(({title = '', draw}) => {
      try {
        const spec = draw();
        spec.layer = spec.layer.map((layer) => this.positive(layer));
        return [{title, spec}];
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        why = title ? `${title}: ${error.message}` : error.message;
        this.note(`Missing: ${why}`);
        return [];
      }
    });
    const missing = drawn.length === 0;
    this.section.figures.push({
      ...text, id: `${this.section.id}-${text.id}`, charts: drawn, notes: missing ? [] : this.notes,
      remarks: missing ? [] : this.remarks, missing: missing ? why : '',
    });
  }

  /** Moves the section into the page. */
  finish(): void {
    this.layout.sections.push(this.section);
    for (const {charts} of this.section.figures) {
      for (const name of charts.flatMap((chart) => datasetsOf(chart.spec))) {
        this.layout.datasets[name] = this.kept[name]!;
      }
    }
  }

  private readonly kept: Record<string, Dataset> = {};

  private keep(name: string, data: Dataset): Data {
    const key = `${this.section.id}/${name}`;
    this.kept[key] = data;
    return new Data(key, data);
  }

  private note(text: string): void {
    if (!this.notes.includes(text)) this.notes.push(text);
  }

  private file(name: string): {path: string; file: DataFile} {
    const entry = this.listing(name);
    if (entry === null) throw new Missing(`these results have no '${name}'`);
    if (typeof member(entry, 'missing') === 'string') throw new Missing(textIn(entry, 'missing'));
    const path = member(entry, 'file');
    if (typeof path !== 'string') throw new Missing(`results.json does not say where '${name}' is`);
    const file = this.results.files[path];
    if (!file) throw new Missing(`'${path}' is not there`);
    if (file.missing) throw new Missing(file.missing);
    return {path, file};
  }

  /** Throws Missing unless the column is there and has a number; says how many of its cells are none. */
  private check(path: string, file: DataFile, column: string, mayBeEmpty: boolean): void {
    const values = file.values[file.columns.indexOf(column)];
    if (!values) throw new Missing(`'${path.slice(path.lastIndexOf('/') + 1)}' has no column '${column}'`);
    if (!mayBeEmpty && values.every((value) => value === null)) {
      throw new Missing(`'${path}' has no number in its column '${column}'`);
    }
    const refused = file.refused[column] ?? 0;
    if (refused === 0) return;
    const are = refused === 1 ? 'is not a number; it is' : 'are not numbers; they are';
    this.note(`${refused} of ${counted(file.rows, 'value')} of '${column}' in ${path} ${are} left out.`);
  }

  private sayWhatIsKept(path: string, file: DataFile, most?: number): void {
    const there = file.values[0]?.length ?? 0;
    const drawn = Math.min(there, most ?? there);
    if (drawn < file.rows) {
      this.remark(`Drawn: ${grouped(drawn)} of the ${grouped(file.rows)} rows of ${path}, evenly spaced.`);
    }
    if (there < file.rows) this.remark(`Its CSV has ${grouped(there)} of them; all are in that file.`);
    else if (drawn < file.rows) this.remark('Its CSV has them all.');
  }

  /** A layer without the values that a logarithmic axis cannot show, which are counted. */
  private positive(layer: LayerSpec): LayerSpec {
    const data = this.kept[layer.data.name];
    const hidden: object[] = [];
    for (const {field, scale} of Object.values(layer.encoding)) {
      const values = data?.values[data.columns.indexOf(field ?? '')];
      if (scale?.type !== 'log' || !values) continue;
      const numbers = values.filter((value) => value !== null);
      const low = numbers.filter((value) => value <= 0).length;
      if (low === 0) continue;
      this.note(`${low} of ${counted(numbers.length, 'value')} of '${field}' ${low === 1 ? 'is' : 'are'} not shown: ` +
        'a logarithmic axis has no place for what is not above 0.');
      const name = JSON.stringify(field);
      hidden.push({calculate: `datum[${name}] > 0 ? datum[${name}] : null`, as: field});
    }
    return hidden.length === 0 ? layer : {...layer, transform: [...hidden, ...layer.transform ?? []]};
  }
}
