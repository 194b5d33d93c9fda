/** What the rules mean for the user concerned. A rule without an entry is shown by its name alone. */
export const RULES = {
  'non-env-processes': {
    title: 'Process outside all environments',
    advice: 'Start the job in a shell in which “genv activate” ran, and attach a GPU with “genv attach”.',
  },
  'inactive-env-processes': {
    title: 'Process of an environment that is not active',
    advice: 'The shell of the environment has exited, for example under nohup. Keep it open, or start the job in tmux.',
  },
  'env-devices': {
    title: 'GPU that is not attached to the environment',
    advice: 'Attach the GPU with “genv attach --index N”, or do not set CUDA_VISIBLE_DEVICES to other GPUs.',
  },
  'max-devices-per-user': {
    title: 'More GPUs than a user may hold',
    advice: 'Detach a GPU with “genv detach --index N”, or terminate the shell of an environment.',
  },
  'env-memory': {
    title: 'More GPU memory than the environment has',
    advice: 'Reduce the memory that the job uses, or raise the capacity with “genv config gpu-memory”.',
  },
  'env-owner': {
    title: 'Process in an environment of another user',
    advice: 'Activate an environment of your own. No process is terminated because of this rule.',
  },
  'unlisted-processes': {
    title: 'GPU memory of a process that the driver does not list',
    advice: 'Attach the GPU to the environment of the job with “genv attach --index N”, or terminate the process.',
  },
};

export function ruleTitle(rule) {
  return RULES[rule]?.title ?? rule;
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
  skipped_protected: 'not done: protected program',
  skipped_exempt: 'not done: exempt user',
  skipped_limit: 'not done in this cycle: termination limit',
  skipped_grace: 'not yet: grace period',
  failed: 'failed',
};

/** Why an action is not done yet. */
export const WAITS = {
  grace_period: 'grace period',
  state_change_grace: 'state-change grace',
  observation_grace: 'the state may have changed before the service observed it',
  stranger_grace: 'the process must be observed in an environment of another user for a time',
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
