import { element } from './dom.js';

const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu;
const CLOCK = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const UNITS = { b: 1 / 1048576, k: 1e3 / 1048576, m: 1e6 / 1048576, g: 1e9 / 1048576, ki: 1 / 1024, mi: 1, gi: 1024 };

/** Shows characters that change the direction or the form of other text as escapes, such as \u{202e}. */
export function visible(text) {
  return String(text).replace(CONTROL, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
}

/** The beginning of a text. */
export function shortened(text, length = 120) {
  const letters = [...visible(text)];
  return letters.length > length ? `${letters.slice(0, length).join('')}…` : letters.join('');
}

/** A name that a user chose, with its own direction of writing. */
export function name(text, length = 80) {
  return element('bdi', {}, shortened(text, length));
}

/** Reads an amount as genv writes it, such as `15258mi`; returns MiB, or null. */
export function mebibytes(text) {
  const match = /^\s*([0-9.]+)\s*([bkmg]?i?)b?\s*$/i.exec(text ?? '');
  const unit = match && UNITS[match[2].toLowerCase() || 'b'];
  return unit ? Number(match[1]) * unit : null;
}

/** Writes an amount of memory for a person. */
export function memory(mib) {
  if (mib === null) {
    return 'unknown memory';
  }
  return mib >= 1024 ? `${(mib / 1024).toFixed(1)} GiB` : `${Math.round(mib)} MiB`;
}

/** An instant in the time zone of the reader; other text as it is. */
export function time(instant) {
  return element('time', { datetime: instant }, clock(instant));
}

export function clock(instant) {
  const millis = Date.parse(instant);
  return Number.isNaN(millis) ? shortened(instant) : CLOCK.format(millis);
}

/** A number of seconds in words, such as `3 min`. */
export function duration(seconds) {
  const steps = [[86400, 'd'], [3600, 'h'], [60, 'min']];
  const step = steps.find(([length]) => Math.abs(seconds) >= length);
  return step ? `${Math.floor(seconds / step[0])} ${step[1]}` : `${Math.max(0, Math.floor(seconds))} s`;
}

/** How long ago this browser had a time, given in milliseconds since 1970. */
export function ago(millis) {
  return `${duration((Date.now() - millis) / 1000)} ago`;
}

/** A count with its noun. */
export function count(number, noun, plural = `${noun}s`) {
  return `${number} ${number === 1 ? noun : plural}`;
}

/** Whole and fractional numbers of a report. */
export function number(value) {
  return new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 }).format(value);
}
