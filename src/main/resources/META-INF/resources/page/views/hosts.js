import { element, setHidden, setText } from '../dom/dom.js';
import { showList } from '../dom/list.js';
import { keepSame } from '../data/changes.js';
import { userOf } from '../data/devices.js';
import { data } from '../data/store.js';
import { createHost } from './host.js';
import { address } from './navigation.js';

/** All hosts with their GPUs. */
export function hostsView(route) {
  const search = element('input', { type: 'search', id: 'host-search', autocomplete: 'off' });
  const trouble = element('input', { type: 'checkbox', id: 'host-trouble' });
  const empty = element('p', { class: 'empty' });
  const list = element('div', { class: 'hosts' });
  const node = element('div', {},
    element('h1', { tabindex: '-1' }, 'Hosts'),
    element('form', { class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault() },
      element('div', {}, element('label', { for: 'host-search' }, 'Host or user'), search),
      element('div', { class: 'check' }, trouble, element('label', { for: 'host-trouble' }, 'Only hosts with problems or violations'))),
    empty, list);
  let items = new Map();

  function update() {
    items = new Map((data.hosts ?? []).map((report) => [report.host, itemOf(report, items.get(report.host))]));
    const shown = [...items.values()].filter((item) => matches(item, search.value.trim(), trouble.checked));
    setText(empty, data.hosts === null ? 'No answer yet.' : items.size > 0 ? 'No host matches.' : emptyText());
    setHidden(empty, shown.length > 0);
    showList(list, shown, (item) => item.report.host, createHost);
  }

  function accept({ name, parameters }) {
    search.value = parameters.get('search') ?? '';
    trouble.checked = parameters.has('trouble');
    return name === 'hosts';
  }

  function filter() {
    history.replaceState(null, '', address('hosts', null, { search: search.value.trim(), trouble: trouble.checked && 'true' }));
    update();
  }
  search.addEventListener('input', filter);
  trouble.addEventListener('change', filter);
  accept(route);
  return { title: 'Hosts', node, update, accept, usesSnapshot: true };
}

/** A cycle that failed has no hosts. */
function emptyText() {
  if (data.status?.error) {
    return 'The last cycle failed.';
  }
  return data.status?.last_cycle_at ? 'The service has no hosts.' : 'No cycle has ended yet.';
}

/** Keeps the item of the last time if nothing in it has changed. */
function itemOf(report, before) {
  const active = (data.violations ?? []).filter((violation) => violation.status === 'active' && violation.host === report.host);
  const violations = keepSame(before?.violations, active);
  const snapshot = data.snapshot?.[report.host] ?? null;
  const isSame = before?.report === report && before.violations === violations && before.snapshot === snapshot;
  return isSame ? before : { report, violations, snapshot };
}

function matches({ report, snapshot, violations }, text, onlyTrouble) {
  const hasTrouble = report.status !== 'ok' || violations.length > 0
    || report.problems.length > 0 || report.missing_privileges.length > 0;
  if (onlyTrouble && !hasTrouble) {
    return false;
  }
  return text === '' || report.host.includes(text)
    || (snapshot?.envs.envs ?? []).some((environment) => userOf(environment).includes(text));
}
