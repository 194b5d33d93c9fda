import { keepSame, keepSameItems, keepSameMembers } from './changes.js';
import { Poller } from './poller.js';

const INTERVAL_SECONDS = 5;
const INTERVAL_WITH_STREAM_SECONDS = 15;
const POLICY_INTERVAL_SECONDS = 60;
export const MOST_VIOLATIONS = 1000;

/** What the service has answered; null before its first answer. */
export const data = { policy: null, hosts: null, violations: null, snapshot: null };

/** When the service last answered, as milliseconds since 1970; null before. */
export let lastAnswer = null;

const listeners = new Set();
let isDrawing = false;

/** The violations that the stream has reported since the last poll, with the time; a poll that began before is older. */
const streamed = new Map();

const pollers = {
  policy: new Poller('/policy', POLICY_INTERVAL_SECONDS, (json) => accept(() => {
    data.policy = keepSame(data.policy, json);
  }, json)),
  hosts: new Poller('/hosts', INTERVAL_SECONDS, (json) => accept(() => {
    data.hosts = keepSameItems(data.hosts, json, (host) => host.host);
  }, json)),
  violations: new Poller(`/violations?limit=${MOST_VIOLATIONS}`, INTERVAL_SECONDS, (json, begin) => accept(() => {
    data.violations = keepSameItems(data.violations, json, (violation) => violation.id);
    const newer = [...streamed.values()].filter(({ at }) => at >= begin);
    streamed.clear();
    newer.forEach(({ violation }) => acceptViolation(violation));
  }, json)),
  snapshot: new Poller('/snapshot', INTERVAL_SECONDS, (json) => accept(() => {
    data.snapshot = keepSameMembers(data.snapshot, json);
  }, json)),
};

/** Starts to read what every view needs. */
export function start() {
  pollers.policy.start();
  pollers.hosts.start();
  pollers.violations.start();
}

/** The snapshot is large, so it is read only while a view shows it. */
export function readSnapshot(isNeeded) {
  if (isNeeded) {
    pollers.snapshot.start();
  } else {
    pollers.snapshot.stop();
  }
}

/** Reads everything at once, for example when there is a token now. */
export function refresh() {
  Object.values(pollers).forEach((poller) => poller.refresh());
}

/** The last error of a source, such as `hosts`; null if its last request succeeded. */
export function errorOf(source) {
  return pollers[source].error;
}

/** Adds or replaces a violation that the stream has reported. */
export function acceptViolation(violation) {
  streamed.set(violation.id, { violation, at: Date.now() });
  const before = data.violations ?? [];
  const index = before.findIndex((other) => other.id === violation.id);
  data.violations = index < 0
    ? [violation, ...before].slice(0, MOST_VIOLATIONS)
    : before.with(index, keepSame(before[index], violation));
  draw();
}

export function refreshViolations() {
  pollers.violations.refresh();
}

/** Polls violations less often while a stream reports them. */
export function setStreaming(isStreaming) {
  pollers.violations.setInterval(isStreaming ? INTERVAL_WITH_STREAM_SECONDS : INTERVAL_SECONDS);
}

/** Calls a listener before the next frame after each change. */
export function onChange(listener) {
  listeners.add(listener);
}

export function removeListener(listener) {
  listeners.delete(listener);
}

/** Has the view drawn again before the next frame. */
export function changed() {
  draw();
}

function accept(store, json) {
  if (json !== undefined) {
    lastAnswer = Date.now();
    store();
  }
  draw();
}

/** Several changes before a frame are drawn once. A hidden tab has no frames. */
function draw() {
  if (!isDrawing) {
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      listeners.forEach((listener) => listener());
    });
  }
}
