import { element } from '../dom/dom.js';
import { count, name, number, shortened, time } from '../dom/format.js';
import { createTable } from '../dom/table.js';
import { address } from './navigation.js';

const MOST = 200;

/** The result of a plan as `{text, nodes}`: how much it would do now, and to whom, with each action. */
export function showPlan({ violations, actions }) {
  const byUser = new Map();
  violations.forEach(({ user }) => byUser.set(user, (byUser.get(user) ?? 0) + 1));
  const rows = [...byUser].sort(([, one], [, other]) => other - one);
  const terminations = actions.filter((action) => action.type === 'terminate').length;
  const text = `Result for now: ${count(violations.length, 'violation')}, ${sums(terminations, actions.length - terminations)}`;
  return { text, nodes: [
    ...table('By user', ['User', 'Violations'], rows.map(([user, violationCount]) => [userLink(user), String(violationCount)])),
    ...list('Violations', violations.map(({ host, message }) => [hostPrefix(host), shortened(message, 300)])),
    ...list('Actions', actions.map((action) => [hostPrefix(action.host), describe(action)])),
  ] };
}

/** The result of a replay: what a policy would have done in the past, by user. */
export function showReplay(replay, period) {
  const { totals, users, instants, from, to, recorded_since: recordedSince, complete } = replay;
  if (from === null) {
    return { nodes: [], text: recordedSince === null ? 'Nothing is recorded yet.' : 'Nothing is recorded in this period.' };
  }
  const text = `Result for ${period}: ${count(totals.users, 'user')}, ${sums(totals.terminations, totals.detachments)}`;
  return { text, nodes: [
    element('p', { class: 'facts' }, `checked at ${number(instants)} instants from `, time(from), ' to ', time(to),
      complete ? '.' : '. A part of the period is missing: it was not read in time, or its records are damaged.'),
    ...table('By user', ['User', 'Terminations', 'Detachments'],
      users.map((user) => [userLink(user.user), String(user.terminations), String(user.detachments)])),
    ...list('Actions', users.flatMap((user) => user.actions).sort((one, other) => Date.parse(one.at) - Date.parse(other.at))
      .map((action) => [time(action.at), ' ', hostPrefix(action.host), describe(action), ' · ', shortened(action.message, 200)])),
  ] };
}

function sums(terminations, detachments) {
  return `${count(terminations, 'termination')}, ${count(detachments, 'detachment')}.`;
}

function table(title, columns, rows) {
  return rows.length === 0 ? [] : [createTable(title, columns, rows.slice(0, MOST)), ...restOf(rows)];
}

function list(title, items) {
  if (items.length === 0) {
    return [];
  }
  return [element('h2', {}, title), element('ul', { class: 'plain' }, items.slice(0, MOST).map((item) => element('li', {}, item))), ...restOf(items)];
}

function restOf(items) {
  return items.length > MOST ? [element('p', {}, `and ${items.length - MOST} more`)] : [];
}

function userLink(user) {
  return user === null ? 'without a known user' : element('a', { href: address('users', user) }, name(user));
}

function hostPrefix(host) {
  return host ? [name(host), ': '] : [];
}

function describe({ type, pid, command, environment, device, devices, rules }) {
  const because = ` (${rules.join(', ')})`;
  return type === 'detach'
    ? ['detach environment ', name(environment, 40), ` from GPU ${device}${because}`]
    : [`terminate process ${pid} `, command ? [name(command), ' '] : [], `on GPU ${(devices ?? []).join(', ')}${because}`];
}
