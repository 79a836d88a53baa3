// The rows of the feed that the page keeps: grouped by the event that caused them, the newest events, and a count of what went.

/** @typedef {import('../../lib/feed.js').Row} Row */

/** How many rows are kept. */
export const MAX_ROWS = 2000;

/**
 * What one event did.
 * @typedef {object} Item
 * @property {string} event its number
 * @property {Row | undefined} write the row of the write itself, where the feed has it
 * @property {any} cause what the derived changes follow from
 * @property {string} time
 * @property {number} derived how many derived changes came
 * @property {Row[]} rows those of them that are kept
 */

/** The number of the event that a position is of. @param {string} seq */
export const eventOf = (seq) => seq.split('-')[0];

/** Keeps rows, the newest of them. */
export class Kept {
  constructor() {
    /** @type {Item[]} the newest first */
    this.items = [];
    this.rows = 0;
    this.gone = 0;
  }

  /** Adds rows in the order of the feed. @param {Row[]} rows */
  add(rows) {
    for (const row of rows) this.#addRow(row);
    while (this.rows > MAX_ROWS) this.#drop();
  }

  /** @param {Row} row */
  #addRow(row) {
    const event = eventOf(row.seq);
    if (this.items[0]?.event !== event) this.items.unshift({ event, write: undefined, cause: row.cause, time: row.time, derived: 0, rows: [] });
    const item = this.items[0];
    if (row.op === 'derive') {
      item.derived++;
      item.rows.push(row);
      item.cause ??= row.cause;
    } else item.write ??= row;
    this.rows++;
  }

  /** Lets the oldest row go: the event's own row goes with the event. */
  #drop() {
    const oldest = this.items[this.items.length - 1];
    if (oldest.rows.shift() === undefined || (this.items.length > 1 && oldest.rows.length === 0 && oldest.write === undefined)) {
      this.items.pop();
    }
    this.rows--;
    this.gone++;
  }
}

/**
 * Returns the rows of an item by the rule that each follows from.
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
