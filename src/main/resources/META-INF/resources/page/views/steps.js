import { clock, duration, shortened } from '../dom/format.js';
import { OUTCOMES, ruleTitle, WAITS } from './rules.js';

/**
 * The story of a violation in steps, the oldest first. It includes other violations of the same processes.
 * @returns {Array} `{key, at, title, text}`, with a `kind` for the end and for what follows
 */
export function stepsOf(violation, others) {
  const steps = [
    step(violation.first_seen, 'Seen', 'for the first time'),
    ...groupsOf(violation.actions).map(actionStep),
    ...relatedTo(violation, others).map((other) => step(other.first_seen, 'Also seen', ruleTitle(other.rule))),
  ];
  const inOrder = steps.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  const all = [...inOrder, ...endOf(violation), ...nextOf(violation)];
  return all.map((one, i) => ({ key: `${i} ${one.title}`, ...one }));
}

function step(instant, title, text) {
  return { at: instant, title, text };
}

function endOf({ status, last_seen: lastSeen }) {
  return status === 'resolved' ? [{ at: '', title: 'Resolved', text: `last seen ${clock(lastSeen)}`, kind: 'end' }] : [];
}

/** The same outcome in many cycles is one step. */
function groupsOf(actions) {
  const groups = [];
  for (const action of actions) {
    const last = groups.at(-1);
    if (last && ['type', 'pid', 'signal', 'device', 'outcome'].every((field) => last.first[field] === action[field])) {
      last.latest = action;
      last.count++;
    } else {
      groups.push({ first: action, latest: action, count: 1 });
    }
  }
  return groups;
}

function actionStep({ first, latest, count }) {
  const target = first.type === 'detach' ? `environment ${shortened(first.environment ?? '', 40)} from GPU ${first.device}` : `process ${first.pid}`;
  const detail = first.detail ? ` (${shortened(first.detail)})` : '';
  const repeated = count > 1 ? `, ${count} times in ${duration((Date.parse(latest.at) - Date.parse(first.at)) / 1000)}` : '';
  return step(first.at, titleOf(first), `${target}${detail}${repeated}`);
}

/** The verb of the step, as people say it. */
function titleOf({ type, signal, outcome }) {
  if (outcome === 'signalled') {
    return signal === 'KILL' ? 'Killed' : 'Asked to terminate';
  }
  if (outcome === 'exited') {
    return 'Terminated';
  }
  if (outcome === 'skipped_grace') {
    return 'Held back: grace period';
  }
  if (outcome === 'skipped_audit') {
    return 'Reported only';
  }
  if (outcome === 'detached') {
    return 'Detached';
  }
  return `${type === 'detach' ? 'Detach' : 'Terminate'}: ${OUTCOMES[outcome] ?? outcome}`;
}

function relatedTo(violation, others) {
  const own = new Set(violation.processes.map(identity));
  return others.filter((other) => other.id !== violation.id && other.host === violation.host
    && other.processes.some((process) => own.has(identity(process))));
}

function identity({ pid, start_time: startTime }) {
  return `${pid} ${startTime}`;
}

/** What the service will do if nothing changes. */
function nextOf({ next }) {
  return (next ?? []).map((action) => ({
    at: action.not_before,
    title: 'Next',
    text: `not before this time: ${describeNext(action)}`,
    kind: 'next',
  }));
}

/** One action that follows, with the reason why it waits. */
export function describeNext({ type, pid, signal, environment, device, because }) {
  const what = type === 'detach' ? `detach environment ${shortened(environment, 40)} from GPU ${device}` : `SIG${signal} to process ${pid}`;
  return `${what} (waits: ${WAITS[because] ?? because})`;
}
