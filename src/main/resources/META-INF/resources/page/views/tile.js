import { element, setAttribute, setHidden, setText, showValue } from '../dom/dom.js';
import { count, memory, name } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { KINDS } from '../data/devices.js';
import { address } from './navigation.js';

const COLOURS = 6;

/** A GPU: who uses its memory, to whom it is attached, and what is wrong. */
export function createTile(host) {
  const title = element('h3');
  const total = element('span', { class: 'total' });
  const bar = element('div', { class: 'bar', 'aria-hidden': 'true' }); // the list below says the same in words
  const measured = element('p', { class: 'measured' });
  const uses = element('ul', { class: 'uses' });
  const attached = element('p', { class: 'attached' });
  const violations = element('p', { class: 'violations-link' });
  const node = element('li', { class: 'tile' },
    element('div', { class: 'tile-head' }, title, total), bar, measured, uses, attached, violations);

  function update(device) {
    const groups = [...device.users, ...device.unexplained];
    const used = groups.reduce((sum, group) => sum + group.mib, 0);
    const size = Math.max(device.total ?? 0, used) || 1;
    setText(title, `GPU ${device.index}`);
    setText(total, totalOf(device, used));
    showList(bar, groups.map((group) => ({ group, share: group.mib / size })), ({ group }) => group.key, createSegment);
    showList(uses, groups, (group) => group.key, createUse);
    const facts = measuredOf(device.status);
    setHidden(measured, facts === '');
    setText(measured, facts);
    showValue(attached, { attachments: device.attachments, isKnown: device.areAttachmentsKnown }, attachedTo);
    setAttribute(node, 'class', groups.some((group) => KINDS[group.kind]) ? 'tile marked' : 'tile');
    setHidden(violations, device.violations.length === 0);
    showValue(violations, device.violations.length, (number) => violationLink(host, number));
  }
  return { node, update };
}

function measuredOf(status) {
  return [
    typeof status?.utilization === 'number' && `Utilization ${status.utilization} %`,
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
      showValue(owner, { user: group.user, eid: group.eid }, ownerOf);
      showValue(amount, { ...group, user: null, eid: null }, amountOf);
    },
  };
}

function ownerOf({ user, eid }) {
  return [
    user !== null && [element('a', { href: address('users', user) }, name(user)), ' · '],
    eid !== null && ['environment ', name(eid, 40), ' · '],
  ];
}

function amountOf(group) {
  const amount = group.isPartial ? `${memory(group.mib)} and unknown memory` : memory(group.mib);
  const mark = KINDS[group.kind] && element('strong', { class: 'mark' }, `⚠ ${KINDS[group.kind]}`);
  const processes = group.pids.length > 0 && ` · ${group.pids.length === 1 ? `pid ${group.pids[0]}` : count(group.pids.length, 'process', 'processes')}`;
  return [amount, processes, mark && ' ', mark];
}

function attachedTo({ attachments, isKnown }) {
  if (!isKnown) {
    return ['Attachments not observed'];
  }
  if (attachments.length === 0) {
    return ['Attached to no environment'];
  }
  return ['Attached: ', ...attachments.flatMap(({ eid, user }, i) => [i > 0 && ', ',
    user !== null && element('a', { href: address('users', user) }, name(user)), user !== null && ' ', '(', name(eid, 40), ')'])];
}

function violationLink(host, number) {
  return number > 0
    && element('a', { href: address('violations', null, { status: 'active', host }) }, `⚠ ${count(number, 'active violation')}`);
}

/** The same environment has the same colour on every GPU. */
function colour(group) {
  let hash = 0;
  for (const letter of group.eid ?? '') {
    hash = (31 * hash + letter.codePointAt(0)) % 65_521;
  }
  return group.eid === null ? '' : `colour-${hash % COLOURS}`;
}
