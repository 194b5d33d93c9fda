import { keepSame, keepSameItems } from './changes.js';
import { getJson } from './api.js';

/** How many violations the page holds. Active ones have their own limit, so that resolved ones never take their place. */
export const MOST_ACTIVE = 1000;
export const MOST_RESOLVED = 500;

/** The violations that the stream has reported since the last poll, with the time; a poll that began before is older. */
const streamed = new Map();

/** Reads the violations: the active ones first, each kind newest first. */
export async function readViolations() {
  const active = await getJson(`/violations?status=active&limit=${MOST_ACTIVE}`);
  const resolved = await getJson(`/violations?status=resolved&limit=${MOST_RESOLVED}`);
  const over = new Set(resolved.map(({ id }) => id)); // between the two requests
  return [...active.filter(({ id }) => !over.has(id)), ...resolved];
}

/** Takes over what a poll has read, except for violations that the stream has reported since its begin. */
export function withPolled(before, polled, begin) {
  const newer = [...streamed.values()].filter(({ at }) => at >= begin);
  streamed.clear();
  const violations = keepSameItems(before, polled, (violation) => violation.id);
  return newer.reduce((all, { violation }) => withStreamed(all, violation), violations);
}

/** Adds or replaces a violation that the stream has reported. */
export function withStreamed(before, violation) {
  streamed.delete(violation.id);
  streamed.set(violation.id, { violation, at: Date.now() });
  if (streamed.size > MOST_ACTIVE) {
    streamed.delete(streamed.keys().next().value);
  }
  const index = before.findIndex((other) => other.id === violation.id);
  return index >= 0 && before[index].status === violation.status
    ? before.with(index, keepSame(before[index], violation))
    : inOrder([violation, ...before.filter((other) => other.id !== violation.id)]);
}

function inOrder(violations) {
  const isActive = (violation) => violation.status === 'active';
  return [
    ...violations.filter(isActive).slice(0, MOST_ACTIVE),
    ...violations.filter((violation) => !isActive(violation)).slice(0, MOST_RESOLVED),
  ];
}
