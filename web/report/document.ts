// What the program hands to the page: apps/waggle/report/document.h has the same types. It says what the results
// are and what their files hold; what is made of them, the page knows alone (sections/).

/** Named columns of equal length; null where there is no number. */
export interface Columns {
  columns: string[];
  values: (number | null)[][];
}

/** A CSV file that results list: what is in it, or why it cannot be shown. */
export interface DataFile extends Columns {
  /** Of the file; more than there are values if only evenly spaced ones were handed over. */
  rows: number;
  /** How many cells of a column are neither empty nor a number. */
  refused: Record<string, number>;
  missing?: string;
}

/** A results.json, and the files it lists by their paths below it. */
export interface Results {
  folder: string;
  content: Json;
  files: Record<string, DataFile>;
}

export interface Handed {
  version: string;
  problems: string[];
  results: Results[];
}

/** Any JSON: files may come from an older version, so that any part may be missing. */
export type Json = null | boolean | number | string | Json[] | {[key: string]: Json};
