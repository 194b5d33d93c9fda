/** A text that this browser keeps, or this page alone if the browser allows no storage. */
export class KeptText {
  #storage;
  #key;
  #text = null;

  /**
   * @param {string} storage `localStorage` or `sessionStorage`
   * @param {string} key
   */
  constructor(storage, key) {
    this.#storage = storage;
    this.#key = key;
  }

  /** Returns the text; null if there is none. */
  get() {
    try {
      return window[this.#storage].getItem(this.#key) ?? this.#text;
    } catch {
      return this.#text;
    }
  }

  set(text) {
    this.#text = text;
    try {
      window[this.#storage].setItem(this.#key, text);
    } catch {
      // Storage is forbidden or full: the text is kept until the page is left.
    }
  }
}
