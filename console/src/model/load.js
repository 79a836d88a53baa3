import { useEffect, useRef, useState } from '../lib/html.js';
import { Problem, ask, hasRole, me, request } from '../lib/http.js';
import { plain, scan } from '../lib/json.js';
import { asProblem, givenUp, useLive } from '../lib/load.js';

/** What asks for the model. */
export const asked = { path: ['_model'] };

/** Of so many pages of a thousand collections the documents are told. */
const PAGES = 5;

/**
 * Asks for the model.
 * @param {AbortSignal} signal
 * @param {string} [etag] of the model that is known
 * @returns {Promise<{ model: any, etag: string, position: string } | undefined>} undefined where it is still that
 * @throws {Problem}
 */
export async function loadModel(signal, etag) {
  const { status, text, headers } = await request({ ...asked, headers: etag ? { 'If-None-Match': etag } : {}, signal });
  if (status === 304) return undefined;
  return { model: plain(scan(text)), etag: headers.get('ETag') ?? '', position: headers.get('Fanfold-Position') ?? '' };
}

/**
 * Asks for the model as text to edit.
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ text: string, etag: string }>}
 */
export async function loadText(signal) {
  const { text, headers } = await request({ ...asked, headers: { Accept: 'application/yaml' }, signal });
  return { text, etag: headers.get('ETag') ?? '' };
}

/**
 * Asks how many documents each collection has.
 * @param {AbortSignal} signal
 * @returns {Promise<Map<string, number>>}
 */
export async function loadCounts(signal) {
  const counts = new Map();
  let cursor;
  for (let page = 0; page < PAGES; page++) {
    const { collections, next } = await ask({ path: [], query: { limit: 1000, cursor }, signal });
    for (const { name, documents } of collections) counts.set(name, documents);
    if (!next) break;
    cursor = next;
  }
  return counts;
}

/**
 * The document to which most others refer by a relation.
 * @typedef {object} Largest
 * @property {string} to its collection
 * @property {string} [id] undefined where none refers to any
 * @property {number} documents that refer to it
 * @property {boolean} [partial] more may refer to it, or to another
 */

/**
 * Asks for the largest target of each relation, by the relation's key.
 * @param {AbortSignal} signal
 * @returns {Promise<Map<string, Largest>>}
 */
async function loadLargest(signal) {
  const { relations } = await ask({ path: ['_model', '_targets'], signal });
  return new Map(relations.map((/** @type {any} */ one) => [one.relation, one]));
}

/**
 * Asks for the status of the node.
 * @param {AbortSignal} signal
 */
export const loadStatus = (signal) => ask({ path: ['_status'], signal });

/**
 * Tells whether a model is being prepared.
 * @param {AbortSignal} [signal]
 * @returns {Promise<boolean>}
 */
export async function isPending(signal) {
  try {
    await request({ path: ['_model', '_pending'], signal });
    return true;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return false;
    throw error;
  }
}

/** How long until the model is asked for again, in milliseconds: a change of it need not change a document. */
const EVERY = 5_000;

/** The same while a model is being prepared. */
const OFTEN = 1_000;

/** How long nothing is asked after rows of the feed have come. */
const REST = 1_000;

/** How many collections the page follows. */
const FOLLOWED = 40;

/**
 * What the page shows.
 * @typedef {object} Shown
 * @property {any} [model]
 * @property {string} etag
 * @property {string} position
 * @property {Map<string, number>} counts
 * @property {Map<string, Largest>} largest targets of the relations
 * @property {any} [status] of the node, for who may read it
 * @property {boolean} [pending] a model is being prepared; undefined as long as that is not known
 */

/** @type {Shown} */
const NOTHING = { etag: '', position: '', counts: new Map(), largest: new Map() };

/**
 * Shows the model that applies, and follows it: the feed tells of the documents, and every few seconds the node is asked whether the
 * model is still the same.
 * @returns {{ shown: Shown, problem?: import('../lib/http.js').Problem, again: () => void, cancel: () => void }}
 */
export function useModel() {
  const [shown, setShown] = useState(NOTHING);
  const [problem, setProblem] = useState(/** @type {import('../lib/http.js').Problem | undefined} */ (undefined));
  const latest = useRef(shown);
  const looking = useRef(/** @type {AbortController | null} */ (null));
  const take = (/** @type {Partial<Shown>} */ more) => {
    latest.current = { ...latest.current, ...more };
    setShown(latest.current);
  };

  const look = async () => {
    looking.current?.abort();
    const ending = new AbortController();
    looking.current = ending;
    try {
      await lookAt(latest.current, take, ending.signal);
      if (!ending.signal.aborted) setProblem(undefined);
    } catch (error) {
      if (!ending.signal.aborted) setProblem(asProblem(error));
    } finally {
      if (looking.current === ending) looking.current = null;
    }
  };
  useEffect(() => {
    const lookIfSeen = () => {
      if (!document.hidden && !looking.current) look();
    };
    const timer = setInterval(lookIfSeen, shown.pending ? OFTEN : EVERY);
    document.addEventListener('visibilitychange', lookIfSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', lookIfSeen);
    };
  }, [shown.pending]);
  const who = me.value;
  useEffect(() => {
    look();
    return () => looking.current?.abort();
  }, [who]);

  const soon = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => () => clearTimeout(soon.current), []);
  const names = shown.model ? Object.keys(shown.model.collections ?? {}).slice(0, FOLLOWED) : [];
  useLive(names, shown.position, () => {
    soon.current ??= setTimeout(() => {
      soon.current = undefined;
      look();
    }, REST);
  });
  const cancel = () => {
    looking.current?.abort();
    setProblem(givenUp());
  };
  return { shown, problem, again: look, cancel };
}

/**
 * Asks for what may have changed. The tables need the model alone, so it is shown first.
 * @param {Shown} before
 * @param {(more: Partial<Shown>) => void} take
 * @param {AbortSignal} signal
 */
async function lookAt(before, take, signal) {
  const changed = await loadModel(signal, before.etag);
  signal.throwIfAborted();
  if (changed) take(changed);
  const [counts, largest, status] = await Promise.all([
    loadCounts(signal),
    loadLargest(signal),
    hasRole('monitor') ? loadStatus(signal) : undefined,
  ]);
  const pending = await pendingAfter(before.pending, status, signal);
  signal.throwIfAborted();
  take({ counts, largest, status, pending });
}

/**
 * Tells whether a model is being prepared. Whoever reads the status learns from it that one is announced. Others ask once.
 * @param {boolean | undefined} before what was known
 * @param {any} status
 * @param {AbortSignal} signal
 * @returns {Promise<boolean | undefined>}
 */
async function pendingAfter(before, status, signal) {
  const asks = before || (status ? status.preparing !== undefined : me.value !== null && before === undefined);
  if (asks) return isPending(signal);
  return status ? false : before;
}

// Differences between two models, in words.

/** @typedef {{ path: string, change: 'added' | 'removed' | 'changed', detail?: string, removes?: boolean }} Difference */

/** What the parts of a collection's declaration are called. */
const PARTS = /** @type {Record<string, string>} */ ({
  derive: 'rule',
  relations: 'relation',
  indexes: 'index',
  unique: 'unique in',
  schema: 'schema of',
  access: 'access to',
  trigger: 'trigger of',
  pages: 'pages of',
  release: 'released path of',
});

/** What members outside the collections are called. */
const WHOLE = /** @type {Record<string, string>} */ ({
  'fanout.limit': 'the limit of derived changes (fanout.limit)',
  'embedded.limit': 'the limit of an embedded document (embedded.limit)',
  open: 'whether undeclared collections are open (open)',
});

/** What becomes of a declaration. */
export const CHANGES = { added: 'New', removed: 'Gone', changed: 'Changed' };

/**
 * Returns what a difference is about.
 * @param {Difference} difference
 */
export function subjectOf({ path }) {
  if (path === '') return 'more declarations';
  const [first, collection, part, ...rest] = path.split('.'); // a collection's name has no dot
  if (first === 'functions' && collection !== undefined) return (part === undefined ? '' : part + ' of ') + 'function ' + collection;
  if (first !== 'collections' || collection === undefined) return WHOLE[path] ?? path;
  if (part === undefined) return 'collection ' + collection;
  const name = rest.join('.');
  const policy = part === 'relations' ? /^(.+)\.(onDelete|strict)$/.exec(name) : null;
  if (policy) return `${policy[2]} of relation ${collection}.${policy[1]}`;
  return `${PARTS[part] ?? part} ${collection}${name && '.' + name}`;
}

/**
 * Returns what is declared now, and what was before. A rule that differs in nothing of its own loses values.
 * @param {Difference} difference
 */
export function detailOf({ path, change, detail = '' }) {
  const [now, was] = detail.split(', was ', 2);
  return change === 'changed' && path.includes('.derive.') && now === was
    ? 'it keeps no values any more that nobody can compute again'
    : detail;
}

/**
 * Returns what access opens and closes.
 * @param {Difference[]} differences
 * @returns {{ opens: boolean, collection: string, text: string }[]}
 */
export const accessOf = (differences) =>
  differences
    .filter(({ path }) => /^collections\.[^.]+\.access$/.test(path))
    .flatMap(({ path, detail = '' }) => {
      const collection = path.split('.')[1];
      const text = detail.startsWith(collection + ': ') ? detail.slice(collection.length + 2) : detail;
      return text
        .split('; ')
        .filter((one) => one !== '')
        .map((one) => ({ opens: !/ may not /.test(one), collection, text: one }));
    });

/**
 * Returns what a model takes away, and how many declarations that are.
 * @param {Difference[]} differences
 * @returns {{ removals: Difference[], count: string }}
 */
export function removalsOf(differences) {
  const removals = differences.filter((one) => one.removes);
  const named = removals.filter((one) => one.path !== '').length;
  return { removals, count: named < removals.length ? `${named} and more` : String(removals.length) };
}
