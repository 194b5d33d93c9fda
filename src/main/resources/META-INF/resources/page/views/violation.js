import { element, setAttribute, setHidden, setText, showValue } from '../dom/dom.js';
import { count, due, name, shortened, time } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { address, knownUser } from './navigation.js';
import { nameOfAction, reasonOf, ruleAdvice, ruleTitle, withCode } from './rules.js';

const LONGEST_MESSAGE = 300;
const MOST_LINES = 5;

/** Violations by user and rule, in the order of the first of each. */
export function groupsOf(violations) {
  const groups = Map.groupBy(violations, ({ user, rule }) => JSON.stringify([user, rule]));
  return [...groups].map(([key, its]) => ({ key, violations: its, user: its[0].user, rule: its[0].rule }));
}

/** A group of violations, one line each; of many only the first until the reader asks for all. */
export function createGroup({ isOfUser = false, hasAdvice = false } = {}) {
  const title = element(isOfUser ? 'h3' : 'h2');
  const total = element('p', { class: 'facts' });
  const advice = element('p', {});
  const list = element('ol', { class: 'violations' });
  const more = element('button', { type: 'button', onclick: () => showAll() });
  const node = element('section', { class: 'group' }, title, total, advice, list, more);
  let group = null;
  let most = MOST_LINES;

  function update(next) {
    group = next;
    const { violations, user, rule } = group;
    const active = violations.filter(({ status }) => status === 'active').length;
    showValue(title, { user, name: ruleTitle(rule) }, (its) => [!isOfUser && [knownUser(its.user), ' · '], its.name]);
    setText(total, `${rule} · ${count(violations.length, 'violation')}${active > 0 ? `, ${active} active` : ''}`);
    setHidden(advice, !hasAdvice);
    showValue(advice, hasAdvice ? ruleAdvice(rule) : '', withCode);
    showList(list, violations.slice(0, most), ({ id }) => id, createViolation);
    setHidden(more, violations.length <= most);
    setText(more, `Show all ${violations.length}`);
  }

  function showAll() {
    most = Infinity;
    update(group);
    list.children[MOST_LINES].querySelector('a').focus(); // the button is gone
  }
  return { node, update };
}

/** One line, with a link to the story. */
function createViolation() {
  const status = element('span', { class: 'badge' });
  const at = element('span', { class: 'at' });
  const link = element('a', { class: 'message' });
  const where = element('span', { class: 'facts' });
  const done = element('span', { class: 'done' });
  const node = element('li', { class: 'violation' }, status, at, link, where, done);

  function update(violation) {
    const { id, host, devices, processes, mode, actions, next } = violation;
    setAttribute(node, 'class', `violation ${violation.status}`);
    setText(status, mode === 'audit' ? `${violation.status}, audit` : violation.status);
    showValue(at, violation.first_seen, (instant) => [time(instant)]);
    setAttribute(link, 'href', address('violations', id));
    setText(link, shortened(violation.message, LONGEST_MESSAGE));
    showValue(where, { host, devices, commands: [...new Set(processes.map(({ command }) => command))].slice(0, 3) }, whereOf);
    showValue(done, { mode, last: actions.at(-1), next: next?.[0] }, doneOf);
  }
  return { node, update };
}

function whereOf({ host, devices, commands }) {
  return [host && name(host), devices.length > 0 && `${host ? ' · ' : ''}GPU ${devices.join(', ')}`, commands.map((command) => [' · ', name(command, 40)])];
}

/** What follows, or else what was done last. */
function doneOf({ mode, last, next }) {
  if (next !== undefined) {
    return [`Next: ${next.type === 'detach' ? 'detach' : `SIG${next.signal}`} `, due(next.not_before), ` (${reasonOf(next)})`];
  }
  if (last === undefined) {
    return [mode === 'audit' ? 'Reported only' : 'No action'];
  }
  return [nameOfAction(last), last.detail && ` (${shortened(last.detail, 100)})`];
}
