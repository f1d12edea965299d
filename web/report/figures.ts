import type {View} from 'vega';

import {type Figure, type Report, csvOf} from './document';
import {draw} from './draw';
import {button, element} from './elements';
import {savePng, saveSvg, saveText} from './save';
import type {Theme} from './theme';

/** A figure on the page: drawn when it comes near the reader's eyes, or when there is time. */
export class FigurePanel {
  readonly root: HTMLElement;
  private readonly frames: HTMLElement[] = [];
  private views: View[] = [];
  private drawnIn: Theme | null = null;

  constructor(private readonly figure: Figure, private readonly report: Report) {
    const heading = element('h3', {}, figure.title);
    if (figure.paper) heading.append(element('span', {class: 'paper'}, `paper: ${figure.paper}`));
    this.root = element('figure', {id: figure.id}, heading);
    if (figure.missing) {
      this.root.append(element('p', {class: 'missing', role: 'note'}, `Not shown: ${figure.missing}`));
      return;
    }
    const charts = element('div', {class: figure.charts.length > 1 ? 'charts several' : 'charts'});
    for (const chart of figure.charts) {
      const label = [figure.title, chart.title].filter(Boolean).join(', ');
      const frame = element('div', {class: 'chart', role: 'img', 'aria-label': label});
      frame.style.minHeight = `${heightOf(chart.spec)}px`;
      this.frames.push(frame);
      const box = element('div', {class: 'panel'});
      if (chart.title) box.append(element('h4', {}, chart.title));
      box.append(frame);
      charts.append(box);
    }
    this.root.append(charts, element('figcaption', {}, figure.caption));
    for (const note of figure.notes) this.root.append(element('p', {class: 'note', role: 'note'}, note));
    this.root.append(this.saving());
  }

  /** Draws it in a theme; again only if that is another. */
  async show(theme: Theme): Promise<void> {
    if (this.figure.missing || this.drawnIn === theme) return;
    this.drawnIn = theme;
    this.views.forEach((view) => view.finalize());
    this.views = [];
    for (const [i, chart] of this.figure.charts.entries()) {
      const frame = this.frames[i]!;
      this.views.push(await draw(chart, this.figure.datasets, this.report, theme, frame));
      frame.dataset.drawn = theme;
    }
  }

  private saving(): HTMLElement {
    const {id} = this.figure;
    const each = (save: (name: string, view: View) => Promise<void>) => () => {
      this.views.forEach((view, i) => void save(this.views.length > 1 ? `${id}-${i + 1}` : id, view));
    };
    const data = () => {
      for (const name of this.figure.datasets) {
        const columns = this.report.datasets[name];
        if (columns) saveText(`${name.replaceAll(/[^\w-]+/g, '-')}.csv`, csvOf(columns), 'text/csv');
      }
    };
    return element('div', {class: 'saving', role: 'group', 'aria-label': `Save: ${this.figure.title}`},
      button('PNG', 'Save as a picture', each(savePng)),
      button('SVG', 'Save as a drawing', each(saveSvg)),
      button('CSV', 'Save the data', data));
  }
}

function heightOf(spec: unknown): number {
  const height = (spec as {height?: unknown}).height;
  return typeof height === 'number' ? height : 240;
}
