import { element, setText } from '../dom/dom.js';
import { clock, count } from '../dom/format.js';
import { getJson } from '../data/api.js';
import { Timeline } from './timeline.js';

const RANGES = {
  'last 10 minutes': 600,
  'last hour': 3600,
  'last 24 hours': 86_400,
  'last 7 days': 7 * 86_400,
  'last 30 days': 30 * 86_400,
};
const MOST = 1000;
const INTERVAL_MILLIS = 10_000;

/** How many violations began over time, by rule, as far as the service has them in memory. */
export function chartView() {
  const range = element('select', { id: 'range', onchange: () => read() },
    Object.entries(RANGES).map(([title, seconds]) => element('option', { value: String(seconds), selected: seconds === 3600 }, title)));
  const summary = element('p', { class: 'facts', role: 'status' }, 'No answer yet.');
  const figure = element('figure', { class: 'chart' });
  const table = element('details', {});
  const node = element('div', {},
    element('h1', { tabindex: '-1' }, 'Violations over time'),
    element('form', { class: 'filters', onsubmit: (event) => event.preventDefault() },
      element('div', {}, element('label', { for: 'range' }, 'Period'), range)),
    summary, figure, table,
    element('p', {}, 'These are violations that the service has in memory: all active ones, and those that ended since its start. ',
      element('a', { href: '#/report' }, 'The report'), ' has the same chart for a period of the journal.'));

  async function read() {
    const seconds = Number(range.value);
    const end = Date.now();
    const since = new Date(end - 1000 * seconds).toISOString();
    try {
      show(await getJson(`/violations?limit=${MOST}&since=${since}`), end - 1000 * seconds, end);
    } catch (error) {
      setText(summary, error.message);
    }
  }

  /** The answer has the newest violations first, so the chart begins with the last one if there are more. */
  function show(violations, begin, end) {
    const isCut = violations.length === MOST;
    const covered = isCut ? Math.max(begin, Date.parse(violations.at(-1).first_seen)) : begin;
    const began = violations.filter((violation) => Date.parse(violation.first_seen) >= covered);
    const timeline = new Timeline(covered, end);
    began.forEach((violation) => timeline.add(Date.parse(violation.first_seen), violation.rule));
    const number = count(began.length, 'violation');
    setText(summary, covered > begin
      ? `The newest ${number} began since ${clock(covered)}. The chart begins there, because the service shows no more.`
      : `${number} began in this period.`);
    timeline.draw(figure, table);
  }

  const timer = setInterval(read, INTERVAL_MILLIS);
  read();
  return { title: 'Violations over time', node, update: () => {}, close: () => clearInterval(timer) };
}
