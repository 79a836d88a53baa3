// Writes: what they would change, and how they are sent so that each happens once.
import { useEffect, useRef, useState } from './html.js';
import { Problem, ask, request } from './http.js';
import { member, plain, scan, textOf } from './json.js';
import { asProblem } from './load.js';
import { onItsWay } from './place.js';

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

/** @typedef {{ collection: string, id: string, rule: string, patch: import('./json.js').Node | undefined }} Example */

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
  const counted = (/** @type {any} */ counts) =>
    /** @type {[string, number][]} */ (Object.entries(counts ?? {})).sort(([, a], [, b]) => b - a);
  const examples = (member(root, 'examples')?.elements ?? []).map((one) => ({
    collection: textOf(member(one, 'collection')) ?? '',
    id: textOf(member(one, 'id')) ?? '',
    rule: textOf(member(one, 'rule')) ?? '',
    patch: member(one, 'patch'),
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

/**
 * How a write stands: nothing is going on; its effects are asked for; they are shown, and wait for an answer; it is being sent.
 * @typedef {object} State
 * @property {'idle' | 'looking' | 'asking' | 'sending'} phase
 * @property {Asked} [asked] the request, while its effects are shown
 * @property {Effects} [effects] that are shown
 * @property {Known['own']} [own] what the write makes of the document itself
 * @property {boolean} [past] they are more than the model lets one write cause
 * @property {Problem} [problem] of what was done last
 * @property {boolean} [unknown] nobody knows whether it was written
 * @property {() => void} [again] does it once more
 */

/**
 * What is known of a write before it is looked at.
 * @typedef {object} Known
 * @property {boolean} [always] it is asked even where nothing derived would change
 * @property {{ before: string | undefined, after: string }} [own] the document's JSON as it is, and as it is to be
 */

/**
 * @typedef {object} Writing
 * @property {State} state
 * @property {(asked: Asked, known?: Known) => void} begin asks for the effects of a write
 * @property {(allowFanout: boolean) => void} go sends it
 * @property {() => void} stop gives it up, and what was shown of it
 */

/** Above so many derived changes nobody writes by a key that was pressed too fast. */
export const MANY = 10_000;

/**
 * Writes after a look at the effects.
 * @param {{ always?: boolean, onDone: (written: Written, effects?: Effects) => void, onStale?: (problem: Problem) => void }} props
 *   always asks even where nothing derived would change, and shows who restricts a delete; onDone is given what was written, and what was
 *   told of it before; onStale is called where the document is at another revision
 * @returns {Writing}
 */
export function useWriting({ always = false, onDone, onStale }) {
  const [state, setState] = useState(/** @type {State} */ ({ phase: 'idle' }));
  const made = useRef(/** @type {Writes | null} */ (null));
  made.current ??= new Writes(setState);
  const writes = made.current;
  writes.of = { always, onDone, onStale };
  useEffect(() => () => writes.ending.abort(), []);
  return {
    state,
    begin: (asked, known = {}) => {
      onItsWay(writes.look(asked, known));
    },
    go: (allowFanout) => {
      onItsWay(writes.send(state, allowFanout));
    },
    stop: () => {
      writes.ending.abort();
      setState({ phase: 'idle' });
    },
  };
}

/** A write and the look at its effects, one at a time. */
class Writes {
  /** @param {(state: State) => void} show */
  constructor(show) {
    this.show = show;
    this.ending = new AbortController();
    this.asked = /** @type {Asked} */ ({ path: [] });
    this.key = '';
    this.isSending = false;
    this.of = /** @type {Parameters<typeof useWriting>[0]} */ ({ onDone: () => {} });
  }

  /**
   * @param {Asked} asked
   * @param {Known} known
   */
  async look(asked, { always = this.of.always, own }) {
    if (this.isSending) return; // a second click must not be a second write
    this.ending.abort();
    const ending = new AbortController();
    Object.assign(this, { ending, asked, key: newKey() });
    this.show({ phase: 'looking' });
    try {
      const effects = await effectsOf(asked, ending.signal);
      const limit = effects.derived > 0 ? await fanoutLimit(ending.signal) : undefined;
      if (ending.signal.aborted) return;
      if (always || effects.derived > 0 || effects.writes.length > 1)
        this.show({ phase: 'asking', asked, effects, own, past: limit !== undefined && effects.derived > limit });
      else await this.send(undefined, false);
    } catch (error) {
      if (!ending.signal.aborted) this.refused(asProblem(error), { phase: 'idle' }, () => this.look(asked, { always, own }));
    }
  }

  /**
   * @param {State | undefined} shown the dialog it comes from
   * @param {boolean} allowFanout
   */
  async send(shown, allowFanout) {
    if (this.isSending) return;
    this.isSending = true;
    this.show({ ...shown, phase: 'sending', problem: undefined });
    try {
      const written = await write(this.asked, this.key, allowFanout);
      this.show({ phase: 'idle' });
      // The look ahead counted what the reader may see.
      this.of.onDone({ ...written, derived: written.derived ?? shown?.effects?.derived }, shown?.effects);
    } catch (error) {
      const problem = asProblem(error);
      const back = shown ? { ...shown, phase: /** @type {const} */ ('asking') } : { phase: /** @type {const} */ ('idle') };
      if (problem.kind === 'fanout-limit' && shown) this.show({ ...back, past: true, problem });
      else this.refused(problem, back, () => this.send(shown, allowFanout), isUnknown(problem));
    } finally {
      this.isSending = false;
    }
  }

  /**
   * @param {Problem} problem
   * @param {State} back
   * @param {() => Promise<void>} again
   */
  refused(problem, back, again, unknown = false) {
    if (problem.status === 412 && this.of.onStale) {
      this.show({ phase: 'idle' });
      this.of.onStale(problem);
      return;
    }
    const phase = this.of.always && problem.kind === 'restricted' ? 'asking' : back.phase;
    this.show({ ...back, phase, problem, again: mayRepeat(problem) ? () => onItsWay(again()) : undefined, unknown });
  }
}
