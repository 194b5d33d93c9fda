import { data } from '../data/store.js';
import { element } from '../dom/dom.js';

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
export const OUTCOMES = {
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
  skipped_limit: 'not done in this cycle: termination limit',
  skipped_grace: 'not yet: grace period',
  failed: 'failed',
};

/** Why an action is not done yet. */
export const WAITS = {
  grace: 'grace period',
  kill_after: 'time to exit after SIGTERM',
  unconfirmed_signal: 'it is unknown whether the first signal was sent',
  termination_limit: 'termination limit of a cycle',
  next_cycle: 'the next cycle decides again',
};

/** One action in a few words. */
export function describeAction(action) {
  const outcome = OUTCOMES[action.outcome] ?? action.outcome;
  if (action.type === 'detach') {
    return `GPU ${action.device}: ${outcome}`;
  }
  const signal = action.signal ? `SIG${action.signal}: ` : '';
  return `Process ${action.pid}: ${signal}${outcome}`;
}
