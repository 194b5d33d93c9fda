import { element } from '../dom/dom.js';
import { clock, count, duration, name, shortened } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { data, failingSources, refresh } from '../data/store.js';
import { askAgain, isTokenDeclined } from '../data/token.js';
import { address } from './navigation.js';

const MOST_NAMES = 5;
let known = null;

/** What the sources are called. */
const SOURCES = { status: 'the cycles', policy: 'the policy', hosts: 'the hosts', violations: 'the violations', snapshot: 'the GPUs' };

/** Kinds of hosts on which the service does not do all of its work: key, level, title, which hosts, meaning. */
const HOST_KINDS = [
  ['unreachable', 'error', 'Unreachable: ', hasStatus('unreachable'), 'No rule is enforced there.'],
  ['read-only', 'error', 'No actions: ', hasConsequence('read_only'), 'The service terminates and detaches nothing there.'],
  ['degraded', 'warning', 'Observed only in part: ', hasStatus('degraded'), 'Rules that need the missing data find nothing there.'],
  ['lacking', 'warning', 'Missing privileges: ', (host) => host.missing_privileges.length > 0,
    'The service cannot do everything there.'],
  ['attached', 'warning', 'No detachments: ', hasConsequence('nothing_detached'), 'The service detaches nothing there.'],
  ['waiting', 'warning', 'Termination limit reached: ', hasConsequence('terminations_wait'), 'Further terminations wait there.'],
  ['database', 'warning', 'Database not in use: ', hasConsequence('memory_only'), 'The next run of the service will not know what happens now.'],
  ['policy', 'warning', 'Policy file not in use: ', hasCode('policy_unreadable'), 'Its last valid content applies.'],
  ['messages', 'warning', 'Messages not delivered: ', hasCode('notification_failed'), 'Users or receivers do not get them.'],
  ['damaged', 'warning', 'Database was damaged: ', hasCode('data_damaged'), 'What it had is lost. The service began a new one.'],
];

/** Shows above every view whatever a reader must not overlook: audit mode, and what the service or the page cannot do. */
export function showAlerts(region) {
  showList(region, alerts(), (alert) => alert.key, (alert) => {
    const node = element('div', { class: `alert ${alert.level}` }, alert.content);
    return { node, update: () => {} };
  });
}

function alerts() {
  return [...sourceAlerts(), ...cycleAlerts(), ...policyAlerts(), ...hostAlerts()];
}

function sourceAlerts() {
  if (isTokenDeclined()) {
    const enter = async () => (await askAgain()) && refresh();
    return [alert('token', 'error', ['The service requires a token. ',
      element('button', { type: 'button', onclick: enter }, 'Enter the token')])];
  }
  const byReason = Map.groupBy(failingSources(), reasonOf);
  return [...byReason].map(([reason, sources]) => {
    const what = sources.map((source) => SOURCES[source.name]).join(', ');
    const since = sinceOf(sources);
    return alert(`source ${reason} ${what} ${since}`, 'error', [strong('No current data: '), `${reason}. Concerns ${what}.${since}`]);
  });
}

function reasonOf({ error }) {
  return error === null ? 'the service does not answer' : shortened(error.message, 300);
}

function sinceOf(sources) {
  const answers = sources.map((source) => source.lastAnswer).filter((at) => at !== null);
  return answers.length === 0 ? '' : ` What you see is from ${new Date(Math.min(...answers)).toLocaleTimeString()}.`;
}

/** Without cycles, all data is that of an earlier time. */
function cycleAlerts() {
  const { status } = data;
  if (status === null) {
    return [];
  }
  const last = status.last_cycle_at;
  const late = last === null
    ? `No cycle has ended since the service was started at ${clock(status.started_at)}. `
    : `No cycle has ended since ${clock(last)}. What you see is of that time. `;
  return [
    ...(status.late ? [alert(`late ${last}`, 'error', [strong(late), 'No rule is enforced.'])] : []),
    ...(status.error === null ? [] : [alert(`error ${status.error}`, 'error',
      [strong('The last cycle failed: '), `${shortened(status.error, 300)}. No rule was enforced.`])]),
  ];
}

function policyAlerts() {
  const { policy } = data;
  if (policy === null) {
    return [];
  }
  if (policy.mode === 'audit') {
    return [alert('audit', 'warning', [strong('Audit mode: '),
      'the service reports violations and takes no action. Nothing is terminated or detached.'])];
  }
  return policy.terminate_processes ? [] : [alert('signals', 'warning', [strong('No terminations: '),
    'GENV_TERMINATE_PROCESSES forbids signals. The service only detaches.'])];
}

function hostAlerts() {
  return HOST_KINDS.flatMap(([key, level, title, isAffected, meaning]) => {
    const affected = (data.hosts ?? []).filter(isAffected);
    return affected.length === 0 ? [] : [alert(`${key} ${affected.map((host) => host.host)}`, level,
      [strong(title), ...names(affected), `. ${meaning} `,
        element('a', { href: address('hosts', null, { show: 'problems' }) }, `Show ${count(affected.length, 'host')}`)])];
  });
}

function hasStatus(status) {
  return (host) => host.status === status;
}

function hasConsequence(consequence) {
  return hasProblem((problem) => problem.consequence === consequence);
}

function hasCode(code) {
  return hasProblem((problem) => problem.code === code);
}

function hasProblem(isIt) {
  return (host) => host.problems.some(isIt);
}

function names(hosts) {
  const shown = hosts.slice(0, MOST_NAMES).flatMap((host, i) => [i === 0 ? '' : ', ', name(host.host)]);
  return hosts.length > MOST_NAMES ? [...shown, ` and ${hosts.length - MOST_NAMES} more`] : shown;
}

function alert(key, level, content) {
  return { key, level, content };
}

function strong(text) {
  return element('strong', {}, text);
}

/** Says in the header whether the data is current. */
export function connectionText() {
  const [failing] = failingSources();
  if (failing) {
    return failing.lastAnswer === null ? 'no answer' : `last answer ${duration((Date.now() - failing.lastAnswer) / 1000)} ago`;
  }
  if (data.status === null || data.hosts === null) {
    return 'connecting';
  }
  return data.status.late || data.status.error !== null ? 'no current cycle' : 'live';
}

/** Writes new violations into a region that a screen reader reads aloud when it is idle. */
export function announceViolations(region) {
  if (data.violations === null) {
    return;
  }
  const active = data.violations.filter((violation) => violation.status === 'active' || !known?.has(violation.id));
  const added = known === null ? [] : active.filter((violation) => !known.has(violation.id));
  known = new Set(data.violations.map((violation) => violation.id));
  if (added.length > 0) {
    region.textContent = added.length === 1
      ? `New violation: ${shortened(added[0].message)}`
      : count(added.length, 'new violation');
  }
}
