import { element, setAttribute, setHidden, setText, showValue, svg } from '../dom/dom.js';
import { age, count, memory, name, shortened } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { KINDS } from '../data/devices.js';
import { address, userLink } from './navigation.js';

const COLOURS = 5;
const MOST_COMMANDS = 3;

/** The states of a device, with a sign that needs no colour. */
const STATES = { busy: '● Busy', idle: '◐ Idle', free: '○ Free', unknown: '? Not observed' };

/** A GPU: its state, who uses its memory, what it computes, to whom it is attached, and what is wrong. */
export function createTile(host) {
  const title = element('h3');
  const state = element('p');
  const model = element('p', { class: 'facts' });
  const bar = element('div', { class: 'bar', 'aria-hidden': 'true' }); // the list below says the same in words
  const total = element('p', { class: 'facts' });
  const uses = element('ul', { class: 'uses' });
  const utilization = createUtilization();
  const measured = element('p', { class: 'facts' });
  const attached = element('p', { class: 'facts' });
  const violations = element('p');
  const node = element('li', { class: 'tile' },
    element('div', { class: 'tile-head' }, title, state), model, bar, total, uses, utilization.node, measured, attached, violations);

  function update(device) {
    const { groups, status, state: its } = device;
    const used = groups.reduce((sum, group) => sum + group.mib, 0);
    const size = Math.max(device.total ?? 0, used) || 1;
    setText(title, `GPU ${device.index}`);
    setAttribute(state, 'class', `state ${its}`);
    showValue(state, { its, since: { idle: status?.idle_since, free: status?.free_since }[its] ?? null }, stateOf);
    showText(model, shortened(status?.model ?? ''));
    showList(bar, groups.map((group) => ({ group, share: group.mib / size })), ({ group }) => group.key, createSegment);
    setText(total, totalOf(device, used));
    showList(uses, groups, (group) => group.key, createUse);
    utilization.update(status);
    showText(measured, measuredOf(status));
    setHidden(attached, device.areAttachmentsKnown && device.attachments.length === 0);
    showValue(attached, { attachments: device.attachments, isKnown: device.areAttachmentsKnown }, attachedTo);
    setAttribute(node, 'class', groups.some((group) => KINDS[group.kind]) ? 'tile marked' : 'tile');
    setHidden(violations, device.violations.length === 0);
    showValue(violations, device.violations.length, (number) => violationLink(host, number));
  }
  return { node, update };
}

function showText(node, text) {
  setHidden(node, text === '');
  setText(node, text);
}

function stateOf({ its, since }) {
  return since === null ? [STATES[its]] : [`${STATES[its]} for `, age(since)];
}

/** The utilization as a number and a bar, and that of the last hour as a line. */
function createUtilization() {
  const text = element('span');
  const bar = element('div', { class: 'bar' }, element('div', { class: 'segment' }));
  const line = svg('path');
  const chart = svg('svg', { class: 'line', viewBox: '0 -6 59 112', preserveAspectRatio: 'none', role: 'img' }, line);
  const node = element('div', { class: 'utilization' }, text, element('div', { 'aria-hidden': 'true' }, bar), chart);

  function update(status) {
    const now = status?.utilization ?? null;
    const values = (status?.utilization_last_hour ?? []).filter((value) => value !== null);
    setHidden(node, now === null && values.length === 0);
    setText(text, now === null ? 'Utilization unknown' : `Utilization ${now} %`);
    bar.firstChild.style.flexBasis = `${now ?? 0}%`;
    setHidden(bar.firstChild, !now);
    setAttribute(chart, 'hidden', values.length === 0);
    if (values.length > 0) {
      setAttribute(chart, 'aria-label', `Utilization in the last hour: from ${Math.min(...values)} to ${Math.max(...values)} %`);
      setAttribute(line, 'd', pathOf(status.utilization_last_hour));
    }
  }
  return { node, update };
}

/** The line ends on the right, and has gaps where nothing was measured. */
function pathOf(values) {
  const begin = 60 - values.length;
  return values.map((value, i) => value === null ? '' : `${(values[i - 1] ?? null) === null ? 'M' : 'L'}${begin + i} ${100 - value}h.01`).join('');
}

function measuredOf(status) {
  return [
    typeof status?.power_watts === 'number' && `${Math.round(status.power_watts)} W`,
    typeof status?.temperature === 'number' && `${status.temperature} °C`,
  ].filter(Boolean).join(' · ');
}

function totalOf({ total, areUsesKnown }, used) {
  const amount = areUsesKnown ? memory(used) : `at least ${memory(used)}`;
  return total === null ? `${amount} used` : `${amount} of ${memory(total)}`;
}

function createSegment() {
  const node = element('div');
  return {
    node,
    update: ({ group, share }) => {
      setAttribute(node, 'class', `segment ${group.kind} ${colour(group)}`);
      node.style.flexBasis = `${100 * share}%`;
    },
  };
}

function createUse() {
  const swatch = element('span', { 'aria-hidden': 'true' });
  const owner = element('span');
  const amount = element('span');
  const node = element('li', {}, swatch, owner, amount);
  return {
    node,
    update: (group) => {
      setAttribute(swatch, 'class', `swatch segment ${group.kind} ${colour(group)}`);
      showValue(owner, { user: group.user, isRecorded: group.isRecorded, processes: group.processes }, ownerOf);
      showValue(amount, { ...group, user: null, processes: null }, amountOf);
    },
  };
}

function ownerOf({ user, isRecorded, processes }) {
  const commands = [...new Set(processes.map(({ command }) => command).filter((command) => command))];
  return [
    user !== null && [userLink(user, isRecorded), ' · '],
    commands.slice(0, MOST_COMMANDS).flatMap((command) => [name(command, 40), ' ']),
    processes.length > 0 && [processes.length === 1 ? `(pid ${processes[0].pid})` : `(${processes.length} processes)`, ' · '],
  ];
}

function amountOf({ kind, eid, mib, isPartial }) {
  const amount = isPartial ? `${memory(mib)} and unknown memory` : memory(mib);
  return [amount, eid !== null && [' · environment ', name(eid, 40)], KINDS[kind] && [' ', element('strong', { class: 'mark' }, `⚠ ${KINDS[kind]}`)]];
}

function attachedTo({ attachments, isKnown }) {
  if (!isKnown) {
    return ['Attachments not observed'];
  }
  return ['Attached: ', attachments.map(({ eid, user }, i) => [i > 0 && ', ', user !== null && [userLink(user), ' '], '(', name(eid, 40), ')'])];
}

function violationLink(host, number) {
  return [number > 0
    && element('a', { href: address('violations', null, { status: 'active', host }) }, `⚠ ${count(number, 'active violation')}`)];
}

/** The same user has the same colour on every GPU. */
function colour({ user }) {
  let hash = 0;
  for (const letter of user ?? '') {
    hash = (31 * hash + letter.codePointAt(0)) % 65_521;
  }
  return user === null ? '' : `colour-${hash % COLOURS}`;
}
