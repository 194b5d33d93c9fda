import { getJson } from './api.js';

const LONGEST_PAUSE_SECONDS = 60;

/**
 * Reads a path again and again: at its interval while the service answers, and at ever longer intervals while it does not. It
 * pauses while the tab is hidden.
 */
export class Poller {
  #path;
  #intervalSeconds;
  #accept;
  #timer = null;
  #isReading = false;
  #isWanted = false;
  #failures = 0;

  /** The last error; null after a success. */
  error = null;

  /**
   * @param {string} path
   * @param {number} intervalSeconds
   * @param accept called with the JSON of every answer and the time of its request, and without an argument after an error
   */
  constructor(path, intervalSeconds, accept) {
    this.#path = path;
    this.#intervalSeconds = intervalSeconds;
    this.#accept = accept;
    document.addEventListener('visibilitychange', () => this.refresh());
  }

  start() {
    if (!this.#isWanted) {
      this.#isWanted = true;
      this.refresh();
    }
  }

  stop() {
    this.#isWanted = false;
    clearTimeout(this.#timer);
  }

  setInterval(seconds) {
    if (this.#intervalSeconds !== seconds) {
      this.#intervalSeconds = seconds;
      this.#schedule();
    }
  }

  /** Reads at once. */
  refresh() {
    if (this.#isWanted && !this.#isReading && !document.hidden) {
      clearTimeout(this.#timer);
      this.#read();
    }
  }

  async #read() {
    this.#isReading = true;
    const begin = Date.now();
    try {
      const json = await getJson(this.#path);
      this.error = null;
      this.#failures = 0;
      this.#accept(json, begin);
    } catch (error) {
      this.error = error;
      this.#failures++;
      this.#accept();
    } finally {
      this.#isReading = false;
      this.#schedule();
    }
  }

  #schedule() {
    clearTimeout(this.#timer);
    if (this.#isWanted && !document.hidden) {
      this.#timer = setTimeout(() => this.refresh(), 1000 * this.#pauseSeconds());
    }
  }

  /** Pauses after failures are random, so that many pages do not return at the same moment. */
  #pauseSeconds() {
    if (this.#failures === 0) {
      return this.#intervalSeconds;
    }
    const longest = Math.min(LONGEST_PAUSE_SECONDS, this.#intervalSeconds * 2 ** (this.#failures - 1));
    return Math.max(this.error?.retryAfterSeconds ?? 0, longest * (0.5 + Math.random() / 2));
  }
}
