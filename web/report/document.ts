// What the program hands to the page: apps/waggle/report/document.h has the same types.

import type {TopLevelSpec} from 'vega-lite';

export interface Columns {
  columns: string[];
  values: (number | null)[][];
}

export interface Chart {
  title: string;
  spec: TopLevelSpec;
}

export interface Figure {
  id: string;
  title: string;
  paper: string;
  caption: string;
  charts: Chart[];
  notes: string[];
  missing: string;
}

export interface Table {
  caption: string;
  columns: string[];
  rows: string[][];
}

export interface Section {
  id: string;
  title: string;
  text: string;
  command: string;
  version: string;
  folder: string;
  notes: string[];
  tables: Table[];
  figures: Figure[];
  options: unknown;
}

export interface Report {
  title: string;
  version: string;
  problems: string[];
  sections: Section[];
  datasets: Record<string, Columns>;
}

export type Row = Record<string, number | null>;

/** The rows of a dataset, as Vega reads them. */
export function rowsOf(data: Columns): Row[] {
  const count = data.values[0]?.length ?? 0;
  return Array.from({length: count}, (_, i) => {
    const row: Row = {};
    data.columns.forEach((name, c) => (row[name] = data.values[c]?.[i] ?? null));
    return row;
  });
}

/** A dataset as CSV, an empty cell where there is no number. */
export function csvOf(data: Columns): string {
  const cell = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [data.columns.map(cell).join(',')];
  for (const row of rowsOf(data)) lines.push(data.columns.map((name) => row[name] ?? '').join(','));
  return lines.join('\n') + '\n';
}
