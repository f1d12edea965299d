import type {View} from 'vega';

import {datasetsOf} from './chart';
import {draw} from './draw';
import {button, element} from './elements';
import {type Figure, type Layout, csvOf} from './layout';
import {savePng, saveSvg, saveText} from './save';
import type {Theme} from './theme';

/** A figure on the page: drawn when it comes near the reader's eyes, or when there is time. */
export class FigurePanel {
  readonly root: HTMLElement;
  private readonly frames: HTMLElement[] = [];
  private views: (View | undefined)[] = [];
  private drawnIn: Theme | null = null;

  constructor(private readonly figure: Figure, private readonly layout: Layout) {
    const heading = element('h3', {}, figure.title);
    if (figure.paper) heading.append(element('span', {class: 'paper'}, `paper: ${figure.paper}`));
    this.root = element('figure', {id: figure.id}, heading);
    if (figure.missing) {
      this.root.append(element('p', {class: 'missing', role: 'note'}, `Not shown: ${figure.missing}`));
      return;
    }
    const charts = element('div', {class: figure.charts.length > 1 ? 'charts several' : 'charts'});
    for (const [i, chart] of figure.charts.entries()) {
      const label = [figure.title, chart.title].filter(Boolean).join(', ');
      const frame = element('div', {class: 'chart', role: 'img', 'aria-label': label});
      frame.style.minHeight = `${chart.spec.height}px`;
      this.frames.push(frame);
      const box = element('div', {class: 'panel'});
      if (chart.title) box.append(element('h4', {}, chart.title));
      box.append(frame, this.saving(i));
      charts.append(box);
    }
    this.root.append(charts, element('figcaption', {}, figure.caption));
    for (const note of figure.notes) this.root.append(element('p', {class: 'note', role: 'note'}, note));
    if (figure.remarks.length > 0) this.root.append(element('p', {class: 'remark'}, figure.remarks.join(' ')));
  }

  /** Draws it in a theme; again only if that is another. */
  async show(theme: Theme): Promise<void> {
    if (this.figure.missing || this.drawnIn === theme) return;
    this.drawnIn = theme;
    this.views.forEach((view) => view?.finalize());
    this.views = [];
    for (const [i, chart] of this.figure.charts.entries()) {
      const frame = this.frames[i]!;
      try {
        this.views[i] = await draw(chart, this.layout, theme, frame);
        frame.dataset.drawn = theme;
      } catch (error) {  // one that cannot be drawn must not keep the others from it
        frame.replaceChildren(element('p', {class: 'missing', role: 'note'}, `Not drawn: ${String(error)}`));
      }
    }
  }

  /** One file a button: browsers ask before a page may save several at once. */
  private saving(index: number): HTMLElement {
    const {id, charts} = this.figure;
    const name = charts.length > 1 ? `${id}-${index + 1}` : id;
    const view = (save: (name: string, view: View) => Promise<void>) => () => {
      const drawn = this.views[index];
      if (drawn) void save(name, drawn);
    };
    const sets = datasetsOf(charts[index]!.spec);
    const data = sets.map((set) => {
      const short = set.slice(set.lastIndexOf('/') + 1).replaceAll('_', ' ');
      return button(sets.length > 1 ? `CSV ${short}` : 'CSV', `Save the data: ${short}`, () => {
        const columns = this.layout.datasets[set];
        if (columns) saveText(`${set.replaceAll(/[^\w-]+/g, '-')}.csv`, csvOf(columns), 'text/csv');
      });
    });
    return element('div', {class: 'saving', role: 'group', 'aria-label': `Save: ${this.figure.title}`},
      button('PNG', 'Save as a picture', view(savePng)), button('SVG', 'Save as a drawing', view(saveSvg)), ...data);
  }
}
