// Requests to the API, whose answers are texts: numbers and escapes in them are those of the server.
import { signal } from './html.js';
import { plain, scan } from './json.js';
import { pathOf, queryOf } from './place.js';

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
  const text = await response.text().catch((error) => {
    throw broken(error);
  });
  if (response.status >= 400) throw problemOf(response, text);
  return { status: response.status, headers: response.headers, text };
}

/** Tells whether a request reads a list, so that the server counts it as one of the console. @param {Asked} asked */
const isQuery = ({ method = 'GET', path: [collection, id, child] }) =>
  Boolean(collection) &&
  !collection.startsWith('_') &&
  (id === '_query' || (method === 'GET' && (id === undefined || (child !== undefined && !child.startsWith('_')))));

/** Whether requests without a key are let in, and whether the question for a key was answered with none. */
let letIn = false,
  declined = false;

/**
 * Sends a request and returns its answer, whatever its status, before its body has come.
 * @param {Asked} asked
 * @returns {Promise<Response>}
 */
export async function send(asked) {
  // A browser takes . and .. as steps of the path, however they are encoded, and would ask for something else, with the key.
  if (asked.path.some((part) => part === '.' || part === '..'))
    throw new Problem(404, { title: 'There is nothing here', detail: 'No name is . or .. alone.' });
  for (;;) {
    const used = key.value;
    /** @type {Record<string, string>} */
    const kind = asked.body === undefined ? {} : { 'Content-Type': 'application/json' };
    const headers = { ...kind, ...keyHeaders(), ...(isQuery(asked) && { 'Fanfold-Client': 'console' }), ...asked.headers };
    const body = typeof asked.body === 'string' ? new TextEncoder().encode(asked.body) : asked.body;
    const late = new AbortController();
    const timer = asked.patience && setTimeout(() => late.abort(), asked.patience);
    const signal = asked.signal ? AbortSignal.any([asked.signal, late.signal]) : late.signal;
    const response = await fetch(addressOf(asked), {
      method: asked.method ?? 'GET',
      headers,
      body: /** @type {BodyInit | undefined} */ (body),
      signal,
      cache: 'no-store',
    })
      .catch((error) => {
        throw broken(error);
      })
      .finally(() => clearTimeout(timer));
    if (used === '' && response.ok) letIn = true;
    if (response.status !== 401 || (used === '' && letIn && declined)) return response;
    if (used === key.value) {
      declined = !(await askForKey());
      if (declined) return response;
    }
    if (asked.signal?.aborted) return response;
  }
}

/** @param {any} error */
function broken(error) {
  if (error?.name === 'AbortError') return error;
  return new Problem(0, {
    title: 'The server cannot be reached',
    detail: 'No answer came. It is not known whether the request did anything.',
    passing: true,
  });
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

// The key that requests are sent with. It is kept in memory, or in the tab's sessionStorage where that was asked for.

const NAME = 'fanfold-key';

/** The key, empty for none. */
export const key = signal(sessionStorage.getItem(NAME) ?? '');

/**
 * The question for a key: nothing, or what is to be called with the answer.
 * @type {import('@preact/signals').Signal<null | { refused: boolean, answer: (given: boolean) => void }>}
 */
export const question = signal(null);

/** @type {Promise<boolean> | null} */
let asked = null;

/**
 * Asks for a key, once for all requests that wait for one. It returns whether one was given.
 * @returns {Promise<boolean>}
 */
export function askForKey() {
  asked ??= new Promise((resolve) => {
    question.value = {
      refused: key.value !== '',
      answer: (given) => {
        question.value = null;
        asked = null;
        resolve(given);
      },
    };
  });
  return asked;
}

/**
 * Takes a key for all requests from here on.
 * @param {string} text
 * @param {boolean} keep whether it stays in the tab when the page is loaded anew
 */
export function takeKey(text, keep) {
  key.value = text;
  if (keep) sessionStorage.setItem(NAME, text);
  else sessionStorage.removeItem(NAME);
}

/** Forgets the key, in memory and in the tab. */
export const forgetKey = () => takeKey('', false);

/** Returns the headers that a request needs for the key. @returns {Record<string, string>} */
export const keyHeaders = () => (key.value === '' ? {} : { Authorization: 'Bearer ' + key.value });

/**
 * Whom the server takes the reader for, as _me tells it; null as long as that is not known.
 * @type {import('@preact/signals').Signal<any>}
 */
export const me = signal(null);

/** How often another reader has come: the page of each begins anew, for it may see less. */
export const readers = signal(0);

/** Tells whether the reader has the rights of a role. @param {string} role */
export const hasRole = (role) => Array.isArray(me.value?.roles) && (me.value.roles.includes('admin') || me.value.roles.includes(role));

/**
 * Asks the node whether it is ready, and why not.
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ ok: boolean, status: number, of: any }>} of is what it says
 */
export async function askReady(signal) {
  const response = await fetch(new URL('../readyz', document.baseURI), { headers: keyHeaders(), cache: 'no-store', signal });
  return { ok: response.ok, status: response.status, of: await response.json() };
}

// Positions: an event, the number of a change within it, the store, and perhaps a version of the fold.

/**
 * The number of the event that a position is of, as text.
 * @param {string} position
 */
export const eventOf = (position) => position.split('-')[0];

/**
 * Tells whether a position is later than another of the same store.
 * @param {string} position
 * @param {string} than
 */
export function isLater(position, than) {
  const [event, change] = position.split('-').map(Number);
  const [otherEvent, otherChange] = than.split('-').map(Number);
  return event > otherEvent || (event === otherEvent && change > otherChange);
}

/**
 * Tells whether the reader may do something with documents of a collection, some of them at least. As long as that is not known, they may.
 * @param {string} collection
 * @param {'create' | 'update' | 'delete'} act
 */
export function may(collection, act) {
  const of = me.value?.collections?.[collection] ?? me.value?.otherCollections;
  return !of || of.write === true || of.may?.includes(act) === true;
}

// What the model says of documents, for whoever reads them: also for those who may not read the model itself.

/**
 * Returns the model or, for whoever may not read it, the relations and rules of the collections that they read, in the same form.
 * A rule has no more than its kind and its relation then.
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function loadShape(signal) {
  try {
    return await ask({ path: ['_model'], signal });
  } catch (error) {
    if (![401, 403, 404].includes(/** @type {any} */ (error)?.status)) throw error;
  }
  const { collections } = await ask({ path: ['_me'], query: { relations: true }, signal });
  return {
    collections: Object.fromEntries(
      Object.entries(collections).map(([name, { relations = {}, derive = {} }]) => [name, { relations, derive: kindsOf(derive) }]),
    ),
  };
}

/** Returns rules as a model has them. @param {Record<string, { kind: string, relation?: string }>} derive */
const kindsOf = (derive) =>
  Object.fromEntries(Object.entries(derive).map(([path, { kind, relation }]) => [path, { [kind]: relation ?? true }]));
