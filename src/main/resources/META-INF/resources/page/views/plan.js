import { element, setAttribute, setChildren } from '../dom/dom.js';
import { count, mebibytes, name, shortened } from '../dom/format.js';
import { createRows, createTable } from '../dom/table.js';
import { ApiError, postJson } from '../data/api.js';
import { data } from '../data/store.js';
import { createAnswer } from './answer.js';
import { knownUser } from './navigation.js';
import { ruleTitle } from './rules.js';

const MOST = 500;
/** The rules with a limit: what it is of, and how a limit is read and written. */
const LIMITED = [
  { rule: 'max-devices-per-user', section: 'max_devices', unit: '', singles: 'max-devices-for-user', title: 'GPUs', hint: '2', hints: 'john=3,paul=2',
    read: (text) => /^\d+$/.test(text) ? Number(text) : null, write: String },
  { rule: 'max-memory-per-user', section: 'max_memory', unit: 'mi', singles: 'max-memory-for-user', title: 'GPU memory', hint: '40g', hints: 'john=40g,paul=512mi',
    read: (text) => mebibytes(text) === null ? null : Math.floor(mebibytes(text)), write: (mib) => mib % 1024 === 0 ? `${mib / 1024}gi` : `${mib}mi` },
];

/** What another policy would do now, beside the present one. The service takes no action. */
export function planView(route) {
  const rules = element('div', { class: 'checks' });
  const form = element('form', { class: 'policy' },
    element('fieldset', {}, element('legend', {}, 'Rules that are enforced'), rules),
    element('div', { class: 'filters' },
      LIMITED.map(({ rule, singles, title, hint, hints }) => [
        field(rule, `${title} per user`, input(rule), `such as ${hint}; empty for no limit`),
        field(singles, `${title} of single users`, input(singles), `such as ${hints}`)])),
    element('button', { type: 'submit', class: 'primary' }, 'Show what it would do'));
  const answer = createAnswer('plan', form, { text: 'Computing …', nodes: [] }, compute);
  const node = element('div', {}, element('h1', { tabindex: '-1' }, 'What if'),
    element('p', {}, 'What would this policy do now? The service only computes it and takes no action. To see what a rule finds over days, set its mode to audit.'), form,
    element('div', { id: 'plan-result' }, answer.nodes));
  let wanted = route;
  let present = null;

  /** Begins with the running policy, and with the address when the rules are known. */
  function update() {
    if (present !== null || data.policy === null) {
      return;
    }
    present = presentChoices(data.policy.rules);
    setChildren(rules, Object.keys(present.rules).map((rule) => element('div', { class: 'check' },
      element('input', { type: 'checkbox', id: `rule-${rule}`, name: rule, checked: present.rules[rule] }),
      element('label', { for: `rule-${rule}` }, element('strong', {}, rule), ` ${ruleTitle(rule)}`))));
    Object.entries(present.limits).forEach(([id, text]) => setAttribute(form.elements[id], 'value', text));
    answer.accept(wanted);
  }

  function accept(next) {
    wanted = next;
    return present === null || answer.accept(next);
  }

  async function compute() {
    const choices = {
      rules: Object.fromEntries(Object.keys(present.rules).map((rule) => [rule, form.elements[rule].checked])),
      limits: Object.fromEntries(Object.keys(present.limits).map((id) => [id, form.elements[id].value.trim()])),
    };
    const other = policyOf(choices);
    const results = [await postJson('/plan', {}), await postJson('/plan', { policy: other })];
    return resultOf(results, settingsFor(present, choices));
  }
  return { title: 'What if', node, update, accept };
}

function input(id) {
  return element('input', { type: 'text', id, name: id, autocomplete: 'off' });
}

function field(id, title, its, hint) {
  its.setAttribute('aria-describedby', `${id}-hint`);
  return element('div', {}, element('label', { for: id }, title), its, element('small', { id: `${id}-hint` }, hint));
}

/** What the form shows for the running policy: which rules are enforced, and the limits as text. */
function presentChoices(rules) {
  const limits = LIMITED.flatMap(({ rule, singles, write }) => {
    const its = rules.find((one) => one.name === rule && one.mode === 'enforce');
    return [
      [rule, its && its.limit !== null ? write(its.limit) : ''],
      [singles, Object.entries(its?.limits_of_users ?? {}).map(([user, most]) => `${user}=${write(most)}`).join(',')],
    ];
  });
  return {
    rules: Object.fromEntries(rules.filter((rule) => !rule.limited).map((rule) => [rule.name, rule.mode === 'enforce'])),
    limits: Object.fromEntries(limits),
  };
}

/** The policy in the form of the policy file. */
function policyOf({ rules, limits }) {
  const sections = LIMITED.map(({ rule, section, unit, singles, read }) => [section, {
    ...(limits[rule] !== '' && { default: `${readLimit(limits[rule], read, limits[rule])}${unit}` }),
    users: Object.fromEntries(Object.entries(readLimits(limits[singles], read)).map(([user, most]) => [user, `${most}${unit}`])),
  }]);
  const modes = Object.entries(rules).map(([rule, isOn]) => [rule, isOn ? 'enforce' : 'off']);
  return { rules: Object.fromEntries(modes), ...Object.fromEntries(sections) };
}

function readLimit(text, read, whole) {
  const limit = read(text);
  if (limit === null) {
    throw new ApiError(0, `“${whole}” is not a limit`);
  }
  return limit;
}

/** Reads `john=3,paul=2`, with commas or blanks as the settings have them. */
function readLimits(text, read) {
  return Object.fromEntries(text.split(/[\s,]+/).filter((part) => part !== '').map((part) => {
    const [, user, limit] = /^([^=]+)=(.+)$/.exec(part) ?? [null, null, ''];
    return [user, readLimit(limit, read, part)];
  }));
}

/** The environment variables that make the other policy the running one. A rule that is no longer enforced still reports. */
function settingsFor(present, { rules, limits }) {
  const variable = (id, value) => `GENV_ENFORCER_${id.toUpperCase().replaceAll('-', '_')}=${value}`;
  const limited = LIMITED.flatMap(({ rule, singles }) => {
    const isOn = limits[rule] !== '' || limits[singles] !== '';
    const isEnforced = data.policy.rules.some((one) => one.name === rule && one.mode === 'enforce');
    return [
      ...[rule, singles].filter((id) => limits[id] !== present.limits[id]).map((id) => variable(id, limits[id])),
      isOn && !isEnforced && variable(`${rule}-mode`, 'enforce'),
    ];
  });
  const lines = [
    data.policy.mode === 'audit' && 'GENV_ENFORCER_MODE=enforce',
    ...Object.keys(rules).filter((rule) => rules[rule] !== present.rules[rule]).map((rule) => variable(rule, rules[rule] ? 'enforce' : 'audit')),
    ...limited,
  ];
  return lines.filter(Boolean).join('\n');
}

/** Each action of either policy, with its user and command, and what the policies do: what differs first. */
function resultOf(results, settings) {
  const rows = new Map();
  const both = results.map(planned);
  both.forEach(({ actions }, i) => actions.forEach((action) => {
    const { type, host, pid, environment, device } = action;
    const key = JSON.stringify(type === 'detach' ? [host, environment, device] : [host, pid]);
    const row = rows.get(key) ?? { ...action, rules: [null, null] };
    row.rules[i] = action.rules;
    rows.set(key, row);
  }));
  const differs = ({ rules: [one, other] }) => (one === null) === (other === null);
  const ordered = [...rows.values()].sort((one, other) => differs(one) - differs(other));
  return {
    text: `Result: ${both[1].text} The present policy: ${both[0].text}`,
    nodes: [
      ordered.length > 0 && createTable('What happens', ['User', 'Process or environment', `Present policy${data.policy.mode === 'audit' ? ' (audit)' : ''}`, 'This policy'],
        createRows(ordered.slice(0, MOST).map(cellsOf))),
      ordered.length > MOST && element('p', {}, `and ${ordered.length - MOST} more`),
      ...settingsNodes(settings),
    ],
  };
}

function settingsNodes(settings) {
  if (settings === '') {
    return [element('p', {}, 'This is the running policy: no setting changes.')];
  }
  const text = element('textarea', { id: 'settings', readonly: true, rows: settings.split('\n').length + 1, spellcheck: 'false' }, settings);
  const done = element('span', { role: 'status' });
  const copy = async () => {
    text.select();
    await navigator.clipboard?.writeText(settings).then(() => { done.textContent = ' Copied.'; }, () => {});
  };
  return [element('h2', {}, 'Settings'), element('label', { for: 'settings' }, 'Set these environment variables, and start the service again'), text,
    element('p', {}, element('button', { type: 'button', onclick: copy }, 'Copy'), done)];
}

/** The actions of a plan, whose violations know the command, and the user of an environment with the process of a stranger. */
function planned({ violations, actions }) {
  const processes = new Map(violations.flatMap(({ host, user, processes: its }) =>
    its.map((process) => [`${host} ${process.pid}`, { ...process, user }])));
  const known = actions.map((action) => ({ user: null, ...processes.get(`${action.host} ${action.pid}`), ...action }));
  const terminations = actions.filter((action) => action.type === 'terminate').length;
  return { actions: known, text: `${count(violations.length, 'violation')}, ${count(terminations, 'termination')}, ${count(actions.length - terminations, 'detachment')}.` };
}

function cellsOf({ type, user, host, pid, command, environment, device, devices, rules }) {
  const what = type === 'detach'
    ? ['environment ', name(environment, 40), `, GPU ${device}`]
    : [command && [name(command, 40), ' '], `(pid ${pid}), GPU ${(devices ?? []).join(', ')}`];
  return [
    knownUser(user),
    [what, host && [' · ', name(host)]],
    ...rules.map((its) => its === null ? '–' : `${type === 'detach' ? 'Detached' : 'Terminated'}: ${shortened(its.join(', '))}`),
  ];
}
