// The rows of the feed that the page keeps: the newest, grouped by the event that caused them, and a count of what went.
import { follow } from '../lib/feed.js';
import { useEffect, useRef, useState } from '../lib/html.js';
import { eventOf } from '../lib/http.js';
import { useHidden } from '../lib/text.js';

/** @typedef {import('../lib/feed.js').Row} Row */

/** How many rows are kept, and how many characters of them. */
export const MAX = { rows: 2000, size: 8 << 20 };

/**
 * What one event did: a write, a model or an erasure, and the derived changes that follow from it.
 * @typedef {object} Item
 * @property {string} seq of its first row that was seen
 * @property {string} event its number
 * @property {Row | undefined} write the row of the document that was written, where the feed has it
 * @property {any} cause what the derived changes follow from
 * @property {boolean} whole no write comes before the derived changes: a model caused them
 * @property {string} time
 * @property {number} derived how many derived changes came
 * @property {Row[]} rows those of them that are kept, the oldest first
 * @property {number} gone how many of them are not
 */

/** Keeps rows, the newest of them. */
export class Kept {
  constructor() {
    /** @type {Item[]} the newest first */
    this.items = [];
    this.rows = 0;
    this.size = 0;
    this.gone = 0;
  }

  /** Adds rows in the order of the feed. @param {Row[]} rows */
  add(rows) {
    for (const row of rows) {
      this.#add(row);
      while (this.rows > MAX.rows || (this.size > MAX.size && this.rows > 1)) this.#drop();
    }
  }

  /** @param {Row} row */
  #add(row) {
    const event = eventOf(row.seq);
    const derived = row.op === 'derive';
    if (!derived || this.items[0]?.event !== event) {
      this.items.unshift({
        seq: row.seq,
        event,
        write: derived ? undefined : row,
        cause: row.cause,
        whole: derived && row.seq.split('-')[1] === '0',
        time: row.time,
        derived: 0,
        rows: [],
        gone: 0,
      });
    }
    if (derived) {
      this.items[0].derived++;
      this.items[0].rows.push(row);
    }
    this.rows++;
    this.size += row.size;
  }

  /** Lets the oldest row go. An event goes with the last of its rows, and its own row is that. */
  #drop() {
    const oldest = this.items[this.items.length - 1];
    const row = oldest.rows.shift();
    if (row) oldest.gone++;
    if (oldest.rows.length === 0 && (!row || !oldest.write) && this.items.length > 1) this.items.pop();
    this.rows--;
    this.size -= row?.size ?? 0;
    this.gone++;
  }
}

/**
 * Returns rows by the rule that each follows from. One that follows from several is there for each.
 * @param {Row[]} rows
 * @returns {[string, Row[]][]}
 */
export function byRule(rows) {
  /** @type {Map<string, Row[]>} */
  const of = new Map();
  for (const row of rows) {
    for (const rule of row.cause?.rules ?? [row.cause?.rule ?? '']) {
      const list = of.get(rule);
      if (list) list.push(row);
      else of.set(rule, [row]);
    }
  }
  return [...of];
}

/** How often the page shows what has come, in milliseconds. */
const DRAW = 100;

/** @typedef {'off' | 'open' | 'cut' | 'ended'} State */

/**
 * Follows the feed while it is not paused, and goes on by position. A hidden tab has no connection.
 * @param {string} since
 * @param {Record<string, string>} query
 * @param {boolean} paused
 */
export function useFeed(since, query, paused) {
  const hidden = useHidden();
  const [tries, setTries] = useState(0);
  const asked = JSON.stringify([since, query]);
  const kept = useRef({ asked: '', rows: new Kept(), position: '' });
  if (kept.current.asked !== asked) kept.current = { asked, rows: new Kept(), position: '' };
  const [view, setView] = useState({ version: 0, asked, state: /** @type {State} */ ('off'), problem: /** @type {any} */ (undefined) });
  useEffect(() => {
    if (paused || hidden) return undefined;
    const ending = new AbortController();
    const mine = kept.current;
    /** @type {ReturnType<typeof setTimeout> | 0} */
    let drawing = 0;
    const draw = (/** @type {Partial<typeof view>} */ more) => setView((now) => ({ ...now, ...more, asked, version: now.version + 1 }));
    const drawSoon = () => {
      drawing ||= setTimeout(() => {
        drawing = 0;
        draw({});
      }, DRAW);
    };
    draw({ state: 'off', problem: undefined });
    follow({
      query,
      since: mine.position || since,
      signal: ending.signal,
      onRows: (rows) => {
        mine.rows.add(rows);
        drawSoon();
      },
      onPosition: (at) => {
        mine.position = at;
        drawSoon();
      },
      onState: (state, problem) => draw({ state, problem }),
    }).then((problem) => {
      if (problem && !ending.signal.aborted) draw({ state: 'ended', problem });
    });
    return () => {
      ending.abort();
      clearTimeout(drawing);
    };
  }, [asked, paused, hidden, tries]);
  const again = () => setTries((n) => n + 1);
  const anew = () => {
    kept.current = { asked, rows: new Kept(), position: '' };
    again();
  };
  // What was told of another feed is not told of this one.
  const { state, problem } = view.asked === asked ? view : { state: /** @type {State} */ ('off'), problem: undefined };
  return { kept: kept.current.rows, position: kept.current.position, state, problem, again, anew };
}
