import { element, setChildren, setHidden, setText } from '../dom/dom.js';
import { count, shortened } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { data, missing } from '../data/store.js';
import { MOST_ACTIVE, MOST_RESOLVED } from '../data/violations.js';
import { address } from './navigation.js';
import { openStory } from './story.js';
import { createGroup, groupsOf } from './violation.js';

const MOST_GROUPS = 50;

/** The violations with filters, by user and rule: the active ones first, each kind newest first. `#/violations/ID` opens the story of one in a dialog. */
export function violationsView(route) {
  const summary = element('p', { id: 'summary', class: 'facts' });
  const list = element('div');
  const more = element('button', { type: 'button', onclick: showMore }, 'Show more');
  const filters = createFilters(changed);
  const node = element('div', {},
    element('h1', { tabindex: '-1' }, 'Violations'), filters.node, summary, list, element('p', {}, more));
  let shownCount = MOST_GROUPS;
  let story = null;

  function update() {
    const all = data.violations ?? [];
    filters.update();
    const matching = all.filter(filters.matches);
    const groups = groupsOf(matching);
    setText(summary, describe(all, matching));
    showList(list, groups.slice(0, shownCount), ({ key }) => key, () => createGroup());
    setHidden(more, groups.length <= shownCount);
    story?.update();
  }

  function describe(all, matching) {
    if (data.violations === null) {
      return `The violations: ${missing('violations')}.`;
    }
    const limits = limitText(all, 'active', MOST_ACTIVE) + limitText(all, 'resolved', MOST_RESOLVED);
    return `${count(matching.length, 'violation')}, ${countOf(matching, 'active')} active.${limits}`;
  }

  function showMore() {
    shownCount += MOST_GROUPS;
    update();
  }

  function changed() {
    history.replaceState(null, '', address('violations', null, filters.values()));
    shownCount = MOST_GROUPS;
    update();
  }

  function accept({ name, argument, parameters }) {
    if (name !== 'violations') {
      return false;
    }
    if (argument === null || parameters.size > 0) { // the address of a story leaves the filters as they are
      filters.set(parameters);
    }
    if (argument !== null && story?.id !== argument) {
      story?.close();
      story = openStory(argument, () => closed(argument));
    } else if (argument === null) {
      story?.close();
    }
    return true;
  }

  /** Leaves the address of the story if the dialog was closed, and not if another address has closed it. */
  function closed(id) {
    if (story?.id === id) {
      story = null;
    }
    if (location.hash.startsWith(address('violations', id))) {
      history.replaceState(null, '', address('violations', null, filters.values()));
    }
  }

  accept(route);
  return { title: 'Violations', node, update, accept, close: () => story?.close() };
}

function limitText(violations, status, most) {
  return countOf(violations, status) >= most ? ` Only the newest ${most} ${status} ones are here.` : '';
}

function countOf(violations, status) {
  return violations.filter((violation) => violation.status === status).length;
}
/** The filters of the violations. They are part of the address, so a filtered list can be given to other people. */
function createFilters(changed) {
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
