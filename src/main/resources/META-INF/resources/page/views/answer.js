import { element, setAttribute, setChildren, setHidden, setText } from '../dom/dom.js';
import { clock } from '../dom/format.js';
import { ApiError } from '../data/api.js';
import { Poller } from '../data/poller.js';
import { changed } from '../data/store.js';
import { address } from './navigation.js';

const INTERVAL_SECONDS = 5;

/**
 * Reads again and again what only one view shows, and says when it fails.
 * @param read returns a promise of what is read
 * @param accept called with it
 */
export function createReader(read, accept) {
  const message = element('p', { class: 'result', role: 'status' }, 'No answer yet.');
  const poller = new Poller(read, INTERVAL_SECONDS, (json) => (json === undefined ? changed() : accept(json)));
  poller.start();

  function update() {
    const { error, lastAnswer } = poller;
    const isFailing = poller.isFailing();
    const since = lastAnswer === null ? '' : `. What you see is from ${clock(new Date(lastAnswer).toISOString())}.`;
    setAttribute(message, 'class', isFailing ? 'result error' : 'result');
    setHidden(message, !isFailing && lastAnswer !== null);
    setText(message, isFailing ? `${error?.message ?? 'the service does not answer'}${since}` : 'No answer yet.');
  }
  return { node: message, update, close: () => poller.stop() };
}

/**
 * The answer to a form, whose values are parameters of the address: who opens the address gets the answer.
 * @param {string} view the name of the view
 * @param {HTMLFormElement} form
 * @param {object} begin what is shown until there is an answer, in the same form
 * @param compute returns a promise of `{text, nodes}`; without `nodes` those before stay
 */
export function createAnswer(view, form, begin, compute) {
  const message = element('p', { class: 'result', role: 'status' });
  const details = element('div');
  const submit = form.querySelector('[type="submit"]');
  let latest = null;
  let running = Promise.resolve();

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const hash = address(view, null, valuesOf(form));
    if (latest === null && hash === location.hash) {
      attempt(begin, compute);
    } else if (latest === null) {
      location.hash = hash;
    }
  });

  /** Takes the values of an address, and shows the answer to them. */
  function accept({ parameters }) {
    setValues(form, parameters);
    if (parameters.size > 0 && form.checkValidity()) {
      attempt(begin, compute);
    } else {
      setLatest(null);
      show({ text: parameters.size > 0 ? 'The address has a value that is not valid here.' : '', nodes: [], isError: true });
    }
    return true;
  }

  /** Only the answer to the latest attempt is shown. It waits for the one before, because the service answers one at a time. */
  async function attempt(first, run) {
    const current = {};
    setLatest(current);
    show(first);
    let result;
    running = running.catch(() => null).then(() => (latest === current ? run() : null));
    try {
      result = await running;
    } catch (error) {
      result = { text: error.message, nodes: [], isError: true };
      if (!(error instanceof ApiError)) {
        reportError(error);
      }
    }
    if (latest === current) {
      setLatest(null);
      show(result);
    }
  }

  /** A disabled button would lose the focus. */
  function setLatest(current) {
    latest = current;
    setAttribute(submit, 'aria-disabled', current === null ? null : 'true');
  }

  /** A screen reader reads the message alone. */
  function show({ text, nodes, isError = false }) {
    setAttribute(message, 'class', isError ? 'result error' : 'result');
    setText(message, text);
    if (nodes !== undefined) {
      setChildren(details, nodes);
    }
  }
  return { nodes: [message, details], accept, attempt };
}

/** The values of a form as parameters of an address. A box that is not checked has none. */
function valuesOf(form) {
  return Object.fromEntries(new FormData(form));
}

/** Gives a form the values of an address; without any, the form has those with which it was created. */
function setValues(form, parameters) {
  form.reset();
  if (parameters.size > 0) {
    [...form.elements].filter(({ name }) => name).forEach((field) => setValue(field, parameters.get(field.name)));
  }
}

function setValue(field, value) {
  if (field.type === 'checkbox') {
    field.checked = value !== null;
    return;
  }
  field.value = value ?? '';
  if (field.selectedIndex === -1) { // no choice has this value
    field.selectedIndex = 0;
  }
}
