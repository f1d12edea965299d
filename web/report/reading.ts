// Reading JSON that may lack anything, and writing numbers for a reader.

import type {Json} from './document';

/** A member of an object; null if it is missing or this is no object. */
export function member(value: Json, key: string): Json {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
  return Object.hasOwn(value, key) ? value[key]! : null;
}

export function numberIn(value: Json, key: string): number | null {
  const found = member(value, key);
  return typeof found === 'number' ? found : null;
}

/** Empty if it is no text. */
export function textIn(value: Json, key: string): string {
  const found = member(value, key);
  return typeof found === 'string' ? found : '';
}

/** Empty if it is no array. */
export function listIn(value: Json, key: string): Json[] {
  const found = member(value, key);
  return Array.isArray(found) ? found : [];
}

/** Its members, in their order. */
export function entriesOf(value: Json): [string, Json][] {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
}

/** A number for a table: three decimals, or a power of ten where it is small or large. */
export function shown(value: number | null): string {
  if (value === null) return '';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-2 || size >= 1e5)) {
    return value.toExponential(1).replace(/e([+-])(\d)$/, 'e$10$2');
  }
  return value.toFixed(3);
}

/** "1 row", "2 rows". */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** "12,500". */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** Text written over several lines, as one. */
export function prose(parts: TemplateStringsArray, ...values: unknown[]): string {
  return String.raw({raw: parts}, ...values).replaceAll(/\s+/g, ' ').trim();
}
