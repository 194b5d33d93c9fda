import { element, setAttribute, setChildren, setHidden } from '../dom/dom.js';
import { count, name, shortened } from '../dom/format.js';
import { createRows, createTable } from '../dom/table.js';
import { ApiError, postJson } from '../data/api.js';
import { data } from '../data/store.js';
import { yaml } from '../data/yaml.js';
import { createAnswer } from './answer.js';
import { knownUser } from './navigation.js';
import { LIMITED, ruleTitle } from './rules.js';

const MOST = 500;
/** The parts of the limits in a policy file, and their fields. */
const HINTS = { max_devices: ['2', 'phd=4,undergrad=1', 'john=3,paul=2'], max_memory: ['40g', 'phd=80g', 'john=40g,paul=512mi'] };
const FIELDS = LIMITED.flatMap(({ rule, section, title }) => [
  { id: rule, section, part: 'default', title: `${title} per user`, hint: `such as ${HINTS[section][0]}; empty for no limit` },
  { id: rule.replace('-per-', '-for-').replace('user', 'group'), section, part: 'groups', title: `${title} of groups`, hint: `such as ${HINTS[section][1]}` },
  { id: rule.replace('-per-', '-for-'), section, part: 'users', title: `${title} of single users`, hint: `such as ${HINTS[section][2]}` },
]);

/** What another policy would do now, beside the present one. The service takes no action. */
export function planView(route) {
  const rules = element('div', { class: 'checks' });
  const form = element('form', { class: 'policy' },
    element('fieldset', {}, element('legend', {}, 'Rules that are enforced'), rules),
    element('div', { class: 'filters' },
      FIELDS.map(({ id, title, hint }) => field(id, title, input(id), hint))),
    element('button', { type: 'submit', class: 'primary' }, 'Show what it would do'));
  const changed = element('p', { class: 'result error', role: 'status', hidden: true },
    'The running policy changed after this form was filled. Load the page again to begin with it.');
  const answer = createAnswer('plan', form, { text: 'Computing …', nodes: [] }, compute);
  const node = element('div', {}, element('h1', { tabindex: '-1' }, 'What if'),
    element('p', {}, 'What would this policy do now? The service only computes it and takes no action. Exceptions and hours of the policy count as at this moment. To see what a rule finds over days, set its mode to audit.'), changed, form,
    element('div', { id: 'plan-result' }, answer.nodes));
  let wanted = route;
  let present = null;

  /** Begins with the running policy, and with the address when the rules are known. */
  function update() {
    if (data.policy === null) {
      return;
    }
    setHidden(changed, present === null || JSON.stringify(present) === JSON.stringify(presentChoices(data.policy)));
    if (present !== null) {
      return;
    }
    present = presentChoices(data.policy);
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
    const file = fileOf(choices);
    const results = [await postJson('/plan', {}), await postJson('/plan', { policy: file })];
    return resultOf(results, fileNodes(file, JSON.stringify(choices) === JSON.stringify(presentChoices(data.policy))));
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

/** What the form shows for the running policy: which rules are enforced, and the limits of those as text. */
function presentChoices({ policy_file: file, rules }) {
  const isEnforced = (rule) => file.rules[rule] === 'enforce';
  const limitsOf = (section) => (isEnforced(LIMITED.find((one) => one.section === section).rule) ? file[section] : {});
  return {
    rules: Object.fromEntries(rules.filter((rule) => !rule.limited).map(({ name: rule }) => [rule, isEnforced(rule)])),
    limits: Object.fromEntries(FIELDS.map(({ id, section, part }) => [id, writeLimits(limitsOf(section)[part])])),
  };
}

function writeLimits(limits = '') {
  const write = (text) => (text === 'none' ? '' : /^\d+mi$/.test(text) && parseInt(text) % 1024 === 0 ? `${parseInt(text) / 1024}gi` : text);
  return typeof limits === 'string' ? write(limits) : Object.entries(limits).map(([who, text]) => `${who}=${write(text)}`).join(',');
}

/** The policy as a file. A rule that is not enforced any more still reports; a limit is enforced. */
function fileOf({ rules, limits }) {
  const file = { ...data.policy.policy_file, rules: { ...data.policy.policy_file.rules } };
  Object.entries(rules).forEach(([rule, isOn]) => {
    file.rules[rule] = isOn ? 'enforce' : file.rules[rule] === 'enforce' ? 'audit' : file.rules[rule];
  });
  for (const { rule, section } of LIMITED) {
    const its = FIELDS.filter((one) => one.section === section);
    if (file.rules[rule] === 'enforce' || its.some(({ id }) => limits[id] !== '')) {
      file.rules[rule] = 'enforce';
      file[section] = Object.fromEntries(its.map(({ id, part }) => [part, part === 'default' ? limits[id] || 'none' : readLimits(limits[id])]));
    }
  }
  return file;
}

/** Reads `john=3,paul=2`, with commas or blanks as the settings have them. */
function readLimits(text) {
  return Object.fromEntries(text.split(/[\s,]+/).filter((part) => part !== '').map((part) => {
    const [, who, limit] = /^([^=]+)=(.+)$/.exec(part) ?? [];
    if (limit === undefined) {
      throw new ApiError(0, `“${part}” is not a limit`);
    }
    return [who, limit];
  }));
}

/** Each action of either policy, with its user and command, and what the policies do: what differs first. */
function resultOf(results, nodes) {
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
      ...nodes,
    ],
  };
}

/** The policy file to save, and what it cannot do. */
function fileNodes(file, isPresent) {
  const written = yaml(file);
  const text = element('textarea', { id: 'file', readonly: true, rows: written.split('\n').length, spellcheck: 'false' }, written);
  const done = element('span', { role: 'status' });
  const copy = async () => {
    text.select();
    await navigator.clipboard?.writeText(written).then(() => { done.textContent = ' Copied.'; }, () => {});
  };
  const removed = FIELDS.filter(({ part }) => part !== 'default').flatMap(({ section, part }) => {
    const paths = Object.keys(data.policy.policy_file[section]?.[part] ?? {}).filter((who) => !Object.hasOwn(file[section][part], who));
    return paths.map((who) => `${section}.${part}.${who}`).map((path) => `${path} (${data.policy.sources[path]})`);
  });
  return [element('h2', {}, 'Policy file'),
    isPresent && element('p', {}, 'This is the running policy.'),
    removed.length > 0 && element('p', {}, 'A file cannot remove the limit of a variable. If variables have these, remove them there, too: ', shortened(removed.join(', '), 1000)),
    data.policy.mode === 'audit' && element('p', {}, 'The service is in audit mode. It enforces no policy before it starts with GENV_ENFORCER_MODE=enforce.'),
    element('label', { for: 'file' }, 'Save this as the file of GENV_ENFORCER_POLICY_FILE'), text,
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
