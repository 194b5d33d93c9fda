import { askForToken, currentToken } from './token.js';

const TIMEOUT_MILLIS = 70_000; // the service closes the connection of a report after 65 s

/** A request that was not answered as it should be. */
export class ApiError extends Error {
  /**
   * @param {number} status of HTTP; 0 if there was no answer
   * @param {number} retryAfterSeconds when the service can be asked again; 0 if it did not say
   */
  constructor(status, detail, retryAfterSeconds = 0) {
    super(detail);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** Whether this service has no such endpoint. */
  get isMissing() {
    return this.status === 404 || this.status === 405;
  }
}

/** Sends a GET request and returns the JSON of its answer. */
export async function getJson(path) {
  return receive(path, { headers: { Accept: 'application/json' } }, (response) => response.json());
}

/** Sends JSON and returns the JSON of the answer. */
export async function postJson(path, body) {
  const headers = { Accept: 'application/json', 'Content-Type': 'application/json' };
  return receive(path, { method: 'POST', headers, body: JSON.stringify(body) }, (response) => response.json());
}

/** Sends a GET request and returns the text of its answer. */
export async function getText(path, accept) {
  return receive(path, { headers: { Accept: accept } }, (response) => response.text());
}

/** The body can be cut off, or be that of a proxy. */
async function receive(path, options, read) {
  const response = await send(path, options);
  try {
    return await read(response);
  } catch {
    throw new ApiError(response.status, 'the answer cannot be read');
  }
}

/**
 * Sends a request with the token, and asks for one if the service requires it.
 * @param {string} path within this service
 * @param {object} options as for fetch; a `signal` takes the place of the time limit
 * @throws ApiError if the answer is an error, or there is none
 */
export async function send(path, options) {
  const token = currentToken();
  const response = await answer(path, options, token);
  if (response.status === 401 && (await askForToken(token))) {
    return send(path, options);
  }
  if (!response.ok) {
    throw new ApiError(response.status, await detailOf(response), Number(response.headers.get('Retry-After')) || 0);
  }
  return response;
}

async function answer(path, options, token) {
  const headers = token === null ? options.headers : { ...options.headers, Authorization: `Bearer ${token}` };
  try {
    return await fetch(path, {
      signal: AbortSignal.timeout(TIMEOUT_MILLIS),
      ...options,
      headers,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
    });
  } catch (error) {
    throw error.name === 'AbortError' ? error : new ApiError(0, 'the service does not answer');
  }
}

/** Errors of the service are problem+json; those of a proxy may be anything. */
async function detailOf(response) {
  try {
    return (await response.json()).detail ?? `HTTP status ${response.status}`;
  } catch {
    return `HTTP status ${response.status}`;
  }
}
