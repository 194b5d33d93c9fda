import { element, setText } from '../dom/dom.js';
import { setValues, valuesOf } from '../dom/form.js';
import { clock, count } from '../dom/format.js';
import { getJson } from '../data/api.js';
import { Poller } from '../data/poller.js';
import { data } from '../data/store.js';
import { address } from './navigation.js';
import { createChart, Timeline } from './timeline.js';

const RANGES = {
  'last 10 minutes': 600,
  'last hour': 3600,
  'last 24 hours': 86_400,
  'last 7 days': 7 * 86_400,
  'last 30 days': 30 * 86_400,
};
const MOST = 1000;
const INTERVAL_SECONDS = 10;

/** How many violations began over time, by rule, as far as the service has them in memory. */
export function chartView(route) {
  const range = element('select', { id: 'range', name: 'seconds', onchange: choose },
    Object.entries(RANGES).map(([title, seconds]) => element('option', { value: String(seconds), selected: seconds === 3600 }, title)));
  const summary = element('p', { class: 'facts', role: 'status' }, 'No answer yet.');
  const chart = createChart();
  const form = element('form', { class: 'filters', onsubmit: (event) => event.preventDefault() },
    element('div', {}, element('label', { for: 'range' }, 'Period'), range));
  const node = element('div', {},
    element('h1', { tabindex: '-1' }, 'Violations over time'),
    form, summary, chart.nodes,
    element('p', {}, 'These are violations that the service has in memory: all active ones, and the last ones that ended. ',
      element('a', { href: '#/report' }, 'The report'), ' has the same chart for a period of the journal.'));
  let poller = null;

  function choose() {
    location.hash = address('chart', null, valuesOf(form));
  }

  function accept({ parameters }) {
    setValues(form, parameters);
    restart();
    return true;
  }

  /** Each period has a poller of its own, so no late answer for another period is shown. */
  function restart() {
    poller?.stop();
    const ofPeriod = new Poller(() => read(Number(range.value)), INTERVAL_SECONDS, (answer) => {
      if (ofPeriod === poller) {
        receive(answer);
      }
    });
    poller = ofPeriod;
    poller.start();
  }

  function receive(answer) {
    if (answer !== undefined) {
      show(answer);
    } else if (poller.isFailing()) {
      setText(summary, `No current data: ${poller.error.message}.`);
    }
  }

  /** The answer has the newest violations first, so the chart begins with the last one if there are more. */
  function show({ violations, begin, end }) {
    const isCut = violations.length === MOST;
    const covered = isCut ? Math.max(begin, Date.parse(violations.at(-1).first_seen)) : begin;
    const began = violations.filter((violation) => Date.parse(violation.first_seen) >= covered);
    const timeline = new Timeline(covered, end);
    began.forEach((violation) => timeline.add(Date.parse(violation.first_seen), violation.rule));
    const number = count(began.length, 'violation');
    setText(summary, covered > begin
      ? `The newest ${number} began since ${clock(violations.at(-1).first_seen)}. The chart begins there, because the service shows no more.`
      : `${number} began in this period.${unknownText(violations, begin)}`);
    timeline.draw(chart);
  }

  accept(route);
  return { title: 'Violations over time', node, update: () => {}, accept, close: () => poller.stop() };
}

/** The newest violations of a period until now, by the clock of the browser. */
async function read(seconds) {
  const end = Date.now();
  const begin = end - 1000 * seconds;
  const violations = await getJson(`/violations?limit=${MOST}&since=${new Date(begin).toISOString()}`);
  return { violations, begin, end };
}

/** Bars before the oldest violation that the service has are empty, whatever happened then. */
function unknownText(violations, begin) {
  const oldest = violations.at(-1)?.first_seen ?? null;
  const start = data.status?.started_at;
  const known = oldest !== null && Date.parse(oldest) < Date.parse(start) ? oldest : start;
  return known && Date.parse(known) > begin ? ` Violations before ${clock(known)} are not known.` : '';
}
