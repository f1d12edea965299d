// What the page shows: sections with their tables and figures. main.ts puts them on the page.

import type {Spec} from './chart';
import type {Columns} from './document';

export interface Chart {
  /** May be empty if it is the figure's only one. */
  title: string;
  spec: Spec;
}

export interface FigureText {
  /** In links and in the names of saved files. */
  id: string;
  /** What is drawn. */
  title: string;
  /** Its counterpart in the paper: "figure 1 (a)". */
  paper?: string;
  /** What to see. */
  caption: string;
}

export interface Figure extends FigureText {
  charts: Chart[];
  /** What a reader must know, such as: three values are not numbers. */
  notes: string[];
  /** How it is drawn and what its CSV holds, where that is not everything. */
  remarks: string[];
  /** Why there are no charts; empty if there are. */
  missing: string;
}

export interface Table {
  caption: string;
  /** The first holds words, the others numbers. */
  columns: string[];
  rows: string[][];
}

export interface Section {
  id: string;
  title: string;
  text: string;
  /** That repeats it. */
  command: string;
  /** Of the program that ran it. */
  version: string;
  /** Where its results are, below the directory of the report. */
  folder: string;
  /** Warnings. */
  notes: string[];
  tables: Table[];
  figures: Figure[];
  /** That made it. */
  options: unknown;
}

/** What charts draw and readers save. */
export interface Dataset extends Columns {
  /** The most rows that are drawn, evenly spaced ones of more; none: all. */
  most?: number;
  /** Tiles drawn as one picture. */
  picture?: Tiles;
}

/** How the rows of a dataset are the tiles of a picture: columns of their places on a grid and of what colours them. */
export interface Tiles {
  x: string;
  y: string;
  value: string;
  /** Of the values, from one end of the colours to the other. */
  domain: [number, number];
}

export interface Layout {
  problems: string[];
  sections: Section[];
  datasets: Record<string, Dataset>;
}

/** A table without the columns that are empty in every row. */
export function withoutEmptyColumns(table: Table): Table {
  const kept = table.columns.map((_, c) => c === 0 || table.rows.some((row) => row[c] !== ''));
  const keep = <T>(cells: T[]) => cells.filter((_, c) => kept[c]);
  return {...table, columns: keep(table.columns), rows: table.rows.map(keep)};
}

/** Evenly spaced ones of the numbers 0 … rows − 1, no more than `most`. */
export function evenly(rows: number, most = rows): number[] {
  if (rows <= most) return Array.from({length: rows}, (_, i) => i);
  return Array.from({length: most}, (_, i) => Math.floor(i * rows / most));
}

export type Row = Record<string, number | string | null>;

/** The rows of a dataset that are drawn, as Vega reads them. */
export function rowsOf(data: Dataset): Row[] {
  return evenly(data.values[0]?.length ?? 0, data.most).map((i) => {
    const row: Row = {};
    data.columns.forEach((name, c) => (row[name] = data.values[c]?.[i] ?? null));
    return row;
  });
}

/** A dataset as CSV, an empty cell where there is no number. */
export function csvOf(data: Columns): string {
  const cell = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [data.columns.map(cell).join(',')];
  const count = data.values[0]?.length ?? 0;
  for (let i = 0; i < count; i++) lines.push(data.values.map((column) => column[i] ?? '').join(','));
  return lines.join('\n') + '\n';
}
