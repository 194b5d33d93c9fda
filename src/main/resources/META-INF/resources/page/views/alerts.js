import { element } from '../dom/dom.js';
import { ago, count, name } from '../dom/format.js';
import { showList } from '../dom/list.js';
import { data, errorOf, lastAnswer, refresh } from '../data/store.js';
import { askAgain, isTokenDeclined } from '../data/token.js';
import { address } from './navigation.js';

const MOST_NAMES = 5;

/** Shows above every view whatever a reader must not overlook: audit mode, and what the service or the page cannot do. */
export function showAlerts(region) {
  showList(region, alerts(), (alert) => alert.key, (alert) => {
    const node = element('div', { class: `alert ${alert.level}` }, alert.content);
    return { node, update: () => {} };
  });
}

function alerts() {
  return [...serviceAlerts(), ...policyAlerts(), ...hostAlerts()];
}

function serviceAlerts() {
  const error = errorOf('hosts') ?? errorOf('violations');
  if (isTokenDeclined()) {
    const enter = async () => (await askAgain()) && refresh();
    return [alert('token', 'error', ['The service requires a token. ',
      element('button', { type: 'button', onclick: enter }, 'Enter the token')])];
  }
  if (error === null || error.status === 503 && lastAnswer !== null && Date.now() - lastAnswer < 20_000) {
    return [];
  }
  const since = lastAnswer === null ? '' : ` What you see is from ${new Date(lastAnswer).toLocaleTimeString()}.`;
  return [alert(`service ${error.message} ${since}`, 'error', [strong('No current data: '), `${error.message}.${since}`])];
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
  const hosts = data.hosts ?? [];
  const unreachable = hosts.filter((host) => host.status === 'unreachable');
  const degraded = hosts.filter((host) => host.status === 'degraded');
  const lacking = hosts.filter((host) => host.missing_privileges.length > 0);
  const kinds = [
    ['unreachable', 'error', 'Unreachable: ', unreachable, 'No rule is enforced there.'],
    ['degraded', 'warning', 'Observed only in part: ', degraded, 'Rules that need the missing data find nothing there.'],
    ['lacking', 'warning', 'Missing privileges: ', lacking, 'The service cannot do everything there.'],
  ];
  return kinds.filter(([, , , affected]) => affected.length > 0).map(([key, level, title, affected, meaning]) =>
    alert(`${key} ${affected.map((host) => host.host)}`, level, [strong(title), ...names(affected), `. ${meaning} `,
      element('a', { href: address('hosts', null, { trouble: 'true' }) }, `Show ${count(affected.length, 'host')}`)]));
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

/** Says in the header how old the data is. */
export function connectionText() {
  if (lastAnswer === null) {
    return 'connecting';
  }
  return Date.now() - lastAnswer < 15_000 ? 'live' : `last answer ${ago(lastAnswer)}`;
}
