// Writes: what they would change, and how they are sent so that each happens once.
import { ask, Problem, request } from './http.js';
import { member, plain, textOf } from '../json/value.js';
import { scan } from '../json/scan.js';

/** @typedef {import('./http.js').Asked} Asked */

/** How many examples of derived changes are asked for. */
const EXAMPLES = 5;

/**
 * What a write would change.
 * @typedef {object} Effects
 * @property {number} derived how many derived changes it would cause
 * @property {[string, number][]} rules changes by rule
 * @property {[string, number][]} collections changed documents by collection, most first
 * @property {{ op: string, collection: string, id: string }[]} writes what it would write, itself first
 * @property {Example[]} examples some of the derived changes
 */

/** @typedef {{ collection: string, id: string, rule: string, patch: import('../json/scan.js').Node | undefined }} Example */

/**
 * What a write has done.
 * @typedef {object} Written
 * @property {string} position
 * @property {number | undefined} derived how many derived changes it caused; undefined where the reader may not know, or nobody knows yet
 * @property {boolean} visible whether all readers see it already
 * @property {number} took milliseconds until the answer
 * @property {string} location of a new document
 */

/**
 * Returns what a write would change. Nothing is written.
 * @param {Asked} asked
 * @param {AbortSignal} signal
 * @returns {Promise<Effects>}
 * @throws {Problem}
 */
export async function effectsOf(asked, signal) {
  const root = scan((await request({ ...asked, query: { ...asked.query, dryRun: true, examples: EXAMPLES }, signal })).text);
  const of = plain(root);
  const counted = (/** @type {any} */ counts) => /** @type {[string, number][]} */ (Object.entries(counts ?? {})).sort(([, a], [, b]) => b - a);
  const examples = (member(root, 'examples')?.elements ?? []).map((one) => ({
    collection: textOf(member(one, 'collection')) ?? '', id: textOf(member(one, 'id')) ?? '', rule: textOf(member(one, 'rule')) ?? '', patch: member(one, 'patch'),
  }));
  return { derived: of.derived, rules: counted(of.rules), collections: counted(of.collections), writes: of.writes, examples };
}

/**
 * Returns how many derived changes the model lets a write cause that does not ask for more, undefined where that is not told.
 * @param {AbortSignal} signal
 * @returns {Promise<number | undefined>}
 */
export async function fanoutLimit(signal) {
  try {
    const limit = (await ask({ path: ['_model'], headers: { Accept: 'application/json' }, signal })).fanout?.limit;
    return typeof limit === 'number' ? limit : undefined;
  } catch {
    return undefined; // whoever may not read the model is told by the write
  }
}

/** Returns a key under which a write happens once. The browser's randomUUID is not there for pages that come without TLS. */
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Writes. The same request under the same key writes once, however often it is sent.
 * @param {Asked} asked
 * @param {string} key
 * @param {boolean} allowFanout lets it change more than the model's limit
 * @returns {Promise<Written>}
 * @throws {Problem}
 */
export async function write(asked, key, allowFanout) {
  const began = performance.now();
  const query = allowFanout ? { ...asked.query, allowFanout } : asked.query;
  const { headers, status } = await request({ ...asked, query, headers: { ...asked.headers, 'Idempotency-Key': key } });
  const derived = headers.get('Fanfold-Derived-Changes');
  return {
    position: headers.get('Fanfold-Position') ?? '',
    derived: derived === null ? undefined : Number(derived),
    visible: status !== 202,
    took: performance.now() - began,
    location: headers.get('Location') ?? '',
  };
}

/** Problems that say that a node did not begin to write. */
const REFUSALS = ['unavailable', 'catching-up', 'lagging', 'rights-stale'];

/**
 * Tells whether a write may have happened although a problem is all that came.
 * @param {Problem} problem
 */
export const isUnknown = (problem) => problem.status === 0 || (problem.status >= 500 && !REFUSALS.includes(problem.kind));

/**
 * Tells whether the same write may work when it is sent once more.
 * @param {Problem} problem
 */
export const mayRepeat = (problem) => problem.status === 0 || problem.status >= 500 || problem.status === 429 || problem.status === 408;
