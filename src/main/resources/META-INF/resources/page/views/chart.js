import { element, setChildren, svg } from '../dom/dom.js';

/** The report of the service has as many parts. */
const BARS = 24;
const HEIGHT = 240;
const BOTTOM = 24;
const TOP = 8;

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

/**
 * A chart of stacked bars. Rules differ in colour and in pattern. Places from left to right are percentages, so that text has the same
 * size at every width.
 * @param {Array} bars `{begin, counts}`
 * @param {Array} rules in the order of the stack
 */
function drawBars(bars, rules) {
  const highest = Math.max(1, ...bars.map((bar) => rules.reduce((sum, rule) => sum + (bar.counts[rule] ?? 0), 0)));
  const step = Math.max(1, 10 ** Math.floor(Math.log10(highest)) * (highest / 10 ** Math.floor(Math.log10(highest)) > 5 ? 2 : 1));
  const top = Math.ceil(highest / step) * step;
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  return svg('svg', { height: HEIGHT, role: 'img', 'aria-label': label(bars, rules) },
    patterns(), grid(top, step, y), bars.map((bar, i) => stack(bar, i, bars.length, rules, y)), axis(bars));
}

/** The table below the chart has the numbers; this says what it shows. */
function label(bars, rules) {
  const totals = rules.map((rule) => `${rule} ${bars.reduce((sum, bar) => sum + (bar.counts[rule] ?? 0), 0)}`);
  return `Violations that began, by rule: ${totals.join(', ') || 'none'}`;
}

function patterns() {
  const lines = ['', 'M0 8 8 0', 'M0 4H8', 'M4 0V8'];
  return svg('defs', {}, lines.map((path, i) => svg('pattern',
    { id: `pattern-${i}`, width: 8, height: 8, patternUnits: 'userSpaceOnUse' }, svg('path', { d: path || 'M0 0', class: 'pattern' }))));
}

function grid(top, step, y) {
  const values = Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step);
  return values.map((value) => svg('g', { class: 'grid' },
    svg('line', { x2: '100%', y1: y(value), y2: y(value) }),
    svg('text', { x: -6, y: y(value) + 4, 'text-anchor': 'end' }, String(value))));
}

function stack(bar, index, count, rules, y) {
  const slot = 100 / count;
  let below = 0;
  return rules.flatMap((rule, i) => {
    const value = bar.counts[rule] ?? 0;
    const place = { x: `${(index + 0.1) * slot}%`, width: `${0.8 * slot}%`, y: y(below + value), height: y(below) - y(below + value) };
    below += value;
    return value === 0 ? [] : [svg('rect', { ...place, class: `series-${i % 8}` }), svg('rect', { ...place, fill: `url(#pattern-${i % 4})` })];
  });
}

function axis(bars) {
  const isLong = bars.at(-1).begin - bars[0].begin > 86_400_000;
  const format = new Intl.DateTimeFormat(undefined, isLong ? { month: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit' });
  return bars.map((bar, i) => i % 8 === 0 && svg('text', { class: 'axis', x: `${100 * i / bars.length}%`, y: HEIGHT - 6 }, format.format(bar.begin)));
}
