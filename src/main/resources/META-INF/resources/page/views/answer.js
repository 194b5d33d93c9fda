import { element, setAttribute, setChildren, setText } from '../dom/dom.js';
import { setValues, valuesOf } from '../dom/form.js';
import { ApiError } from '../data/api.js';
import { address } from './navigation.js';

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

  /** Only the answer to the latest attempt is shown. */
  async function attempt(first, run) {
    const current = {};
    setLatest(current);
    show(first);
    let result;
    try {
      result = await run();
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
