import { element, setAttribute, setHidden, setText, showValue } from '../dom/dom.js';
import { name, shortened, time } from '../dom/format.js';
import { createRows, createTable } from '../dom/table.js';
import { data, missing } from '../data/store.js';
import { LIMITED, limitText, ruleTitle } from './rules.js';

const MODES = { enforce: 'enforced', audit: 'reported only', off: 'not checked' };
const UNITS = [[86_400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];

/** Which policy applies: the rules, the limits and why they are so, what time changes, and to what nothing is done. */
export function policyView() {
  const message = element('p', { role: 'status' });
  const content = element('div', { class: 'exact' });
  const node = element('div', {}, element('h1', { tabindex: '-1' }, 'Rules'), message, content);

  function update() {
    const problem = data.hosts?.flatMap(({ problems }) => problems).find(({ code }) => code === 'policy_unreadable');
    const absent = data.policy === null ? `The policy: ${missing('policy')}.` : data.hosts === null ? `Problems of the policy file: ${missing('hosts')}.` : '';
    setAttribute(message, 'class', problem ? 'result error' : 'result');
    setText(message, problem ? `The policy file cannot be used, so its last valid content applies: ${shortened(problem.detail, 600)}` : absent);
    setHidden(message, message.textContent === '');
    if (data.policy !== null) {
      showValue(content, data.policy, createContent);
    }
  }
  return { title: 'Rules', node, update, accept: () => true };
}

function createContent(policy) {
  const { policy: values, policy_file: file, sources } = policy;
  const from = (path) => shortened(sources[path] ?? '–');
  return [
    element('dl', {}, factsOf(policy).map(([title, text]) => element('div', {}, element('dt', {}, title), element('dd', {}, text)))),
    createTable('Rules', ['Rule', 'Mode', 'From'], createRows(policy.rules.map(({ name: rule, mode }) =>
      [[element('strong', {}, rule), ` ${ruleTitle(rule)}`], modeText(mode, policy.mode), from(`rules.${rule}`)]))),
    element('p', {}, 'Of several limits, an exception counts first, then the user’s own limit, then the largest of the user’s groups, then that of all others.'),
    createTable('Limits', ['Limit of', 'Most', 'From'], createRows(limitsOf(values).map(({ who, most, path }) => [who, most, from(path)]))),
    tableOf('Exceptions', ['Exception of', 'Most', 'From', 'Until', 'Reason'], file.exceptions.map((each) => [
      'user' in each ? ['user ', name(each.user)] : ['group ', name(each.group)],
      LIMITED.filter(({ section }) => section in each).map(({ section, title }) => `${title}: ${limitText(each[section])}`).join(', '),
      each.from ? time(each.from) : 'now', time(each.until), shortened(each.reason)])),
    tableOf('Hours', ['Hours', `Time (${policy.time_zone})`, 'Instead'], file.hours.map((each) => [
      each.days.replaceAll(',', ', '), `${each.from} to ${each.to}`,
      element('ul', {}, [...Object.entries(each.rules ?? {}).map(([rule, mode]) => `${rule}: ${modeText(mode, policy.mode)}`),
        ...limitsOf(each).map(({ who, most }) => [who, ': ', most])].map((text) => element('li', {}, text)))])),
    tableOf('Nothing is done to', ['Processes', 'From'], [
      ...values.exempt.users.map((user) => [['of the user ', name(user)], from(`exempt.users.${user}`)]),
      ...values.exempt.cgroups.map((path) => [['in the cgroup ', name(path, 200)], from(`exempt.cgroups.${path}`)]),
      ...policy.protected_programs.map(({ path, user }) =>
        [['of the program ', name(path, 200), ' of ', user === '*' ? 'any user' : ['the user ', name(user)]], 'protected program'])]),
  ];
}

function tableOf(title, columns, rows) {
  return rows.length === 0 ? element('p', {}, `${title}: none`) : createTable(title, columns, createRows(rows));
}

function modeText(mode, ofService) {
  return mode === 'enforce' && ofService === 'audit' ? 'reported only, as the service is in audit mode' : MODES[mode];
}

function factsOf({ version, mode, grace_seconds: grace, kill_after_seconds: kill, policy_grace_seconds: policyGrace, next_change: next }) {
  return [
    ['Version', shortened(version)],
    ['Mode', mode === 'audit' ? 'audit: the service only reports' : 'the service acts'],
    ['Grace period', grace === 0 ? 'none: the service acts at once' : `${exact(grace)} until the service acts`],
    ['SIGKILL', kill === null ? 'never' : `${exact(kill)} after SIGTERM`],
    ['After a change', policyGrace === 0 ? 'it counts at once'
      : `${exact(policyGrace)} without the actions for which the earlier policy does not ask`],
    ['Next change', next === null ? 'none is planned'
      : [time(next.at), element('ul', {}, next.changes.map((change) => element('li', {}, shortened(change, 300))))]],
  ];
}

/** A time in the largest unit of which it is a whole number. */
function exact(seconds) {
  const [length, unit] = UNITS.find(([each]) => seconds >= each && seconds % each === 0) ?? [1, 's'];
  return `${seconds / length} ${unit}`;
}

/** The limits of a policy or of hours: whose, how much, and where in the file. */
function limitsOf(values) {
  return LIMITED.filter(({ section }) => section in values).flatMap(({ section, title }) => {
    const { default: general, groups = {}, users = {} } = values[section];
    const limit = (who, text, path) => ({ who: [title, ' of ', who], most: limitText(text), path: `${section}.${path}` });
    return [
      ...(general === undefined ? [] : [limit('all others', general, 'default')]),
      ...Object.entries(groups).map(([group, text]) => limit(['group ', name(group)], text, `groups.${group}`)),
      ...Object.entries(users).map(([user, text]) => limit(['user ', name(user)], text, `users.${user}`)),
    ];
  });
}
