import { element, setAttribute, setHidden, setText } from '../dom/dom.js';
import { clock, count, name } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { runSoon } from '../dom/slices.js';
import { isSame, keepSameItems } from '../data/changes.js';
import { devicesOf } from '../data/devices.js';
import { createTile } from './tile.js';

const STATUS = { ok: '✓ ok', degraded: '⚠ degraded', unreachable: '✕ unreachable' };

/** A host with its GPUs. */
export function createHost({ report }) {
  const status = element('span', { class: 'status' });
  const facts = element('p', { class: 'facts' });
  const problems = element('ul', { class: 'problems' });
  const privileges = element('p', { class: 'problems' });
  const tiles = element('ul', { class: 'tiles' });
  const node = element('section', { class: 'host', 'aria-label': `Host ${report.host}` },
    element('h2', {}, name(report.host), ' ', status), facts, problems, privileges, tiles);
  let devices = [];
  let shown = {};

  function draw({ report: { device_status: statuses = [] }, snapshot, violations }) {
    const models = snapshot === null ? [] : devicesOf(snapshot).map((device) => ({
      ...device,
      status: statuses.find((status) => status.device === device.index) ?? null,
      violations: violations.filter((violation) => violation.devices.includes(device.index)).map(({ id }) => id),
    }));
    devices = keepSameItems(devices, models, (device) => device.index);
    showList(tiles, devices, (device) => device.index, () => createTile(report.host));
  }

  function update(item) {
    setText(status, STATUS[item.report.status] ?? item.report.status);
    setAttribute(status, 'class', `status ${item.report.status}`);
    setText(facts, factsOf(item.report));
    showList(problems, item.report.problems, ({ code, detail }) => `${code} ${detail}`, createProblem);
    setHidden(problems, item.report.problems.length === 0);
    setHidden(privileges, item.report.missing_privileges.length === 0);
    setText(privileges, `Missing privileges: ${item.report.missing_privileges.join(', ')}`);
    const isChanged = shown.snapshot !== item.snapshot || shown.violations !== item.violations
      || !isSame(shown.report?.device_status, item.report.device_status);
    if (isChanged) {
      runSoon(node, () => draw(item));
    }
    shown = item;
  }
  return { node, update };
}

function createProblem({ code, detail }) {
  const node = element('li', {}, element('strong', {}, code), ' ', element('bdi', {}, detail));
  return { node, update: () => {} };
}

function needsMetrics(report) {
  return report.devices > 0 && report.device_status.length === 0 && report.problems.every(({ code }) => code !== 'device_status_unknown');
}

function factsOf(report) {
  return [
    count(report.devices, 'GPU'),
    count(report.processes, 'process', 'processes'),
    count(report.environments, 'environment'),
    report.driver && `driver ${report.driver}`,
    needsMetrics(report) && 'GENV_ENFORCER_GENV_METRICS shows utilization and temperature',
    report.last_observed ? `last observed ${clock(report.last_observed)}` : 'never observed',
  ].filter(Boolean).join(' · ');
}
