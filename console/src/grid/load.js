import { signal, useEffect, useMemo, useRef, useState } from '../lib/html.js';
import { request } from '../lib/http.js';
import { member, plain, read, textOf } from '../lib/json.js';
import { asProblem, useLive } from '../lib/load.js';
import { useSeen } from '../ui/changes.js';
import { columnsOf, pathsOf } from './cells.js';
import { rowsAsked } from './query.js';

/** @typedef {import('../lib/json.js').Node} Node */

/**
 * A page of documents.
 * @typedef {object} Page
 * @property {Node[]} documents
 * @property {string[]} ids theirs
 * @property {string[]} columns
 * @property {string} next the cursor of the next page, empty for none
 * @property {string} position
 * @property {string[]} hints what the query may have meant
 * @property {number} noValue how many documents it had no value for
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
  const hints = member(root, 'hints');
  const noValue = member(root, 'noValue');
  return {
    documents,
    ids: documents.map(idOf),
    columns: asked.query.fields ? pathsOf(asked.query.fields) : columnsOf(documents),
    next: textOf(member(root, 'next')) ?? '',
    position: headers.get('Fanfold-Position') ?? '',
    hints: hints ? plain(hints) : [],
    noValue: noValue ? plain(noValue) : 0,
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
async function loadRows(collection, ids, columns, position, signal) {
  const { text } = await request({ ...rowsAsked(collection, ids, columns), headers: { 'Fanfold-Min-Position': position }, signal });
  const documents = member(await read(text, signal), 'items')?.elements ?? [];
  return new Map(documents.map((doc) => [idOf(doc), doc]));
}

/** @param {Node} doc */
const idOf = (doc) => textOf(member(doc, 'id')) ?? '';

/** How high a row is, as grid.css has it, in pixels. */
export const ROW = 24;

/** Where a list was left: the cursors of its pages, how many rows each has, and how far it was scrolled. */
const MAX_LEFT = 50;

/** @typedef {{ pages: { cursor: string, rows: number }[], next: string, columns: string[], top: number }} Left */

/** @type {Map<string, Left>} */
const left = new Map();

/**
 * Returns where a list was left that the tab comes back to, undefined where it comes anew.
 * @param {string} name of the list
 */
export const leftOf = (name) => (history.state?.list === name ? left.get(name) : undefined);

/** Says that the place in the history of the tab is that of a list. @param {string} name */
export const markHere = (name) => {
  if (history.state?.list !== name) history.replaceState({ list: name }, '');
};

/** How many rows before its end a list goes on. */
const AHEAD = 50;

/** How many pages are held beside those that are seen, on each side, and how many rows a list has at most. */
const MAX_HELD = 4;
const MAX_ROWS = 500_000;

/** How many pages without a row are asked for, one after the other, until the reader asks for more. */
const MAX_EMPTY = 10;

/** @typedef {{ cursor: string, rows: number, of?: Page }} Part */

/**
 * The documents of a list by their rows, page by page. Pages far from what is seen are forgotten, and asked for again by their cursors.
 */
export class Sheet {
  /** @type {Set<string> | undefined} */
  #ids;

  /**
   * @param {string} name of the list
   * @param {(cursor: string, columns: string[], signal: AbortSignal) => Promise<Page>} load
   * @param {Page} first the page that was asked for first
   * @param {number} at which page it is
   * @param {import('../lib/place.js').Place} place of the list
   */
  constructor(name, load, first, at, place) {
    const was = leftOf(name);
    this.name = name;
    this.place = place;
    this.load = load;
    this.columns = first.columns;
    this.position = first.position;
    this.first = first;
    /** @type {Part[]} */
    this.parts = was ? was.pages.map((p) => ({ ...p })) : [{ cursor: '', rows: 0 }];
    this.next = was ? was.next : first.next;
    this.top = was?.top ?? 0;
    this.ending = new AbortController();
    this.seen = { from: 0, to: 0 };
    this.empty = 0;
    this.busy = false;
    /** @type {import('../lib/http.js').Problem | undefined} */
    this.problem = undefined;
    /** Counts what has come, for those who show it. */
    this.version = signal(0);
    this.#take(at, first);
  }

  /** How many rows are known. */
  get rows() {
    return this.parts.reduce((sum, part) => sum + part.rows, 0);
  }

  /** Whether it goes on after the rows that are known, and whether it may here. */
  get more() {
    return this.next !== '' && this.rows < MAX_ROWS;
  }

  /** The ids of the documents that are held. */
  get ids() {
    this.#ids ??= new Set(this.parts.flatMap((part) => part.of?.ids ?? []));
    return this.#ids;
  }

  /** The documents that are held. */
  get documents() {
    return this.parts.flatMap((part) => part.of?.documents ?? []);
  }

  /**
   * Returns the row at a place, undefined where it is not held.
   * @param {number} row
   * @returns {{ id: string, doc: Node } | undefined}
   */
  at(row) {
    let from = 0;
    for (const part of this.parts) {
      if (row < from + part.rows) return part.of && { id: part.of.ids[row - from], doc: part.of.documents[row - from] };
      from += part.rows;
    }
    return undefined;
  }

  /**
   * Returns which rows are held without a gap around those that are seen.
   * @param {number} most how many at most
   */
  held(most) {
    const seen = this.#pagesOf(this.seen.from, this.seen.to).first;
    let [first, last, row] = [0, 0, 0];
    for (const [i, part] of this.parts.entries()) {
      row += part.rows;
      if (part.of) last = row;
      else if (i < seen) first = last = row;
      else break;
    }
    return { first, last: Math.min(last, first + most) };
  }

  /**
   * Returns the cursor of the page that follows the page of a row, empty where there is none.
   * @param {number} row
   */
  after(row) {
    let from = 0;
    for (const [i, part] of this.parts.entries()) {
      from += part.rows;
      if (row < from) return this.parts[i + 1]?.cursor ?? this.next;
    }
    return this.next;
  }

  /**
   * Says which rows are seen: those that are missing are asked for.
   * @param {number} from
   * @param {number} to
   * @param {number} top how far the list is scrolled
   */
  show(from, to, top) {
    this.seen = { from, to };
    this.top = top;
    this.#keep();
    this.#fill();
  }

  /** Goes on after a problem, or after many pages without a row. */
  again() {
    this.problem = undefined;
    this.empty = 0;
    this.#fill();
  }

  /** Ends what is on its way. */
  end() {
    this.ending.abort();
  }

  #keep() {
    left.delete(this.name);
    left.set(this.name, {
      pages: this.parts.map(({ cursor, rows }) => ({ cursor, rows })),
      next: this.next,
      columns: this.columns,
      top: this.top,
    });
    if (left.size > MAX_LEFT) left.delete([...left.keys()][0]);
  }

  /**
   * Which pages have rows from one to another.
   * @param {number} from
   * @param {number} to
   */
  #pagesOf(from, to) {
    let row = 0;
    const out = { first: this.parts.length - 1, last: 0 };
    for (const [i, part] of this.parts.entries()) {
      if (row + part.rows > from) out.first = Math.min(out.first, i);
      if (row < to) out.last = i;
      row += part.rows;
    }
    return out;
  }

  /** Asks for what is missing, one page at a time. */
  async #fill() {
    if (this.busy || this.problem) return;
    this.busy = true;
    try {
      for (let i = this.#missing(); i >= 0 && !this.ending.signal.aborted; i = this.#missing()) {
        const cursor = this.parts[i]?.cursor ?? this.next;
        this.version.value++;
        const page = await this.load(cursor, this.columns, this.ending.signal);
        if (this.ending.signal.aborted) return;
        this.empty = page.documents.length > 0 ? 0 : this.empty + 1;
        if (i === this.parts.length) this.parts.push({ cursor, rows: 0 });
        this.#take(i, page);
        this.version.value++;
      }
    } catch (error) {
      if (!this.ending.signal.aborted) this.problem = asProblem(error);
    } finally {
      this.busy = false;
      this.version.value++;
    }
  }

  /** Returns the page that is to be asked for: one that is seen, or the one after all. It is -1 for none. */
  #missing() {
    const { first, last } = this.#pagesOf(this.seen.from, this.seen.to);
    for (let i = first; i <= last; i++) if (!this.parts[i].of) return i;
    return this.more && this.seen.to + AHEAD >= this.rows && this.empty < MAX_EMPTY ? this.parts.length : -1;
  }

  /**
   * Takes a page. Where it ends elsewhere than it did, what came after it is not known any more.
   * @param {number} i
   * @param {Page} page
   */
  #take(i, page) {
    this.#ids = undefined;
    const part = this.parts[i];
    const following = this.parts[i + 1]?.cursor ?? this.next;
    part.rows = page.documents.length;
    part.of = page;
    if (page.next !== following || i === this.parts.length - 1) {
      this.parts.length = i + 1;
      this.next = page.next;
    }
    const { first, last } = this.#pagesOf(this.seen.from, this.seen.to);
    for (const [k, other] of this.parts.entries()) if (k !== i && (k < first - MAX_HELD || k > last + MAX_HELD)) other.of = undefined;
  }
}

/**
 * Returns the sheet of a list, which goes on from its first page.
 * @param {{ name: string, page: Page, at: number, place: import('../lib/place.js').Place } | undefined} first
 * @param {(cursor: string, columns: string[], signal: AbortSignal) => Promise<Page>} load
 * @returns {Sheet | undefined}
 */
export function useSheet(first, load) {
  const sheet = useMemo(() => first && new Sheet(first.name, load, first.page, first.at, first.place), [first]);
  useEffect(() => () => sheet?.end(), [sheet]);
  sheet?.version.value; // whoever shows it is told of what comes
  return sheet;
}

/** How many documents are asked for at a time. */
const AT_ONCE = 50;

/**
 * What has changed of a list since it was loaded: documents as they are by now, null for those that are gone.
 * @typedef {Map<string, import('../lib/json.js').Node | null>} Changed
 */

/**
 * Follows the documents of a list, and asks for those that changed.
 * @param {string} collection
 * @param {Sheet | undefined} sheet
 * @param {boolean} live whether it is to be followed
 */
export function useFollowed(collection, sheet, live) {
  const since = live ? (sheet?.position ?? '') : '';
  const [changed, setChanged] = useState(/** @type {Changed} */ (new Map()));
  const [others, setOthers] = useState(0);
  const waiting = useRef({ ids: new Set(/** @type {string[]} */ ([])), position: '', busy: false, ending: new AbortController() });
  useEffect(() => {
    setChanged(new Map());
    setOthers(0);
    waiting.current = { ids: new Set(), position: '', busy: false, ending: new AbortController() };
    return () => waiting.current.ending.abort();
  }, [sheet]);
  const has = (/** @type {string} */ id) => sheet?.ids.has(id) ?? false;
  useLive([collection], since, (rows) => {
    const ids = sheet?.ids;
    setOthers((n) => n + rows.filter((row) => !ids?.has(row.id)).length);
  });
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
    if (of.busy || !sheet) return;
    of.busy = true;
    try {
      while (of.ids.size > 0 && !of.ending.signal.aborted) {
        const ids = [...of.ids].slice(0, AT_ONCE);
        const found = await loadRows(collection, ids, sheet.columns, of.position, of.ending.signal);
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
