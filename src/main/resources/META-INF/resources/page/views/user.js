import { element, setChildren, setHidden, setText } from '../dom/dom.js';
import { bytes, count, name, shortened, time } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { getJson } from '../data/api.js';
import { keepSameItems } from '../data/changes.js';
import { changed, data } from '../data/store.js';
import { createReader } from './answer.js';
import { LIMITED, limitText } from './rules.js';
import { createGroup, groupsOf } from './violation.js';

/** What one user has, and what the service has done and will do. Its address can be given to that user. */
export function userView(user) {
  const facts = element('p', { class: 'facts', role: 'status' });
  const limits = element('ul', { class: 'held exact' });
  const devices = element('ul', { class: 'held' });
  const processes = element('ul', { class: 'held' });
  const active = element('div');
  const resolved = element('div');
  const sections = [
    section('Limits', limits, null),
    section('GPUs', devices, 'No GPU is attached to an environment of this user.'),
    section('Processes', processes, 'No process of this user is on a GPU.'),
    section('Active violations', active, 'No rule is broken.'),
    section('Earlier violations', resolved, null),
  ];
  let report = null;
  let violations = [];
  const path = `/users/${encodeURIComponent(user.toWellFormed())}`;
  const reader = createReader(() => getJson(path), (json) => {
    report = json;
    violations = keepSameItems(violations, report.violations, (violation) => violation.id);
    changed();
  });
  const node = element('div', {}, element('h1', { tabindex: '-1' }, 'User ', name(user)), reader.node, facts, sections.map(({ node: its }) => its));

  function update() {
    reader.update();
    if (report !== null) {
      setText(facts, factsOf(report));
      showList(limits, report.limits, ({ rule }) => rule, createLimit);
      showList(devices, report.devices, (device) => `${device.host} ${device.device} ${device.environment}`, createDevice);
      showList(processes, report.processes, ({ host, process }) => `${host} ${process.pid} ${process.start_time}`, createProcess);
      const isActive = (violation) => violation.status === 'active';
      showList(active, groupsOf(violations.filter(isActive)), ({ key }) => key, () => createGroup({ isOfUser: true, hasAdvice: true }));
      showList(resolved, groupsOf(violations.filter((one) => !isActive(one))), ({ key }) => key, () => createGroup({ isOfUser: true }));
    }
    sections.forEach((one) => one.update(report !== null));
  }
  return {
    title: `User ${shortened(user, 80)}`,
    node,
    update,
    accept: ({ argument }) => argument === user,
    close: reader.close,
  };
}

/** A list with a heading; without entries it says so, or is not shown. */
function section(title, list, empty) {
  const none = element('p', {}, empty);
  const node = element('section', {}, element('h2', {}, title), none, list);
  return {
    node,
    update: (isKnown) => {
      const isEmpty = list.childElementCount === 0;
      setHidden(node, !isKnown || (isEmpty && empty === null));
      setHidden(none, !isEmpty);
      setHidden(list, isEmpty);
    },
  };
}

function factsOf({ devices_held: held, device_limit: limit, limits }) {
  const mode = data.policy?.mode === 'audit' ? ' The service is in audit mode: it only reports.' : '';
  const isUnknown = limits.some(({ rule, state }) => rule === LIMITED[0].rule && state === 'unknown');
  return limit === null ? `Holds ${count(held, 'GPU')}. ${isUnknown ? 'The limit is unknown.' : 'There is no limit.'}${mode}`
    : `Holds ${held} of at most ${count(limit, 'GPU')}.${mode}`;
}

/** A limit, and why it is not another one. */
function createLimit() {
  const node = element('li');
  const update = ({ rule, state, limit, because, source, until }) => setChildren(node, LIMITED.find((its) => its.rule === rule)?.title ?? rule, ': ',
    state === 'known' ? [limitText(limit), ' · ', shortened(because), until && [', until ', time(until)], source && ` (${shortened(source)})`]
      : state === 'unknown' ? `unknown · ${because}` : 'no limit');
  return { node, update };
}

function createDevice() {
  const node = element('li');
  const update = (device) => setChildren(node, name(device.host), ` · GPU ${device.device} · environment `, name(device.environment, 40),
    device.since && ` · since ${device.since.replace('T', ' ')} (local time of the host)`, !device.counted && ' · does not count for the limit');
  return { node, update };
}

function createProcess() {
  const node = element('li');
  const update = ({ host, environment, devices, process }) => setChildren(node, name(host), ` · pid ${process.pid} `, name(process.command),
    environment !== null && [' · environment ', name(environment, 40)],
    devices.map(({ device, used_bytes: used }) => ` · GPU ${device}: ${bytes(used)}`));
  return { node, update };
}
