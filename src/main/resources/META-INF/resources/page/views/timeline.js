import { element, setChildren, svg } from '../dom/dom.js';
import { drawBars } from './bars.js';

/** The report of the service has as many parts. */
const BARS = 24;

/** Counts violations by rule, in periods of the same length. */
export class Timeline {
  #begin;
  #length;
  #bars;

  /** @param begin and end as milliseconds since 1970 */
  constructor(begin, end) {
    this.#begin = begin;
    this.#length = Math.max(1, end - begin) / BARS;
    this.#bars = Array.from({ length: BARS }, (_, i) => ({ begin: begin + i * this.#length, counts: {} }));
  }

  /** The length of a period in milliseconds. */
  get length() {
    return this.#length;
  }

  add(at, rule, number = 1) {
    const index = Math.min(BARS - 1, Math.max(0, Math.floor((at - this.#begin) / this.#length)));
    const { counts } = this.#bars[index];
    counts[rule] = (counts[rule] ?? 0) + number;
  }

  /** Draws it into a chart. */
  draw({ figure, table }) {
    const rules = [...new Set(this.#bars.flatMap((bar) => Object.keys(bar.counts)))].sort();
    setChildren(figure, drawBars(this.#bars, rules), legendOf(rules));
    setChildren(table, tableOf(this.#bars, rules));
  }
}

/** A place for a timeline: a chart with its legend, and the same as a table. */
export function createChart() {
  const figure = element('figure', { class: 'chart' });
  const table = element('div');
  return { figure, table, nodes: [figure, element('details', {}, element('summary', {}, 'The same as a table'), table)] };
}

function legendOf(rules) {
  return element('figcaption', {}, element('ul', { class: 'legend' }, rules.map((rule, i) => element('li', {},
    svg('svg', { class: 'swatch', viewBox: '0 0 12 12', 'aria-hidden': 'true' },
      svg('rect', { width: 12, height: 12, class: `series-${i % 8}` }), svg('rect', { width: 12, height: 12, fill: `url(#pattern-${i % 4})` })),
    rule))));
}

function tableOf(bars, rules) {
  const rows = bars.filter((bar) => Object.keys(bar.counts).length > 0);
  return element('table', {},
    element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'From'), rules.map((rule) => element('th', { scope: 'col' }, rule)))),
    element('tbody', {}, rows.map((bar) => element('tr', {},
      element('th', { scope: 'row' }, new Date(bar.begin).toLocaleString()), rules.map((rule) => element('td', {}, String(bar.counts[rule] ?? 0)))))));
}
