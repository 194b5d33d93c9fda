import { element, setChildren, setText, svg } from '../dom/dom.js';
import { clock, count } from '../dom/format.js';
import { getJson } from '../data/api.js';
import { Poller } from '../data/poller.js';
import { data } from '../data/store.js';
import { drawBars } from './bars.js';

const RANGES = {
  'last 10 minutes': 600,
  'last hour': 3600,
  'last 24 hours': 86_400,
  'last 7 days': 7 * 86_400,
  'last 30 days': 30 * 86_400,
};
const BARS = 24;
const MOST = 1000;
const INTERVAL_SECONDS = 10;

/** How many violations began over time, by rule. */
export function chartView() {
  const range = element('select', { id: 'range', onchange: () => restart() },
    Object.entries(RANGES).map(([title, seconds]) => element('option', { value: String(seconds), selected: seconds === 3600 }, title)));
  const summary = element('p', { class: 'facts', role: 'status' }, 'No answer yet.');
  const figure = element('figure', { class: 'chart' });
  const table = element('div');
  const node = element('div', {},
    element('h1', { tabindex: '-1' }, 'Violations over time'),
    element('form', { class: 'filters', onsubmit: (event) => event.preventDefault() },
      element('div', {}, element('label', { for: 'range' }, 'Period'), range)),
    summary, figure, element('details', {}, element('summary', {}, 'The same as a table'), table));
  let poller = null;

  /** Each period has a poller of its own, so no late answer for another period is shown. */
  function restart() {
    poller?.stop();
    const ofPeriod = new Poller(() => read(Number(range.value)), INTERVAL_SECONDS, (answer) => {
      if (ofPeriod === poller) {
        accept(answer);
      }
    });
    poller = ofPeriod;
    poller.start();
  }

  function accept(answer) {
    if (answer !== undefined) {
      show(answer);
    } else if (poller.isFailing()) {
      setText(summary, `No current data: ${poller.error.message}.`);
    }
  }

  function show({ violations, begin, end }) {
    const began = violations.filter((violation) => Date.parse(violation.first_seen) >= begin);
    const rules = [...new Set(began.map((violation) => violation.rule))].sort();
    const bars = barsOf(began, begin, end);
    setText(summary, `${count(began.length, 'violation')} began in this period.${limitText(violations, begin)}`);
    setChildren(figure, drawBars(bars, rules), legendOf(rules));
    setChildren(table, tableOf(bars, rules));
  }

  restart();
  return { title: 'Violations over time', node, update: () => {}, close: () => poller.stop() };
}

/** The newest violations of a period until now, by the clock of the browser. */
async function read(seconds) {
  const end = Date.now();
  const begin = end - 1000 * seconds;
  const violations = await getJson(`/violations?limit=${MOST}&since=${new Date(begin).toISOString()}`);
  return { violations, begin, end };
}

/** Bars before the oldest violation that the service has are empty, whatever happened then. */
function limitText(violations, begin) {
  const oldest = violations.at(-1)?.first_seen ?? null;
  if (violations.length === MOST) {
    return ` Only the newest ${MOST} are counted: those since ${clock(oldest)}.`;
  }
  const start = data.status?.started_at;
  const known = oldest !== null && Date.parse(oldest) < Date.parse(start) ? oldest : start;
  return known && Date.parse(known) > begin ? ` Violations before ${clock(known)} are not known.` : '';
}

/** Counts by rule, in periods of the same length. */
function barsOf(violations, begin, end) {
  const length = (end - begin) / BARS;
  const bars = Array.from({ length: BARS }, (_, i) => ({ begin: begin + i * length, counts: {} }));
  for (const violation of violations) {
    const index = Math.min(BARS - 1, Math.floor((Date.parse(violation.first_seen) - begin) / length));
    const { counts } = bars[index];
    counts[violation.rule] = (counts[violation.rule] ?? 0) + 1;
  }
  return bars;
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
