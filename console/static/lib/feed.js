// The change feed, read by fetch, which can send the key. It goes on by position after whatever ends a connection.
import { Problem, problemOf, send } from './http.js';
import { scan } from '../json/scan.js';
import { member, plain, textOf } from '../json/value.js';

/**
 * A row of the feed.
 * @typedef {object} Row
 * @property {string} seq its position
 * @property {string} collection
 * @property {string} id
 * @property {string} op
 * @property {number} rev
 * @property {string} time
 * @property {string} tx the transaction, empty for none
 * @property {string} actor who wrote it, as far as the reader may know
 * @property {any} cause of a derived change: what it follows from
 * @property {import('../json/scan.js').Node | undefined} patch
 * @property {import('../json/scan.js').Node | undefined} doc
 */

/**
 * @typedef {object} Following
 * @property {Record<string, string | number | boolean | undefined>} query of the feed, without since
 * @property {string} since a position, 0, now or a time
 * @property {(rows: Row[]) => void | Promise<void>} onRows is given rows in their order, and awaited
 * @property {(position: string) => void} [onPosition] is told how far the feed has been read
 * @property {(state: 'open' | 'cut', problem?: Problem) => void} [onState] is told of each connection and its end
 * @property {AbortSignal} signal ends it
 */

/** The first and the longest pause before another connection, in milliseconds. */
const PAUSES = { first: 500, longest: 10_000 };

/** A node that sends nothing for three heartbeats is given up. */
const HEARTBEAT = 10_000;

/**
 * Follows the feed until its signal ends it. A problem that another try does not mend ends it, too.
 * @param {Following} of
 * @returns {Promise<Problem | undefined>} that problem, such as that the position is gone
 */
export async function follow(of) {
  let since = of.since;
  let pause = PAUSES.first;
  const moved = (/** @type {string} */ position) => { since = position; pause = PAUSES.first; of.onPosition?.(position); };
  while (!of.signal.aborted) {
    const ending = new AbortController();
    const end = () => ending.abort();
    of.signal.addEventListener('abort', end);
    try {
      await connect(of, since, moved, ending);
      of.onState?.('cut');
    } catch (error) {
      if (of.signal.aborted) return undefined;
      const problem = error instanceof Problem ? error : new Problem(0, { title: 'The feed was cut', detail: 'It goes on by itself.' });
      if (problem.status >= 400 && problem.status < 500 && problem.status !== 429) return problem;
      of.onState?.('cut', problem);
    } finally {
      of.signal.removeEventListener('abort', end);
      ending.abort();
    }
    await sleep(pause * (0.5 + Math.random() / 2), of.signal);
    pause = Math.min(pause * 2, PAUSES.longest);
  }
  return undefined;
}

/**
 * Reads one connection to its end.
 * @param {Following} of
 * @param {string} since
 * @param {(position: string) => void} moved
 * @param {AbortController} ending
 */
async function connect(of, since, moved, ending) {
  const response = await send({ path: ['_changes'], query: { ...of.query, feed: 'continuous', heartbeat: HEARTBEAT, since }, signal: ending.signal });
  if (response.status >= 400) throw problemOf(response, await response.text());
  of.onState?.('open');
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const silence = setTimeout(() => ending.abort(), 3 * HEARTBEAT);
    const { value, done } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = /** @type {string} */ (lines.pop());
    await take(of, lines, moved);
    if (of.signal.aborted) return;
  }
}

/** How many rows are read in one go. */
const AT_ONCE = 100;

/**
 * @param {Following} of
 * @param {string[]} lines
 * @param {(position: string) => void} moved
 */
async function take(of, lines, moved) {
  /** @type {Row[]} */
  let rows = [];
  const give = async () => {
    const given = rows;
    rows = [];
    if (given.length) {
      await of.onRows(given);
      moved(given[given.length - 1].seq);
    }
  };
  for (const line of lines) {
    if (line.trim() === '') continue;
    const node = scan(line);
    const last = textOf(member(node, 'last_seq'));
    if (last === undefined) rows.push(rowOf(node));
    else {
      await give();
      moved(last);
    }
    if (rows.length >= AT_ONCE) {
      await give();
      await new Promise((resolve) => setTimeout(resolve));
    }
  }
  await give();
}

/**
 * @param {import('../json/scan.js').Node} node
 * @returns {Row}
 */
function rowOf(node) {
  const text = (/** @type {string} */ name) => textOf(member(node, name)) ?? '';
  const rev = member(node, 'rev');
  const cause = member(node, 'cause');
  return { seq: text('seq'), collection: text('collection'), id: text('id'), op: text('op'), time: text('time'), tx: text('tx'), actor: text('actor'),
    rev: rev ? Number(rev.raw) : 0, cause: cause && plain(cause), patch: member(node, 'patch'), doc: member(node, 'doc') };
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 */
const sleep = (ms, signal) => new Promise((resolve) => {
  const end = () => { clearTimeout(timer); signal.removeEventListener('abort', end); resolve(undefined); };
  const timer = setTimeout(end, ms);
  signal.addEventListener('abort', end);
});
