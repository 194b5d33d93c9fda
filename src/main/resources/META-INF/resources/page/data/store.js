import { keepSame, keepSameItems, keepSameMembers } from './changes.js';
import { getJson } from './api.js';
import { Poller } from './poller.js';
import { readViolations, withPolled, withStreamed } from './violations.js';

const INTERVAL_SECONDS = 5;
const INTERVAL_WITH_STREAM_SECONDS = 15;

/** What the service has answered; null before its first answer. */
export const data = { status: null, policy: null, hosts: null, violations: null, snapshot: null };

const listeners = new Set();
let isDrawing = false;

const pollers = {
  status: source(() => getJson('/status'), (json) => {
    data.status = keepSame(data.status, json);
  }),
  policy: source(() => getJson('/policy'), (json) => {
    data.policy = keepSame(data.policy, json);
  }),
  hosts: source(() => getJson('/hosts'), (json) => {
    data.hosts = keepSameItems(data.hosts, json, (host) => host.host);
  }),
  violations: source(readViolations, (json, begin) => {
    data.violations = withPolled(data.violations, json, begin);
  }),
  snapshot: source(() => getJson('/snapshot'), (json) => {
    data.snapshot = keepSameMembers(data.snapshot, json);
  }),
};

function source(read, store) {
  let isUnanswered = false;
  const poller = new Poller(read, INTERVAL_SECONDS, (answer, begin) => {
    if (answer !== undefined) {
      store(answer, begin);
      if (isUnanswered) {
        retryUnanswered();
      }
    }
    isUnanswered = hasNoAnswer(poller);
    draw();
  });
  return poller;
}

/** A service that answers one request again answers the others too. */
function retryUnanswered() {
  Object.values(pollers).filter(hasNoAnswer).forEach((poller) => poller.refresh());
}

function hasNoAnswer(poller) {
  return poller.error?.status === 0;
}

/** Starts to read what every view needs. */
export function start() {
  pollers.status.start();
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

/** The sources that have no current answer, such as `hosts`, with the last error and the time of the last answer, which may be null. */
export function failingSources() {
  return Object.entries(pollers).filter(([, poller]) => poller.isFailing())
    .map(([name, { error, lastAnswer }]) => ({ name, error, lastAnswer }));
}

/** Why there is no data of these sources, in a word or two; null if all have answered. Nothing is a zero before that. */
export function missing(...names) {
  const unanswered = names.filter((name) => data[name] === null);
  if (unanswered.length === 0) {
    return null;
  }
  return unanswered.some((name) => pollers[name].error !== null) ? 'not known' : 'loading';
}

/** Adds or replaces a violation that the stream has reported. Before the first answer, one violation is not all of them. */
export function acceptViolation(violation) {
  if (data.violations === null) {
    refreshViolations();
  } else {
    data.violations = withStreamed(data.violations, violation);
    draw();
  }
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

/** Has the view drawn again before the next frame. */
export function changed() {
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
