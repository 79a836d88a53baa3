import { follow } from '../lib/feed.js';
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { eventOf, isLater } from '../lib/http.js';
import { useHidden } from '../lib/text.js';
import { FeedState } from '../ui/changes.js';
import { Visible, number } from '../ui/parts.js';

/** @typedef {import('../lib/feed.js').Row} Row */

/** How often the region shows what has come, in milliseconds. */
const DRAW = 50;

/**
 * The derived changes of a save as they come on the feed, by rule and collection.
 * @param {{ position: string, derived: number, took: number, visible?: boolean }} props position of the write, how many derived changes its
 * answer named, the milliseconds until the
 *   answer, and whether all readers saw it then
 */
export function Arrival({ position, derived, took, visible = true }) {
  const { of, state, problem, again } = useArriving(position, derived);
  const ms = visible ? took : took + of.ms;
  const sentence = `${number(of.come)} of ${number(derived)} derived change${derived === 1 ? '' : 's'}`;
  const rate = of.come > 1 && of.ms > 0 ? `, ${number(Math.round(of.come / (of.ms / 1000)))} a second` : '';
  const rest = of.come < derived ? ': all that you may read' : '';
  return html`<section aria-label="Arrival" class="arrival">
    <p>${
      visible || of.complete
        ? html`Visible to all readers at <code>${position}
      </code>, ${number(Math.round(ms))} ms after saving.`
        : html`Saved at <code>${position}
        </code>. Readers see it once the node has read so far.`
    }</p>
    ${!of.complete && html`<p>${sentence}${rate}</p>`}
    <p role="status">${of.complete && sentence + rest + rate}</p>
    <ul>${[...of.counts.values()].map(
      ({ collection, rule, count }) => html`<li key=${collection + ' ' + rule}>
      ${number(count)} in <${Visible} text=${collection} max=${100} />, by <${Visible} text=${rule} max=${200} /></li>`,
    )}</ul>
    ${!of.complete && html`<${FeedState} state=${state} problem=${problem} again=${again}><p>The save itself is done.</p><//>`}
  </section>`;
}

/**
 * Follows the feed from the position of a write until all that it has caused has come.
 * @param {string} position
 * @param {number} derived
 */
function useArriving(position, derived) {
  const hidden = useHidden();
  const [tries, setTries] = useState(0);
  const [view, setView] = useState({
    state: /** @type {'off' | 'open' | 'cut' | 'ended'} */ ('off'),
    problem: /** @type {any} */ (undefined),
  });
  const current = useRef(new Arriving(position, derived));
  if (current.current.position !== position) current.current = new Arriving(position, derived);
  useEffect(() => {
    const of = current.current;
    if (of.complete || hidden) return undefined;
    const ending = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | 0} */
    let drawing = 0;
    const draw = (/** @type {Partial<typeof view>} */ more) => setView((now) => ({ ...now, ...more }));
    const look = () => {
      if (of.complete) {
        draw({});
        ending.abort();
      } else
        drawing ||= setTimeout(() => {
          drawing = 0;
          draw({});
        }, DRAW);
    };
    draw({ state: 'off', problem: undefined });
    follow({
      query: { mode: 'all' },
      since: of.at,
      signal: ending.signal,
      onRows: (rows) => of.add(rows),
      onPosition: (at, all) => {
        of.moved(at, all);
        look();
      },
      onState: (state, problem) => draw({ state, problem }),
    }).then((problem) => {
      if (problem && !ending.signal.aborted) draw({ state: 'ended', problem });
    });
    return () => {
      clearTimeout(drawing);
      ending.abort();
    };
  }, [position, derived, hidden, tries]);
  return { of: current.current, ...view, again: () => setTries((n) => n + 1) };
}

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
    if (this.tx === '' && row.tx !== '' && (eventOf(row.seq) === this.event || eventOf(row.cause?.seq ?? '') === this.event))
      this.tx = row.tx;
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
