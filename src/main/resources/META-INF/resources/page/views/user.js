import { element, setChildren, setHidden, setText, showValue } from '../dom/dom.js';
import { clock, count, memory, name, shortened } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { getJson } from '../data/api.js';
import { Poller } from '../data/poller.js';
import { keepSameItems } from '../data/changes.js';
import { changed, data } from '../data/store.js';
import { ruleAdvice, ruleTitle, withCode } from './rules.js';
import { createViolation } from './violation.js';

const INTERVAL_SECONDS = 5;

/** What one user has, and what the service has done and will do. Its address can be given to that user. */
export function userView(route) {
  const user = route.argument ?? '';
  const facts = element('p', { class: 'facts', role: 'status' }, 'No answer yet.');
  const error = element('p', { class: 'error', role: 'alert' });
  const devices = element('ul', { class: 'held' });
  const processes = element('ul', { class: 'held' });
  const active = element('ol', { class: 'violations' });
  const resolved = element('ol', { class: 'violations' });
  const advice = element('ul');
  const sections = [
    section('GPUs', devices, 'No GPU is attached to an environment of this user.'),
    section('Processes', processes, 'No process of this user is on a GPU.'),
    section('Active violations', active, 'No rule is broken.'),
    section('What to do', advice, null),
    section('Earlier violations', resolved, null),
  ];
  const node = element('div', {}, element('h1', { tabindex: '-1' }, 'User ', name(user)), error, facts, sections.map(({ node: its }) => its));
  let report = null;
  let violations = [];

  const path = `/users/${encodeURIComponent(user.toWellFormed())}`;
  const poller = new Poller(() => getJson(path), INTERVAL_SECONDS, (json) => {
    report = json ?? report;
    violations = keepSameItems(violations, report?.violations ?? [], (violation) => violation.id);
    changed();
  });

  function update() {
    const isFailing = poller.isFailing();
    setText(error, isFailing ? errorText(poller) : '');
    setHidden(error, !isFailing);
    if (report !== null) {
      setText(facts, factsOf(report));
      const now = violations.filter((violation) => violation.status === 'active');
      showList(devices, report.devices, (device) => `${device.host} ${device.device} ${device.environment}`, createDevice);
      showList(processes, report.processes, ({ host, process }) => `${host} ${process.pid} ${process.start_time}`, createProcess);
      showList(active, now, (violation) => violation.id, createViolation);
      showList(advice, adviceFor(new Set(now.map((violation) => violation.rule))), ({ rule }) => rule, createAdvice);
      showList(resolved, violations.filter((violation) => violation.status !== 'active'), (violation) => violation.id, createViolation);
    }
    sections.forEach((one) => one.update(report !== null));
  }

  poller.start();
  return {
    title: `User ${shortened(user, 80)}`,
    node,
    update,
    accept: (next) => next.name === 'users' && (next.argument ?? '') === user,
    close: () => poller.stop(),
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

function errorText({ error, lastAnswer }) {
  const reason = error?.message ?? 'the service does not answer';
  return lastAnswer === null ? reason : `${reason}. What you see is from ${clock(new Date(lastAnswer).toISOString())}.`;
}

function factsOf({ devices_held: held, device_limit: limit }) {
  const mode = data.policy?.mode === 'audit' ? ' The service is in audit mode: it only reports.' : '';
  return limit === null ? `Holds ${count(held, 'GPU')}. There is no limit.${mode}` : `Holds ${held} of at most ${count(limit, 'GPU')}.${mode}`;
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
    devices.map(({ device, used_bytes: bytes }) => ` · GPU ${device}: ${memory(bytes === null ? null : bytes / 1_048_576)}`));
  return { node, update };
}

function adviceFor(rules) {
  return [...rules].map((rule) => ({ rule, title: ruleTitle(rule), advice: ruleAdvice(rule) }));
}

function createAdvice() {
  const node = element('li');
  const update = (item) => showValue(node, item, ({ title, advice }) => [element('strong', {}, title), ': ', withCode(advice)]);
  return { node, update };
}
