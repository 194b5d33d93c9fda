import { element } from '../dom/dom.js';
import { clock, count, number, time, visible } from '../dom/format.js';
import { createTable } from '../dom/table.js';
import { getJson, getText } from '../data/api.js';
import { createAnswer } from './answer.js';
import { createChart, Timeline } from './timeline.js';

const DAY_MILLIS = 86_400_000;
const MOST_ROWS = 1000;
/** The members that are instants. What users named may look like one. */
const INSTANTS = ['from', 'to', 'recorded_since', 'events_recorded_since'];

/** Who held and used how much in a period, and which rules were broken. */
export function reportView(route) {
  const from = date('from', Date.now() - 30 * DAY_MILLIS);
  const to = date('to', Date.now() + DAY_MILLIS);
  const form = element('form', { class: 'filters' },
    element('div', {}, element('label', { for: 'from' }, 'From'), from),
    element('div', {}, element('label', { for: 'to' }, 'To, not included'), to),
    element('button', { type: 'submit', class: 'primary' }, 'Show'),
    element('button', { type: 'button', onclick: download }, 'Download CSV'));
  const answer = createAnswer('report', form, { text: 'Loading …', nodes: [] }, async () => {
    const report = await getJson(path());
    return { text: summaryOf(report), nodes: nodesOf(report) };
  });
  const node = element('div', {}, element('h1', { tabindex: '-1' }, 'Report'), form, element('div', { id: 'report' }, answer.nodes));

  function path() {
    const begin = new Date(`${from.value}T00:00`).toISOString();
    return `/report?from=${begin}&to=${new Date(`${to.value}T00:00`).toISOString()}`;
  }

  async function download() {
    if (form.reportValidity()) {
      await answer.attempt({ text: 'Downloading …' }, async () => {
        save(await getText(path(), 'text/csv'), `genv-report-${from.value}-${to.value}.csv`);
        return { text: 'Downloaded.' };
      });
    }
  }

  answer.accept(route);
  return { title: 'Report', node, update: () => {}, accept: answer.accept };
}

function date(name, millis) {
  return element('input', { type: 'date', id: name, name, required: true, max: '9999-12-31', value: day(millis) });
}

function day(millis) {
  const local = new Date(millis - 60_000 * new Date(millis).getTimezoneOffset());
  return local.toISOString().slice(0, 10);
}

/** A link could not send the token, so the file is read first. */
function save(text, fileName) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  element('a', { href: url, download: fileName }).click();
  URL.revokeObjectURL(url);
}

function summaryOf({ users, usage, complete, from, recorded_since: hoursSince, events_recorded_since: eventsSince }) {
  const known = new Set([...users, ...usage].map(({ user }) => user).filter((user) => user !== null));
  const cut = complete ? '' : ' A part of the period is missing: it was not read in time, or its records are damaged.';
  return `Report of ${count(known.size, 'user')}.${cut}${missingText('Hours', hoursSince, from)}${missingText('Violations and actions', eventsSince, from)}`;
}

function missingText(what, since, from) {
  if (since === null) {
    return ` ${what} are not recorded.`;
  }
  return Date.parse(since) > Date.parse(from) ? ` ${what} before ${clock(since)} are not recorded.` : '';
}

/** Violations over time as a chart, every other list of the report as a table, and its other members as facts. */
function nodesOf(report) {
  const entries = Object.entries(report);
  const facts = entries.filter(([, value]) => typeof value !== 'object' || value === null);
  const tables = entries.filter(([key, value]) => Array.isArray(value) && key !== 'timeline');
  return [
    element('dl', {}, facts.map(([key, value]) => element('div', {}, element('dt', {}, words(key)), element('dd', {}, cell(key, value))))),
    element('h2', {}, 'Violations over time'),
    ...chartOf(report),
    ...tables.flatMap(([key, rows]) => tableOf(words(key), rows)),
  ];
}

function chartOf(report) {
  const timeline = new Timeline(Date.parse(report.from), Date.parse(report.to));
  // The middle of a part, because its begin is rounded.
  report.timeline.forEach(({ from, rule, violations }) => timeline.add(Date.parse(from) + timeline.length / 2, rule, violations));
  const chart = createChart();
  timeline.draw(chart);
  return chart.nodes;
}

function tableOf(title, rows) {
  if (rows.length === 0) {
    return [element('p', {}, `${title}: none`)];
  }
  const columns = Object.keys(rows[0]);
  const cells = rows.slice(0, MOST_ROWS).map((row) => columns.map((column) => cell(column, row[column])));
  return [createTable(title, columns.map(words), cells),
    rows.length > MOST_ROWS && element('p', {}, `and ${rows.length - MOST_ROWS} more; the CSV has all`)];
}

function words(key) {
  return key.replaceAll('_', ' ');
}

function cell(column, value) {
  if (INSTANTS.includes(column) && value !== null) {
    return time(value);
  }
  if (typeof value === 'number') {
    return number(value);
  }
  return value === null || value === undefined ? '–' : visible(typeof value === 'object' ? JSON.stringify(value) : value).slice(0, 300);
}
