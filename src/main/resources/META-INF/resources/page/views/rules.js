import { data } from '../data/store.js';
import { element } from '../dom/dom.js';
import { mebibytes, memory, shortened } from '../dom/format.js';

/** The rules with limits of users, and the key of these in a policy file. */
export const LIMITED = [
  { rule: 'max-devices-per-user', section: 'max_devices', title: 'GPUs' },
  { rule: 'max-memory-per-user', section: 'max_memory', title: 'GPU memory' },
];

/** A limit as the policy file has it, for a person. */
export function limitText(text) {
  return text === 'none' ? 'no limit' : /^\d+$/.test(text) ? text : memory(mebibytes(text));
}

/** What a rule means for people, as the service declares it; the name alone before its answer. */
export function ruleTitle(name) {
  return find(name)?.title ?? name;
}

/** What a user can do, with commands in backquotes. */
export function ruleAdvice(name) {
  return find(name)?.advice ?? '';
}

/** Advice as nodes. */
export function withCode(advice) {
  return advice.split('`').map((part, i) => i % 2 === 1 ? element('code', {}, part) : part);
}

function find(name) {
  return data.policy?.rules.find((rule) => rule.name === name);
}

/** What was done, in the words of the page. */
const OUTCOMES = {
  signalled: 'signal sent',
  exited: 'has exited',
  already_gone: 'had already exited',
  denied: 'permission denied',
  unkillable: 'the kernel does not remove it',
  detached: 'detached',
  already_detached: 'was already detached',
  skipped_audit: 'not done: audit mode',
  skipped_protected: 'not done: protected process',
  skipped_exempt: 'not done: exempt user',
  skipped_privilege: 'not done: a process may not be terminated',
  skipped_limit: 'not done in this cycle: termination limit',
  skipped_grace: 'not yet: grace period',
  skipped_unconfirmed: 'not yet: an earlier run may have sent the signal',
  skipped_stale: 'not done in this cycle: the observation is too old',
  failed: 'failed',
};

/** Why an action is not done yet. */
const WAITS = {
  grace: 'grace period',
  policy_grace: 'the policy changed a short time ago',
  kill_after: 'time to exit after SIGTERM',
  unconfirmed_signal: 'it is unknown whether the first signal was sent',
  termination_limit: 'termination limit of a cycle',
  next_cycle: 'the next cycle decides again',
};

/** An action that was done or not, as people say it. */
export function nameOfAction({ type, signal, outcome }) {
  const names = {
    signalled: signal === 'KILL' ? 'Killed' : 'Asked to terminate',
    exited: 'Terminated',
    skipped_grace: 'Held back: grace period',
    skipped_unconfirmed: 'Held back: it may have been signalled',
    skipped_audit: 'Reported only',
    detached: 'Detached',
  };
  return names[outcome] ?? `${type === 'detach' ? 'Detach' : 'Terminate'}: ${OUTCOMES[outcome] ?? outcome}`;
}

/** Why an action that follows waits. */
export function reasonOf({ because }) {
  return WAITS[because] ?? because;
}

/** An action that follows, with the reason why it waits. */
export function describeNext(action) {
  const { type, pid, signal, environment, device } = action;
  const what = type === 'detach' ? `Detach environment ${shortened(environment, 40)} from GPU ${device}` : `SIG${signal} to process ${pid}`;
  return `${what} (waits: ${reasonOf(action)})`;
}
