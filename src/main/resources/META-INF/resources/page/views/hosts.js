import { element, setAttribute, setHidden, setText, showValue } from '../dom/dom.js';
import { count, name, time } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { runSoon } from '../dom/slices.js';
import { keepSame, keepSameItems } from '../data/changes.js';
import { devicesOf, KINDS } from '../data/devices.js';
import { data, missing } from '../data/store.js';
import { address } from './navigation.js';
import { createTile } from './tile.js';

const STATUS = { ok: '✓ ok', degraded: '⚠ degraded', unreachable: '✕ unreachable' };

/** The filters: key, title for one and for several, which devices of a host. Each is shown with the number of what it selects. */
const FILTERS = [
  ['', 'GPU', 'GPUs', () => true],
  ['busy', 'busy', 'busy', ({ state }) => state === 'busy'],
  ['idle', 'held and idle', 'held and idle', ({ state }) => state === 'idle'],
  ['free', 'free', 'free', ({ state }) => state === 'free'],
  ['unknown', 'not observed', 'not observed', ({ state }) => state === 'unknown'],
  ['violations', 'active violation', 'active violations', ({ violations }) => violations.length > 0],
  ['problems', 'host with problems', 'hosts with problems', (device, host) => hasProblem(host)],
];
const ALWAYS_SHOWN = ['', 'busy', 'idle', 'free', 'violations'];

/** All hosts with their GPUs. */
export function hostsView(route) {
  const search = element('input', { type: 'search', id: 'host-search', autocomplete: 'off' });
  const counts = element('ul', { class: 'counts' });
  const empty = element('p', { class: 'empty' });
  const list = element('div', { class: 'hosts' });
  const node = element('div', {},
    element('h1', { tabindex: '-1' }, 'GPUs'),
    element('nav', { 'aria-label': 'Filters' }, counts),
    element('form', { class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault() },
      element('div', {}, element('label', { for: 'host-search' }, 'Host, GPU, model, user or command'), search)),
    empty, list);
  let items = new Map();
  let show = '';

  function update() {
    items = new Map((data.hosts ?? []).map((report) => [report.host, itemOf(report, items.get(report.host))]));
    const text = search.value.trim().toLowerCase();
    const shown = [...items.values()].map((item) => selectionOf(item, text, show)).filter((item) => item !== null);
    showList(counts, countsOf([...items.values()], text, show), ({ key }) => key, createCount);
    setText(empty, data.hosts === null ? `The hosts: ${missing('hosts')}.` : items.size > 0 ? 'No GPU matches.' : emptyText());
    setHidden(empty, shown.length > 0);
    showList(list, shown, (item) => item.report.host, createHost);
  }

  function accept({ name: view, parameters }) {
    search.value = parameters.get('search') ?? '';
    show = FILTERS.some(([key]) => key === parameters.get('show')) ? parameters.get('show') : '';
    return view === 'hosts';
  }

  search.addEventListener('input', () => {
    history.replaceState(null, '', address('hosts', null, { search: search.value.trim(), show }));
    update();
  });
  accept(route);
  return { title: 'GPUs', node, update, accept, usesSnapshot: true };
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
  if (before?.report === report && before.violations === violations && before.snapshot === snapshot) {
    return before;
  }
  const devices = snapshot === null ? [] : devicesOf(snapshot, report.device_status).map((device) => ({
    ...device,
    text: textOf(report.host, device),
    violations: violations.filter((violation) => violation.devices.includes(device.index)).map(({ id }) => id),
  }));
  return { report, violations, snapshot, devices: keepSameItems(before?.devices, devices, (device) => device.index) };
}

/** The item with the devices that match; null if the host is not shown. */
function selectionOf(item, text, show) {
  const [, , , isSelected] = FILTERS.find(([key]) => key === show);
  if (text === '' && show === '') {
    return item;
  }
  const devices = item.devices.filter((device) => isSelected(device, item) && device.text.includes(text));
  const isShown = devices.length > 0 || (item.report.host.toLowerCase().includes(text) && (show === '' || (show === 'problems' && hasProblem(item))));
  return isShown ? { ...item, devices } : null;
}

/** What a search finds in a device. */
function textOf(host, { index, status, groups, attachments }) {
  const texts = [host, `gpu ${index}`, status?.model, ...attachments.map(({ user }) => user),
    ...groups.flatMap(({ kind, user, eid, processes }) => [KINDS[kind], user, eid, ...processes.map(({ command }) => command)])];
  return [...new Set(texts)].join('\n').toLowerCase();
}

function hasProblem({ report }) {
  return report.status !== 'ok' || report.problems.length > 0 || report.missing_privileges.length > 0;
}

/** Devices are counted, except for violations, which need not concern a device, and for hosts. What has not answered has no number. */
function countsOf(items, text, show) {
  const absence = (key) => (key === 'violations' ? missing('violations') : key === 'problems' ? missing('hosts') : missing('hosts', 'snapshot'));
  const total = (key, isSelected) => {
    if (absence(key) !== null) {
      return null;
    }
    if (key === 'violations') {
      return (data.violations ?? []).filter(({ status }) => status === 'active').length;
    }
    return key === 'problems' ? items.filter(hasProblem).length
      : items.reduce((sum, item) => sum + item.devices.filter((device) => isSelected(device, item)).length, 0);
  };
  return FILTERS.map(([key, one, several, isSelected]) => ({ key, one, several, text, isCurrent: key === show, absence: absence(key), total: total(key, isSelected) }))
    .filter(({ key, total: number, isCurrent }) => ALWAYS_SHOWN.includes(key) || number > 0 || isCurrent);
}

function createCount({ key, one, several }) {
  const number = element('strong');
  const title = element('span');
  const link = element('a', {}, number, ' ', title);
  return {
    node: element('li', { class: key && `count-${key}` }, link),
    update: ({ text, isCurrent, absence, total }) => {
      setText(number, total === null ? '' : String(total));
      setText(title, total === null ? `${several}: ${absence}` : total === 1 ? one : several);
      setAttribute(link, 'href', address('hosts', null, { search: text, show: key }));
      setAttribute(link, 'aria-current', isCurrent ? 'true' : null);
    },
  };
}

/** A host with its GPUs. */
function createHost({ report: { host } }) {
  const status = element('span', { class: 'status' });
  const facts = element('p', { class: 'facts' });
  const problems = element('ul', { class: 'problems' });
  const privileges = element('p', { class: 'problems' });
  const tiles = element('ul', { class: 'tiles' });
  const node = element('section', { class: 'host', 'aria-label': `Host ${host}` },
    element('h2', {}, name(host), ' ', status), facts, problems, privileges, tiles);

  function update({ report, devices }) {
    setText(status, STATUS[report.status] ?? report.status);
    setAttribute(status, 'class', `status ${report.status}`);
    showValue(facts, [report.devices, report.processes, report.environments, report.driver, report.last_observed], factsOf);
    showList(problems, report.problems, ({ code, detail }) => `${code} ${detail}`, createProblem);
    setHidden(problems, report.problems.length === 0);
    setHidden(privileges, report.missing_privileges.length === 0);
    setText(privileges, `Missing privileges: ${report.missing_privileges.join(', ')}`);
    runSoon(node, () => showList(tiles, devices, (device) => device.index, () => createTile(host)));
  }
  return { node, update };
}

function createProblem({ code, detail }) {
  const node = element('li', {}, element('strong', {}, code), ' ', element('bdi', {}, detail));
  return { node, update: () => {} };
}

/** What was not observed has no number. */
function factsOf([devices, processes, environments, driver, lastObserved]) {
  const counts = [
    devices === null ? 'GPUs not known' : count(devices, 'GPU'),
    processes !== null && count(processes, 'process', 'processes'),
    environments !== null && count(environments, 'environment'),
    driver && `driver ${driver}`,
  ];
  return [`${counts.filter(Boolean).join(' · ')} · `, lastObserved ? ['observed ', time(lastObserved)] : 'never observed'];
}
