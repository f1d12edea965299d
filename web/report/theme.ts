// Two themes, and the colours that chart specifications name by what they mean ("$blue").

import type {Config} from 'vega-lite';

export type Theme = 'light' | 'dark';

// Okabe and Ito's palette, which the colour-blind can tell apart; lighter where the ground is dark.
const palettes: Record<Theme, Record<string, string>> = {
  light: {
    $ink: '#1d2430', $muted: '#5b6675', $grid: '#e4e7ec', $ground: '#ffffff',
    $blue: '#0072b2', $red: '#d55e00', $green: '#009e73', $orange: '#b87800', $purple: '#a8457b',
    $sky: '#56b4e9',
  },
  dark: {
    $ink: '#eef1f6', $muted: '#a7b0be', $grid: '#323a47', $ground: '#171c24',
    $blue: '#56b4e9', $red: '#ff8f4d', $green: '#2fc49a', $orange: '#e69f00', $purple: '#e08fbb',
    $sky: '#b3c7ff',
  },
};

export function colour(theme: Theme, name: string): string {
  return palettes[theme][name] ?? name;
}

/** A specification with the theme's colours in place of their names. */
export function coloured<T>(value: T, theme: Theme): T {
  if (typeof value === 'string') return colour(theme, value) as T;
  if (Array.isArray(value)) return value.map((item) => coloured(item, theme)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, coloured(item as unknown, theme)])) as T;
}

/** For a chart in a frame so many pixels wide. */
export function configOf(theme: Theme, width: number): Config {
  const ink = colour(theme, '$ink');
  const muted = colour(theme, '$muted');
  const font = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
  return {
    font,
    background: colour(theme, '$ground'),
    padding: 6,
    autosize: {type: 'fit', contains: 'padding'},
    view: {stroke: null},
    axis: {
      labelColor: muted, titleColor: ink, titleFontWeight: 'normal', titleFontSize: 12,
      labelFontSize: 11, gridColor: colour(theme, '$grid'), domainColor: muted, tickColor: muted,
      titlePadding: 8, labelOverlap: 'greedy', tickCount: 6,
    },
    legend: {
      title: null, orient: 'top', direction: 'horizontal', labelColor: ink, labelFontSize: 12,
      labelLimit: 320, symbolStrokeWidth: 2.5, columns: width < 520 ? 1 : width < 800 ? 2 : 4, symbolOpacity: 1,
    },
    line: {strokeWidth: 1.6, strokeJoin: 'round'},
    boxplot: {median: {color: ink}},
  };
}

/** The system's. */
export function startingTheme(): Theme {
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}
