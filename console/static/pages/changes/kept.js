// The rows of the feed that the page keeps: the newest, grouped by the event that caused them, and a count of what went.
import { eventOf } from '../../lib/position.js';

/** @typedef {import('../../lib/row.js').Row} Row */

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
        seq: row.seq, event, write: derived ? undefined : row, cause: row.cause, whole: derived && row.seq.split('-')[1] === '0', time: row.time, derived: 0, rows: [], gone: 0,
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
