import { element, setText } from './dom.js';

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

/** The same for a number of bytes. */
export function bytes(number) {
  return memory(number === null ? null : number / 1_048_576);
}

/** An instant such as `5 min ago`. The exact time, in the zone of the reader, appears while the pointer or the focus is on it. */
export function time(instant) {
  return timeElement(instant, 'ago');
}

/** How long ago an instant was, such as `5 min`, likewise. */
export function age(instant) {
  return timeElement(instant, 'age');
}

function timeElement(instant, form) {
  return element('time', { datetime: instant, tabindex: '0', 'data-exact': clock(instant), 'data-form': form }, relative(instant, form));
}

/** When something happens that is due at an instant or later. */
export function due(instant) {
  return timeElement(instant, 'due');
}

/** Brings the relative times below a node up to date. */
export function refreshTimes(node) {
  node.querySelectorAll('time').forEach((one) => setText(one, relative(one.dateTime, one.dataset.form)));
}

function relative(instant, form) {
  const seconds = (Date.now() - Date.parse(instant)) / 1000;
  if (Number.isNaN(seconds)) {
    return shortened(instant);
  }
  if (form === 'age') {
    return duration(seconds);
  }
  if (form === 'due' && seconds >= 0) {
    return 'in the next cycle';
  }
  return seconds < 0 ? `in ${duration(-seconds)}` : `${duration(seconds)} ago`;
}

export function clock(instant) {
  const millis = Date.parse(instant);
  return Number.isNaN(millis) ? shortened(instant) : CLOCK.format(millis);
}

/** A number of seconds in words, such as `3 min`. */
export function duration(seconds) {
  const steps = [[86400, 'd'], [3600, 'h'], [60, 'min']];
  const step = steps.find(([length]) => seconds >= length);
  return step ? `${Math.floor(seconds / step[0])} ${step[1]}` : `${Math.max(0, Math.floor(seconds))} s`;
}

/** A count with its noun. */
export function count(number, noun, plural = `${noun}s`) {
  return `${number} ${number === 1 ? noun : plural}`;
}

/** Whole and fractional numbers of a report. */
export function number(value) {
  return new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 }).format(value);
}
