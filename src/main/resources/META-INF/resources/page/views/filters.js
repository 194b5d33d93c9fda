import { element, setChildren } from '../dom/dom.js';
import { shortened } from '../dom/format.js';
import { data } from '../data/store.js';

/** The filters of the violations. They are part of the address, so a filtered list can be given to other people. */
export function createFilters(changed) {
  const status = select('status', 'Status', changed);
  const rule = select('rule', 'Rule', changed);
  const host = select('host', 'Host', changed);
  const user = select('user', 'User', changed);
  const fields = { status, rule, host, user };
  const node = element('form', { class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault() },
    status.node, rule.node, host.node, user.node);

  function update() {
    const violations = data.violations ?? [];
    status.offer(['active', 'resolved']);
    rule.offer(data.policy?.rules.map(({ name }) => name) ?? distinct(violations, 'rule'));
    host.offer(data.hosts?.map((report) => report.host) ?? distinct(violations, 'host'));
    user.offer(distinct(violations, 'user'));
  }

  function values() {
    return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value()]));
  }

  function matches(violation) {
    return Object.entries(fields).every(([name, field]) => field.value() === '' || violation[name] === field.value());
  }

  function set(parameters) {
    Object.entries(fields).forEach(([name, field]) => field.set(parameters.get(name) ?? ''));
  }
  return { node, update, values, matches, set };
}

/** A choice of one value or all. A chosen value stays, also while no violation has it. */
function select(name, title, changed) {
  const choice = element('select', { id: `filter-${name}`, onchange: () => choose(choice.value) });
  let chosen = '';
  let offered = [];

  function choose(value) {
    chosen = value;
    changed();
  }

  function offer(values) {
    const all = ['', ...new Set([...values, ...(chosen === '' ? [] : [chosen])])];
    if (all.length !== offered.length || all.some((value, i) => value !== offered[i])) {
      offered = all;
      setChildren(choice, all.map((value) => element('option', { value }, value === '' ? 'all' : shortened(value, 60))));
    }
    choice.value = chosen;
  }

  function set(value) {
    chosen = value;
    offer(offered.slice(1));
  }
  return { node: element('div', {}, element('label', { for: `filter-${name}` }, title), choice), offer, set, value: () => chosen };
}

function distinct(violations, field) {
  return [...new Set(violations.map((violation) => violation[field]).filter((value) => value !== null))].sort();
}
