import { element, setAttribute, setChildren } from '../dom/dom.js';
import { clock, count, number } from '../dom/format.js';
import { createRows, createTable } from '../dom/table.js';
import { getJson, getText } from '../data/api.js';
import { data } from '../data/store.js';
import { createAnswer } from './answer.js';
import { createChart, Timeline } from './chart.js';
import { address, knownUser } from './navigation.js';
import { ruleTitle } from './rules.js';

const MOST_ROWS = 1000;
/** The hours of a user, in the words of a person: held and not attached are as much as computing, unknown and idle. */
const HOURS = [
  ['held_device_hours', 'Held'],
  ['present_device_hours', 'With a process'],
  ['used_device_hours', 'Computing'],
  ['idle_device_hours', 'Idle'],
  ['unknown_device_hours', 'Utilization unknown'],
  ['unattached_device_hours', 'Not attached'],
];
const nameOf = ({ user }) => knownUser(user);
const COUNTS = [
  ['violations', 'Violations', 'violation'],
  ['terminations', 'Terminations', 'termination'],
  ['detachments', 'Detachments', 'detachment'],
];

/** Who held and used how much in a period, and which rules were broken. Without a period it shows this week. */
export function reportView(route) {
  const from = date('from');
  const to = date('to');
  const periods = element('ul', { class: 'counts' });
  let links = [];
  let today = null;
  const form = element('form', { class: 'filters' },
    element('div', {}, element('label', { for: 'from' }, 'From'), from),
    element('div', {}, element('label', { for: 'to' }, 'To, included'), to),
    element('button', { type: 'submit', class: 'primary' }, 'Show'));
  const files = element('p', {}, ['usage', 'violations'].map((table) => [createFile(table), ' ']));
  const answer = createAnswer('report', form, { text: 'Loading …', nodes: [] }, async () => {
    const report = await getJson(path());
    return { text: summaryOf(report), nodes: nodesOf(report) };
  });
  const node = element('div', {}, element('h1', { tabindex: '-1' }, 'Report'),
    element('nav', { 'aria-label': 'Periods' }, periods),
    form, files, element('div', { id: 'report' }, answer.nodes));

  function path() {
    return `/report?${new URLSearchParams({ from: from.value, to: to.value })}`;
  }

  function createFile(table) {
    const title = table === 'usage' ? 'GPU hours as CSV' : 'Violations as CSV';
    return element('a', { href: '/report', onclick: (event) => download(event, table) }, title);
  }

  /** A link cannot send the token, so the file is read first. */
  async function download(event, table) {
    event.preventDefault();
    await answer.attempt({ text: 'Downloading …' }, async () => {
      save(await getText(`${path()}&table=${table}`, 'text/csv'), `genv-${table}-${from.value}-${to.value}.csv`);
      return { text: 'Downloaded.' };
    });
  }

  function accept(next) {
    answer.accept(next);
    [...files.children].forEach((link, i) => setAttribute(link, 'href', `${path()}&format=csv&table=${['usage', 'violations'][i]}`));
    return true;
  }

  /** The service says which day it is there. Until then nobody knows what this week is. */
  function update() {
    if (data.status !== null && data.status.today !== today) {
      today = data.status.today;
      links = presets(today).map(([title, first, last]) => element('a', { href: address('report', null, { from: first, to: last }) }, title));
      setChildren(periods, links.map((link) => element('li', {}, link)));
    }
    if (links.length > 0 && !location.hash.includes('?')) {
      location.replace(links[1].hash);
    }
    links.forEach((link) => setAttribute(link, 'aria-current', link.hash === location.hash ? 'true' : null));
  }

  accept(route);
  return { title: 'Report', node, update, accept };
}

/** The usual periods: title, first and last day. */
function presets(today) {
  const date = new Date(today); // its begin in UTC, so that all days have 24 hours
  const back = (days) => new Date(date - 86_400_000 * days).toISOString().slice(0, 10);
  const weekday = (date.getUTCDay() + 6) % 7;
  return [
    ['Today', today, today],
    ['This week', back(weekday), today],
    ['Last week', back(weekday + 7), back(weekday + 1)],
    ['Last 7 days', back(6), today],
    ['This month', back(date.getUTCDate() - 1), today],
  ];
}

function date(name) {
  return element('input', { type: 'date', id: name, name, required: true, max: '9999-12-31' });
}

function save(text, fileName) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  element('a', { href: url, download: fileName }).click();
  URL.revokeObjectURL(url);
}

function summaryOf({ users, complete, from, recorded_since: hoursSince, events_recorded_since: eventsSince }) {
  const known = users.filter(({ user }) => user !== null).length;
  const cut = complete ? '' : ' A part of the period is missing: it was not read in time, or its records are damaged.';
  return `Report of ${count(known, 'user')}.${cut}${missingText('Hours', hoursSince, from)}${missingText('Violations and actions', eventsSince, from)}`;
}

function missingText(what, since, from) {
  if (since === null) {
    return ` ${what} are not recorded.`;
  }
  return Date.parse(since) > Date.parse(from) ? ` ${what} before ${clock(since)} are not recorded.` : '';
}

function nodesOf(report) {
  const { users, hosts, rules } = report;
  const columns = HOURS.filter(([key], i) => i < 4 || sum(users, key) > 0);
  const hours = columns.map(([key, title]) => [number(sum(users, key)), `hours ${title.toLowerCase()}`]);
  const all = sum(users, 'held_device_hours') + sum(users, 'unattached_device_hours');
  const wasted = all === 0 ? 0 : Math.round(100 * sum(users, 'idle_device_hours') / all);
  hours[3][1] += ` (${wasted} %)`;
  return [
    element('ul', { class: 'counts totals' }, [...hours, ...COUNTS.map(([key, , one]) => [number(sum(users, key)), sum(users, key) === 1 ? one : `${one}s`])]
      .map(([value, title]) => element('li', {}, element('strong', {}, value), ` ${title}`))),
    tableOf('By user', 'User', [...columns, ...COUNTS], users.toSorted((one, other) => other.idle_device_hours - one.idle_device_hours), nameOf),
    element('h2', {}, 'Violations over time'),
    chartOf(report),
    tableOf('By user and rule', 'User', [['rule', 'Rule'], ...COUNTS], rules.map((row) => ({ ...row, rule: ruleTitle(row.rule) })), nameOf),
    hosts.length > 1 && tableOf('By user and host', 'User', [['host', 'Host'], ...columns], report.usage, nameOf),
    tableOf('By host', 'Host', [['observed_hours', 'Hours observed']], hosts, ({ host }) => host),
  ];
}

/** A table of a list, with the sums of its numbers where it has several rows. */
function tableOf(title, first, columns, rows, head) {
  if (rows.length === 0) {
    return element('p', {}, `${title}: none`);
  }
  const cells = rows.slice(0, MOST_ROWS).map((row) => [head(row), ...columns.map(([key]) => row[key])]);
  const sums = [['All', ...columns.map(([key]) => typeof rows[0][key] === 'number' ? sum(rows, key) : '')]];
  return [createTable(title, [first, ...columns.map(([, column]) => column)], createRows(cells), rows.length > 1 && createRows(sums, 'tfoot')),
    rows.length > MOST_ROWS && element('p', {}, `and ${rows.length - MOST_ROWS} more; the CSV has all`)];
}

function sum(rows, key) {
  return rows.reduce((total, row) => total + row[key], 0);
}

function chartOf(report) {
  const timeline = new Timeline(Date.parse(report.from), Date.parse(report.to));
  // The middle of a part, because its begin is rounded.
  report.timeline.forEach(({ from, rule, violations }) => timeline.add(Date.parse(from) + timeline.length / 2, rule, violations));
  const chart = createChart();
  timeline.draw(chart);
  return chart.nodes;
}
