const LONGEST_SLICE_MILLIS = 6;

const waiting = new Map();
let isScheduled = false;

/**
 * Runs a task in one of the next frames, a few milliseconds in each, so that the page stays smooth while much of it changes.
 * @param {object} key a later task with the same key takes the place of a waiting one
 */
export function runSoon(key, task) {
  waiting.set(key, task);
  schedule();
}

function schedule() {
  if (!isScheduled && waiting.size > 0) {
    isScheduled = true;
    requestAnimationFrame(runSlice);
  }
}

function runSlice(begin) {
  isScheduled = false;
  for (const [key, task] of waiting) {
    waiting.delete(key);
    task();
    if (performance.now() - begin > LONGEST_SLICE_MILLIS) {
      break;
    }
  }
  schedule();
}
