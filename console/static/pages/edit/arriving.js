import { eventOf, isLater } from '../../lib/position.js';

/** @typedef {import('../../lib/row.js').Row} Row */

/** How many lines of rules and collections are kept apart. */
const MAX_LINES = 200;

/** Counts the derived changes of a write, among the rows of the feed from its position on. */
export class Arriving {
  /**
   * @param {string} position of the write
   * @param {number} derived how many there are
   */
  constructor(position, derived) {
    this.position = position;
    this.derived = derived;
    this.event = eventOf(position);
    this.at = position;
    this.tx = ''; // a delete may write more documents: their changes are caused by it, too
    this.come = 0;
    this.complete = derived <= 0;
    this.began = performance.now();
    this.ms = 0;
    /** @type {Map<string, { collection: string, rule: string, count: number }>} */
    this.counts = new Map();
  }

  /** @param {Row[]} rows */
  add(rows) {
    if (this.complete) return;
    for (const row of rows) {
      if (this.#isOurs(row)) {
        if (row.op === 'derive') this.#count(row);
      } else if (isLater(row.seq, this.position)) this.complete = true;
    }
    this.complete ||= this.come >= this.derived;
    this.ms = performance.now() - this.began;
  }

  /**
   * Takes how far the feed has been read. Where it has nothing more, all that the reader may see has come.
   * @param {string} at
   * @param {boolean} all
   */
  moved(at, all) {
    this.at = at;
    if (all && isLater(at, this.position)) this.complete = true;
  }

  /** @param {Row} row */
  #isOurs(row) {
    if (this.tx === '' && row.tx !== '' && (eventOf(row.seq) === this.event || eventOf(row.cause?.seq ?? '') === this.event)) this.tx = row.tx;
    return eventOf(row.seq) === this.event || (row.tx !== '' && row.tx === this.tx);
  }

  /** @param {Row} row */
  #count(row) {
    this.come++;
    for (const rule of row.cause?.rules ?? [row.cause?.rule ?? '']) {
      const name = row.collection + ' ' + rule;
      const of = this.counts.get(name);
      if (of) of.count++;
      else if (this.counts.size < MAX_LINES) this.counts.set(name, { collection: row.collection, rule, count: 1 });
    }
  }
}
