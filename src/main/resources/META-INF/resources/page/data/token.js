import { element, setHidden } from '../dom/dom.js';
import { KeptText } from './storage.js';

// The token is kept for this tab alone, and forgotten when the tab is closed.
const kept = new KeptText('sessionStorage', 'genv-enforcer-token');

let asking = null;
let isDeclined = false;

export function currentToken() {
  return kept.get();
}

/** Whether the reader has closed the dialog without a token. */
export function isTokenDeclined() {
  return isDeclined;
}

/**
 * Asks for a token, once for all requests that need it.
 * @param {?string} refused the token that the service has refused; null if there was none
 * @returns {Promise<boolean>} whether there is a token now
 */
export function askForToken(refused) {
  if (currentToken() !== null && currentToken() !== refused) {
    return Promise.resolve(true); // another request has asked in the meantime
  }
  if (isDeclined) {
    return Promise.resolve(false);
  }
  asking ??= showDialog(refused !== null).finally(() => {
    asking = null;
  });
  return asking;
}

/** Asks again after the reader has closed the dialog. */
export function askAgain() {
  isDeclined = false;
  return askForToken(currentToken());
}

function showDialog(isRefused) {
  return new Promise((resolve) => {
    const input = element('input', { id: 'token', type: 'password', autocomplete: 'off', required: true });
    const error = element('p', { id: 'token-error', class: 'error' }, 'The service refused this token.');
    setHidden(error, !isRefused);
    const form = element(
      'form',
      { onsubmit: (event) => submit(event, dialog, input) },
      element('h2', { id: 'token-title' }, 'API token'),
      element('p', { id: 'token-text' },
        'This service requires the token of GENV_ENFORCER_API_TOKEN_FILE. The page keeps it until this tab is closed.'),
      error,
      element('label', { for: 'token' }, 'Token'),
      input,
      element('div', { class: 'buttons' },
        element('button', { type: 'submit', class: 'primary' }, 'Continue'),
        element('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel')));
    const dialog = element('dialog', { 'aria-labelledby': 'token-title', 'aria-describedby': 'token-text' }, form);
    dialog.addEventListener('close', () => {
      dialog.remove();
      isDeclined = dialog.returnValue !== 'given';
      resolve(!isDeclined);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

function submit(event, dialog, input) {
  event.preventDefault();
  const token = input.value.trim();
  if (/^[!-~]+$/.test(token)) {
    kept.set(token);
    dialog.close('given');
  } else {
    input.setCustomValidity('A token consists of visible ASCII characters without spaces.');
    input.reportValidity();
    input.addEventListener('input', () => input.setCustomValidity(''), { once: true });
  }
}
