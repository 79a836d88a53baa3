// Work that takes long: it goes on in the background, and is asked for until it is done.
import { ask, Problem, request } from './http.js';
import { plain } from '../json/value.js';
import { scan } from '../json/scan.js';

/** After so many seconds the work goes on in the background, and so often it is asked for, in milliseconds. */
const WAIT = 2;
const EVERY = 500;

/** @typedef {{ phase: string, done: number, total: number }} Work */

/**
 * @typedef {object} Done
 * @property {number} status
 * @property {(name: string) => string} header returns a header of the answer, empty where it has none
 * @property {any} body
 */

/**
 * Sends a request for work that may take long, and returns its answer.
 * @param {import('./http.js').Asked} asked
 * @param {{ signal: AbortSignal, onWork: (work: Work) => void, ends: boolean }} of onWork is told how far it is; ends says that the
 *   work ends with the signal
 * @returns {Promise<Done>}
 * @throws {Problem}
 */
export async function runWork(asked, { signal, onWork, ends }) {
  const { status, headers, text } = await request({ ...asked, headers: { ...asked.headers, Prefer: `respond-async, wait=${WAIT}` }, signal });
  const location = headers.get('Location') ?? '';
  if (status !== 202 || !location.includes('/_work/')) return { status, header: (name) => headers.get(name) ?? '', body: text === '' ? null : plain(scan(text)) };
  const path = ['_work', location.slice(location.lastIndexOf('/') + 1)];
  try {
    for (;;) {
      const work = await ask({ path, signal });
      if (work.status >= 400) throw new Problem(work.status, work.result ?? {}, new Headers(work.headers ?? {}));
      if (work.status !== undefined) return { status: work.status, header: (name) => headerOf(work.headers, name), body: work.result };
      onWork(work);
      await new Promise((resolve) => setTimeout(resolve, EVERY));
      signal.throwIfAborted();
    }
  } catch (error) {
    if (signal.aborted && ends) request({ method: 'DELETE', path }).catch(() => {}); // it ended, or ends by itself
    throw error;
  }
}

/**
 * @param {Record<string, string> | undefined} headers
 * @param {string} name
 */
const headerOf = (headers, name) => Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1] ?? '';
