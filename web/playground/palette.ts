// Colours that people with any kind of colour vision can tell apart: viridis for amounts, and
// Okabe and Ito's for lines, which the style sheet holds for either theme.

const VIRIDIS = [
  [68, 1, 84], [71, 39, 119], [62, 73, 137], [48, 103, 141], [37, 130, 142], [30, 157, 136],
  [53, 183, 120], [110, 206, 88], [181, 221, 43], [253, 231, 36],
] as const;

/** 256 colours from low to high, as the bytes r, g, b. */
export const AMOUNTS: Uint8ClampedArray = (() => {
  const table = new Uint8ClampedArray(256 * 3);
  for (let i = 0; i < 256; ++i) {
    const place = (i / 255) * (VIRIDIS.length - 1);
    const below = Math.min(VIRIDIS.length - 2, Math.floor(place));
    for (let channel = 0; channel < 3; ++channel) {
      const a = VIRIDIS[below]?.[channel] ?? 0;
      const b = VIRIDIS[below + 1]?.[channel] ?? 0;
      table[3 * i + channel] = a + (place - below) * (b - a);
    }
  }
  return table;
})();

/** The index into AMOUNTS of a value between two ends. */
export function amount(value: number, least: number, most: number): number {
  const share = (value - least) / (most - least);
  return share <= 0 || Number.isNaN(share) ? 0 : share >= 1 ? 255 : Math.round(share * 255);
}

export function amountColour(value: number, least: number, most: number): string {
  const i = 3 * amount(value, least, most);
  return `rgb(${AMOUNTS[i]},${AMOUNTS[i + 1]},${AMOUNTS[i + 2]})`;
}

/** A colour of the style sheet, as it is in the present theme. */
export function themed(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
