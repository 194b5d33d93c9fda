const LONGEST_PAUSE_SECONDS = 60;
const SHORTEST_STALE_SECONDS = 20;
const STALE_INTERVALS = 3;
const BUSY = [429, 503];

/**
 * Reads something again and again: at its interval while the service answers, and at ever longer intervals while it does not. It
 * pauses while the tab is hidden.
 */
export class Poller {
  #read;
  #intervalSeconds;
  #accept;
  #timer = null;
  #isReading = false;
  /** Whether it was asked to read while it read. */
  #isDue = false;
  #visibility = null;
  #failures = 0;
  /** Since when it has tried without a success. */
  #tryingSince = 0;

  /** The last error; null after a success. */
  error = null;

  /** When it last succeeded, as milliseconds since 1970; null before. */
  lastAnswer = null;

  /**
   * @param read returns a promise of what is read
   * @param {number} intervalSeconds
   * @param accept called with everything that was read and the time of its request, and without an argument after an error
   */
  constructor(read, intervalSeconds, accept) {
    this.#read = read;
    this.#intervalSeconds = intervalSeconds;
    this.#accept = accept;
  }

  start() {
    if (this.#visibility === null) {
      this.#visibility = new AbortController();
      document.addEventListener('visibilitychange', () => this.#resume(), { signal: this.#visibility.signal });
      this.#resume();
    }
  }

  stop() {
    this.#visibility?.abort();
    this.#visibility = null;
    clearTimeout(this.#timer);
  }

  setInterval(seconds) {
    if (this.#intervalSeconds !== seconds) {
      this.#intervalSeconds = seconds;
      this.#schedule();
    }
  }

  /** Reads at once, or once more after the present reading, which may have missed the reason. */
  refresh() {
    this.#isDue = this.#isReading;
    if (this.#isWanted() && !this.#isReading) {
      clearTimeout(this.#timer);
      this.#poll();
    }
  }

  /** Whether there is no current answer: an error, or no answer for three intervals. A busy service may answer later. */
  isFailing() {
    const isRefused = this.error !== null && !BUSY.includes(this.error.status);
    const longest = 1000 * Math.max(SHORTEST_STALE_SECONDS, STALE_INTERVALS * this.#intervalSeconds);
    return this.#isWanted() && (isRefused || Date.now() - this.#tryingSince > longest);
  }

  #isWanted() {
    return this.#visibility !== null && !document.hidden;
  }

  #resume() {
    this.#tryingSince = Date.now();
    this.refresh();
  }

  async #poll() {
    this.#isReading = true;
    const begin = Date.now();
    try {
      const answer = await this.#read();
      this.error = null;
      this.#failures = 0;
      this.lastAnswer = Date.now();
      this.#tryingSince = this.lastAnswer;
      this.#accept(answer, begin);
    } catch (error) {
      this.error = error;
      this.#failures++;
      this.#accept();
    } finally {
      this.#isReading = false;
      if (this.#isDue) {
        this.refresh();
      } else {
        this.#schedule();
      }
    }
  }

  #schedule() {
    clearTimeout(this.#timer);
    if (this.#isWanted()) {
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
