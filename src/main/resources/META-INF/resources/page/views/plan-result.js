import { element } from '../dom/dom.js';
import { count, name, shortened, time } from '../dom/format.js';
import { address } from './navigation.js';

const MOST = 200;

/** The result of a plan: how much it would do, to whom, and each action. */
export function showPlan(plan, period) {
  const actions = plan.actions ?? [];
  const violations = plan.violations ?? [];
  const terminations = actions.filter((action) => action.type === 'terminate').length;
  const detachments = actions.length - terminations;
  return [
    element('h2', {}, `Result for ${period}`),
    element('p', { class: 'result' },
      `${count(violations.length, 'violation')}, ${count(terminations, 'termination')}, ${count(detachments, 'detachment')}.`),
    ...usersOf(violations),
    ...listOf('Violations', violations.map((violation) => element('li', {}, ...hostOf(violation), shortened(violation.message, 300)))),
    ...listOf('Actions', actions.map((action) => element('li', {}, ...describe(action)))),
  ];
}

function usersOf(violations) {
  const byUser = new Map();
  violations.forEach(({ user }) => byUser.set(user, (byUser.get(user) ?? 0) + 1));
  const rows = [...byUser].sort(([, one], [, other]) => other - one).slice(0, MOST);
  return rows.length === 0 ? [] : [element('table', {},
    element('caption', {}, 'By user'),
    element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'User'), element('th', { scope: 'col' }, 'Violations'))),
    element('tbody', {}, rows.map(([user, number]) => element('tr', {}, element('th', { scope: 'row' },
      user === null ? 'without a user' : element('a', { href: address('users', user) }, name(user))), element('td', {}, String(number))))))];
}

function listOf(title, items) {
  if (items.length === 0) {
    return [];
  }
  const rest = items.length > MOST && element('p', {}, `and ${items.length - MOST} more`);
  return [element('h3', {}, title), element('ul', { class: 'plain' }, items.slice(0, MOST)), rest].filter(Boolean);
}

function hostOf({ host, at }) {
  return [at && time(at), at && ' ', host && name(host), host && ': '].filter(Boolean);
}

function describe(action) {
  const rules = ` (${(action.rules ?? []).join(', ')})`;
  return action.type === 'detach'
    ? [...hostOf(action), 'detach environment ', name(action.environment, 40), ` from GPU ${action.device}${rules}`]
    : [...hostOf(action), `terminate process ${action.pid} on GPU ${(action.devices ?? []).join(', ')}${rules}`];
}
