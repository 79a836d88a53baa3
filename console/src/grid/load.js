import { useEffect, useRef, useState } from '../lib/html.js';
import { request } from '../lib/http.js';
import { member, read, textOf } from '../lib/json.js';
import { useLive } from '../lib/live.js';
import { useSeen } from '../ui/changes.js';
import { columnsOf, pathsOf, rowsAsked } from './query.js';

/** @typedef {import('../lib/json.js').Node} Node */

/**
 * A page of documents.
 * @typedef {object} Page
 * @property {Node[]} documents
 * @property {string[]} ids theirs
 * @property {string[]} columns
 * @property {string} next the cursor of the next page, empty for none
 * @property {string} position
 */

/**
 * Asks for a page of documents.
 * @param {import('../lib/http.js').Asked & { query: Record<string, any> }} asked
 * @returns {Promise<Page>}
 */
export async function loadPage(asked) {
  const { text, headers } = await request(asked);
  const root = await read(text, asked.signal);
  const documents = member(root, 'items')?.elements ?? [];
  return {
    documents,
    ids: documents.map(idOf),
    columns: asked.query.fields ? pathsOf(asked.query.fields) : columnsOf(documents),
    next: textOf(member(root, 'next')) ?? '',
    position: headers.get('Fanfold-Position') ?? '',
  };
}

/**
 * Asks for some documents as they are now, or later.
 * @param {string} collection
 * @param {string[]} ids
 * @param {string[]} columns
 * @param {string} position
 * @param {AbortSignal} signal
 * @returns {Promise<Map<string, Node>>} those that are there
 */
export async function loadRows(collection, ids, columns, position, signal) {
  const { text } = await request({ ...rowsAsked(collection, ids, columns), headers: { 'Fanfold-Min-Position': position }, signal });
  const documents = member(await read(text, signal), 'items')?.elements ?? [];
  return new Map(documents.map((doc) => [idOf(doc), doc]));
}

/** @param {Node} doc */
const idOf = (doc) => textOf(member(doc, 'id')) ?? '';

/** How many documents are asked for at a time. */
const AT_ONCE = 50;

/**
 * What has changed of a page since it was loaded: documents as they are by now, null for those that are gone.
 * @typedef {Map<string, import('../lib/json.js').Node | null>} Changed
 */

/**
 * Follows the documents of a page, and asks for those that changed.
 * @param {string} collection
 * @param {Page | undefined} page
 * @param {boolean} live whether it is to be followed
 */
export function useFollowed(collection, page, live) {
  const since = live ? (page?.position ?? '') : '';
  const [changed, setChanged] = useState(/** @type {Changed} */ (new Map()));
  const [others, setOthers] = useState(0);
  const waiting = useRef({ ids: new Set(/** @type {string[]} */ ([])), position: '', busy: false, ending: new AbortController() });
  useEffect(() => {
    setChanged(new Map());
    setOthers(0);
    waiting.current = { ids: new Set(), position: '', busy: false, ending: new AbortController() };
    return () => waiting.current.ending.abort();
  }, [page]);
  const has = (/** @type {string} */ id) => page?.ids.includes(id) ?? false;
  useLive([collection], since, (rows) => setOthers((n) => n + rows.filter((row) => !has(row.id)).length));
  const rows = useSeen(
    [collection],
    since,
    (row) => has(row.id),
    (come) => {
      for (const row of come) waiting.current.ids.add(row.id);
      waiting.current.position = come[come.length - 1].seq;
      refresh(waiting.current);
    },
  );

  /** @param {typeof waiting.current} of */
  const refresh = async (of) => {
    if (of.busy || !page) return;
    of.busy = true;
    try {
      while (of.ids.size > 0 && !of.ending.signal.aborted) {
        const ids = [...of.ids].slice(0, AT_ONCE);
        const found = await loadRows(collection, ids, page.columns, of.position, of.ending.signal);
        if (of.ending.signal.aborted) return;
        for (const id of ids) of.ids.delete(id);
        setChanged((now) => new Map([...now, ...ids.map((id) => /** @type {const} */ ([id, found.get(id) ?? null]))]));
      }
    } catch {
      // They are asked for again with the next change, and the feed tells whether the server can be reached.
    } finally {
      of.busy = false;
    }
  };
  return { rows, changed, others };
}
