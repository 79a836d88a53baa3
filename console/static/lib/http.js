// Requests to the API, whose answers are texts: numbers and escapes in them are those of the server.
import { askForKey, key, keyHeaders } from './key.js';
import { pathOf, queryOf } from './place.js';
import { plain } from '../json/value.js';
import { scan } from '../json/scan.js';

/**
 * What a request asks for.
 * @typedef {object} Asked
 * @property {string} [method] GET by default
 * @property {string[]} path the segments behind /v1
 * @property {Record<string, string | number | boolean | null | undefined> | URLSearchParams} [query]
 * @property {Record<string, string>} [headers]
 * @property {string | Uint8Array | Blob} [body] JSON, unless headers say otherwise
 * @property {AbortSignal} [signal]
 * @property {number} [patience] how long the beginning of the answer may take, in milliseconds
 */

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {Headers} headers
 * @property {string} text
 */

/** A problem as the API answers it (RFC 9457), or one of the way there. */
export class Problem extends Error {
  /**
   * @param {number} status 0 where no answer came
   * @param {Record<string, any>} of the members of the problem
   * @param {Headers} [headers]
   */
  constructor(status, of, headers = new Headers()) {
    super(String(of.title ?? 'The request failed'));
    this.status = status;
    this.title = this.message;
    this.detail = String(of.detail ?? '');
    this.kind = String(of.type ?? '').replace('urn:fanfold:problem:', '');
    this.of = of;
    /** Whether the same request may be answered a little later. */
    this.passing = of.passing === true || [429, 502, 503, 504].includes(status);
    this.headers = headers;
  }
}

/** The address of the API, relative to the page, as a proxy may have put a path before it. */
const base = new URL('../v1', document.baseURI).href;

/**
 * Returns the address of a request.
 * @param {Asked} asked
 */
export const addressOf = (asked) => base + (asked.path.length ? pathOf(asked.path) : '') + queryOf(asked.query ?? {});

/**
 * Sends a request, and asks for a key where one is needed. It returns the answer, whose status is below 400.
 * @param {Asked} asked
 * @returns {Promise<Answer>}
 * @throws {Problem}
 */
export async function request(asked) {
  const response = await send(asked);
  const text = await response.text().catch((error) => { throw broken(error); });
  if (response.status >= 400) throw problemOf(response, text);
  return { status: response.status, headers: response.headers, text };
}

/** Whether requests without a key are let in, and whether the question for a key was answered with none. */
let letIn = false, declined = false;

/**
 * Sends a request and returns its answer, whatever its status, before its body has come.
 * @param {Asked} asked
 * @returns {Promise<Response>}
 */
export async function send(asked) {
  // A browser takes . and .. as steps of the path, however they are encoded, and would ask for something else, with the key.
  if (asked.path.some((part) => part === '.' || part === '..')) throw new Problem(404, { title: 'There is nothing here', detail: 'No name is . or .. alone.' });
  for (;;) {
    const used = key.value;
    const headers = { ...(asked.body === undefined ? {} : { 'Content-Type': 'application/json' }), ...keyHeaders(), ...asked.headers };
    const body = typeof asked.body === 'string' ? new TextEncoder().encode(asked.body) : asked.body;
    const late = new AbortController();
    const timer = asked.patience && setTimeout(() => late.abort(), asked.patience);
    const signal = asked.signal ? AbortSignal.any([asked.signal, late.signal]) : late.signal;
    const response = await fetch(addressOf(asked), { method: asked.method ?? 'GET', headers, body: /** @type {BodyInit | undefined} */ (body), signal, cache: 'no-store' })
      .catch((error) => { throw broken(error); })
      .finally(() => clearTimeout(timer));
    if (used === '' && response.ok) letIn = true;
    if (response.status !== 401 || used === '' && letIn && declined) return response;
    if (used === key.value) {
      declined = !await askForKey();
      if (declined) return response;
    }
    if (asked.signal?.aborted) return response;
  }
}

/** @param {any} error */
function broken(error) {
  if (error?.name === 'AbortError') return error;
  return new Problem(0, { title: 'The server cannot be reached', detail: 'No answer came. It is not known whether the request did anything.', passing: true });
}

/**
 * Returns the problem in an answer.
 * @param {Response} response
 * @param {string} text
 */
export function problemOf(response, text) {
  let of = /** @type {any} */ (null);
  try {
    of = plain(scan(text));
  } catch {
    // it is a proxy's
  }
  if (of === null || typeof of !== 'object') of = { title: 'The server answered ' + response.status, detail: text.slice(0, 1000) };
  return new Problem(response.status, of, response.headers);
}

/**
 * Asks for metadata, and returns it as plain values.
 * @param {Asked} asked
 * @returns {Promise<any>}
 */
export const ask = async (asked) => plain(scan((await request(asked)).text));

/**
 * Returns the command that sends a request.
 * @param {Asked} asked
 */
export function curlOf(asked) {
  const quoted = (/** @type {string} */ text) => "'" + text.replaceAll("'", "'\\''") + "'";
  const words = ['curl', '-sS'];
  if (asked.method && asked.method !== 'GET') words.push('-X', asked.method);
  if (key.value !== '') words.push('-H', '"Authorization: Bearer $FANFOLD_KEY"');
  for (const [name, value] of Object.entries(asked.headers ?? {})) words.push('-H', quoted(name + ': ' + value));
  if (typeof asked.body === 'string') {
    if (!asked.headers?.['Content-Type']) words.push('-H', quoted('Content-Type: application/json'));
    words.push('--data-binary', quoted(asked.body));
  }
  return [...words, quoted(addressOf(asked))].join(' ');
}
