import { element, setChildren } from '../dom/dom.js';
import { name } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { devicesOf, userOf } from '../data/devices.js';
import { data } from '../data/store.js';
import { RULES, ruleTitle } from './rules.js';
import { createViolation } from './violation.js';

/** What one user has and what the service says about it. Its address can be given to that user. */
export function userView(route) {
  const user = route.argument ?? '';
  const facts = element('p', { class: 'facts' });
  const held = element('ul', { class: 'held' });
  const active = element('ol', { class: 'violations' });
  const resolved = element('ol', { class: 'violations' });
  const noneActive = element('p');
  const advice = element('ul');
  const node = element('div', {},
    element('h1', { tabindex: '-1' }, 'User ', name(user)),
    facts,
    element('h2', {}, 'GPUs'), held,
    element('h2', {}, 'Active violations'), noneActive, active,
    element('h2', {}, 'What to do'), advice,
    element('h2', {}, 'Earlier violations'), resolved);

  function update() {
    const own = (data.violations ?? []).filter((violation) => violation.user === user);
    const now = own.filter((violation) => violation.status === 'active');
    const devices = heldBy(user);
    setChildren(facts, factsOf(user, devices));
    showList(held, devices.length > 0 ? devices : [null], (device) => (device ? `${device.host} ${device.index}` : ''), createHeld);
    setChildren(noneActive, data.violations === null ? 'No answer yet.' : now.length === 0 && 'None. No rule is broken.');
    showList(active, now, (violation) => violation.id, createViolation);
    showList(resolved, own.filter((violation) => violation.status !== 'active'), (violation) => violation.id, createViolation);
    showList(advice, [...new Set(now.map((violation) => violation.rule))], (rule) => rule, createAdvice);
  }
  return { title: `User ${user.slice(0, 80)}`, node, update, accept: (next) => next.name === 'users' && next.argument === user, usesSnapshot: true };
}

function factsOf(user, devices) {
  const rule = data.policy?.rules.find((one) => one.limited);
  const limit = rule && rule.mode !== 'off' ? rule.limits_of_users[user] ?? rule.limit : null;
  const mode = data.policy?.mode === 'audit' ? ' The service is in audit mode: it only reports.' : '';
  return limit === null || limit === undefined
    ? `Holds ${devices.length} GPUs. There is no limit.${mode}`
    : `Holds ${devices.length} of at most ${limit} GPUs.${mode}`;
}

/** The GPUs that are attached to the user's environments, each once. */
function heldBy(user) {
  return Object.entries(data.snapshot ?? {}).flatMap(([host, snapshot]) => {
    const hasEnvironment = snapshot.envs.envs.some((environment) => userOf(environment) === user);
    return !hasEnvironment ? [] : devicesOf(snapshot)
      .filter((device) => device.attachments.some((attachment) => attachment.user === user))
      .map((device) => ({
        host,
        index: device.index,
        environments: device.attachments.filter((attachment) => attachment.user === user).map(({ eid }) => eid),
        pids: device.users.filter((group) => group.user === user).flatMap((group) => group.pids),
      }));
  });
}

function createHeld() {
  const node = element('li');
  const update = (device) => setChildren(node, ...(device === null ? ['No GPU is attached to an environment of this user.'] : [
    name(device.host), ` · GPU ${device.index} · environment `, ...device.environments.flatMap((eid, i) => [i > 0 && ', ', name(eid, 40)]),
    device.pids.length > 0 ? ` · processes ${device.pids.slice(0, 20).join(', ')}` : ' · idle',
  ]));
  return { node, update };
}

function createAdvice(rule) {
  const node = element('li', {}, element('strong', {}, ruleTitle(rule)), ': ', RULES[rule]?.advice ?? rule);
  return { node, update: () => {} };
}
