import { send } from './api.js';
import { acceptViolation, refreshViolations, setStreaming } from './store.js';

// EventSource cannot send a token, so the stream is read with fetch.

const LONGEST_SILENCE_MILLIS = 60_000; // the service sends something every 15 s
const LONGEST_PAUSE_MILLIS = 60_000;
const FIRST_PAUSE_MILLIS = 1000;
const SHORT_CONNECTION_MILLIS = 30_000; // a proxy may end every stream at once

let lastEventId = null;
let connection = null;
let isFollowing = false;

/** Follows the violations while the tab is visible. Without the stream, the page polls. */
export function followViolations() {
  document.addEventListener('visibilitychange', () => (document.hidden ? connection?.abort() : follow()));
  follow();
}

async function follow() {
  if (isFollowing) {
    return;
  }
  isFollowing = true;
  let pause = FIRST_PAUSE_MILLIS;
  while (!document.hidden) {
    connection = new AbortController();
    const begin = Date.now();
    let retryAfterMillis = 0;
    try {
      await read(connection);
    } catch (error) {
      if (error.isMissing) {
        break; // a service without a stream
      }
      retryAfterMillis = 1000 * (error.retryAfterSeconds ?? 0);
    } finally {
      connection = null;
      setStreaming(false);
    }
    const isShort = Date.now() - begin < SHORT_CONNECTION_MILLIS;
    pause = Math.max(isShort ? 2 * pause : FIRST_PAUSE_MILLIS, retryAfterMillis);
    await new Promise((resolve) => {
      setTimeout(resolve, Math.min(LONGEST_PAUSE_MILLIS, pause) * (0.5 + Math.random() / 2));
    });
  }
  isFollowing = false;
}

/** Reads one connection to its end. */
async function read(controller) {
  const headers = { Accept: 'text/event-stream', ...(lastEventId === null ? {} : { 'Last-Event-ID': lastEventId }) };
  const response = await send('/events', { headers, signal: controller.signal });
  setStreaming(true);
  refreshViolations(); // what happened before the connection
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const silence = setTimeout(() => controller.abort(), LONGEST_SILENCE_MILLIS);
    const { value, done } = await reader.read().finally(() => clearTimeout(silence));
    if (done) {
      return;
    }
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    blocks.forEach(acceptEvent);
  }
}

/** Reads one event of the stream: lines of the form `name: value`; lines that begin with a colon are comments. */
function acceptEvent(block) {
  const fields = {};
  for (const line of block.split('\n')) {
    const match = /^(id|event|data): ?(.*)$/.exec(line);
    if (match) {
      fields[match[1]] = match[2];
    }
  }
  lastEventId = fields.id ?? lastEventId;
  if (fields.event === 'gap') {
    refreshViolations();
  } else if (fields.data !== undefined) {
    const { violation } = JSON.parse(fields.data);
    if (violation) {
      acceptViolation(violation);
    }
  }
}
