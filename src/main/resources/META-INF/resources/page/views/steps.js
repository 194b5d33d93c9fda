import { duration, shortened, time } from '../dom/format.js';
import { OUTCOMES, ruleTitle } from './rules.js';

/**
 * The story of a violation in steps, the oldest first. It includes other violations of the same processes.
 * @returns {Array} `{at, title, text, kind}`
 */
export function stepsOf(violation, others) {
  const steps = [
    step(violation.first_seen, 'Seen', 'for the first time'),
    ...changeOf(violation.state_change),
    ...groupsOf(violation.actions).map(actionStep),
    ...relatedTo(violation, others).map((other) => step(other.first_seen, 'Also seen', ruleTitle(other.rule))),
  ];
  if (violation.status === 'resolved') {
    steps.push(step(violation.last_seen, 'Last seen', 'resolved since then', 'end'));
  }
  const inOrder = steps.sort((one, other) => one.order - other.order);
  return [...inOrder, ...nextOf(violation)];
}

function step(instant, title, text, kind = null) {
  return { at: time(instant), order: Date.parse(instant), title, text, kind };
}

function changeOf(change) {
  return change ? [step(change.at, 'State changed', `from “${shortened(change.before)}” to “${shortened(change.after)}”`)] : [];
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
  return step(first.at, titleOf(first), `${target}${detail}${repeated}`, first.outcome);
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

/** What the service will do next and when, if it has said so. */
export function nextOf({ next }) {
  const steps = Array.isArray(next) ? next : next ? [next] : [];
  return steps.map((one) => {
    const at = one.at ?? one.not_before ?? null;
    const what = [one.type ?? one.action, one.pid && `process ${one.pid}`, one.signal && `SIG${one.signal}`, one.reason]
      .filter(Boolean).map((text) => shortened(text)).join(' · ');
    return { at: at ? time(at) : '', order: Infinity, title: 'Next', text: what, kind: 'next' };
  });
}
