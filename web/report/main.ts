import './style.css';

import type {Handed} from './document';
import {button, element} from './elements';
import {FigurePanel} from './figures';
import type {Section, Table} from './layout';
import {layoutOf} from './sections';
import {startingTheme, type Theme} from './theme';

const title = 'waggle report';
const handed = JSON.parse(document.getElementById('document')?.textContent ?? '') as Handed;
const report = layoutOf(handed);
const panels: FigurePanel[] = [];
let theme: Theme = startingTheme();

function table(data: Table): HTMLElement {
  const head = element('tr', {});
  data.columns.forEach((name) => head.append(element('th', {scope: 'col'}, name)));
  const body = element('tbody', {});
  for (const cells of data.rows) {
    const row = element('tr', {});
    cells.forEach((cell, i) => row.append(i === 0 ? element('th', {scope: 'row'}, cell) : element('td', {}, cell)));
    body.append(row);
  }
  const full = element('table', {}, element('caption', {}, data.caption), element('thead', {}, head), body);
  const scroll = element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': data.caption}, full);
  if (data.rows.length <= 14) return scroll;
  return element('details', {}, element('summary', {}, `${data.caption} (${data.rows.length} rows)`), scroll);
}

function repeat(section: Section): HTMLElement {
  const box = element('div', {class: 'repeat'});
  if (section.command) {
    const line = element('div', {class: 'command'}, element('code', {}, section.command));
    line.append(button('copy', 'Copy the command', () => void navigator.clipboard?.writeText(section.command)));
    box.append(line);
  }
  box.append(element('p', {class: 'version'}, `waggle ${section.version}`));
  if (section.options && Object.keys(section.options).length > 0) {
    box.append(element('details', {}, element('summary', {}, 'All options'),
      element('pre', {tabindex: '0'}, JSON.stringify(section.options, null, 2))));
  }
  return box;
}

function notes(all: string[]): HTMLElement {
  const list = element('ul', {class: 'notes'}, ...all.map((note) => element('li', {}, note)));
  if (all.length <= 8) return list;
  return element('details', {class: 'notes'}, element('summary', {}, `${all.length} warnings`), list);
}

/** Its title, with its folder where another section has the same. */
function named(section: Section): string {
  const same = report.sections.filter((other) => other.title === section.title).length > 1;
  return same ? `${section.title} (${section.folder || '.'})` : section.title;
}

function show(section: Section): HTMLElement {
  const root = element('section', {id: section.id, 'aria-labelledby': `${section.id}-title`},
    element('h2', {id: `${section.id}-title`}, named(section)));
  if (section.text) root.append(element('p', {class: 'lead'}, section.text));
  section.tables.forEach((data) => root.append(table(data)));
  if (section.notes.length > 0) root.append(notes(section.notes));
  for (const figure of section.figures) {
    const panel = new FigurePanel(figure, report);
    panels.push(panel);
    root.append(panel.root);
  }
  root.append(repeat(section));
  return root;
}

function problems(): HTMLElement[] {
  if (report.problems.length === 0) return [];
  return [element('section', {class: 'problems', role: 'note'}, element('h2', {}, 'What could not be read'),
    element('ul', {}, ...report.problems.map((problem) => element('li', {}, problem))))];
}

function page(): void {
  document.title = title;
  const links = report.sections.map((section) =>
    element('li', {}, element('a', {href: `#${section.id}`}, named(section))));
  const dark = button('', 'Light or dark', () => {
    theme = theme === 'dark' ? 'light' : 'dark';
    retheme();
  });
  dark.id = 'theme';
  document.body.append(
    element('a', {class: 'skip', href: '#main'}, 'To the results'),
    element('header', {}, element('div', {class: 'bar'},
      element('h1', {}, title), element('span', {class: 'version'}, handed.version), dark),
      element('nav', {'aria-label': 'Sections'}, element('ul', {}, ...links))),
    element('main', {id: 'main'}, ...problems(), ...report.sections.map(show)));
}

/** Draws what is in sight at once and the rest while nothing else happens. */
async function drawAll(): Promise<void> {
  const now = theme;
  document.documentElement.dataset.drawn = '';
  const near = panels.filter((panel) => {
    const box = panel.root.getBoundingClientRect();
    return box.bottom > -200 && box.top < innerHeight + 200;
  });
  for (const panel of [...near, ...panels]) {
    if (theme !== now) return;  // drawn anew from the start
    await panel.show(now);
    await idle();
  }
  document.documentElement.dataset.drawn = now;
}

function idle(): Promise<void> {
  return new Promise((resolve) => {
    if ('requestIdleCallback' in window) requestIdleCallback(() => resolve(), {timeout: 100});
    else setTimeout(resolve, 0);
  });
}

function retheme(): void {
  document.documentElement.dataset.theme = theme;
  const dark = document.getElementById('theme');
  if (dark) dark.textContent = theme === 'dark' ? 'light' : 'dark';
  void drawAll();
}

page();
retheme();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => {
  theme = event.matches ? 'dark' : 'light';
  retheme();
});
