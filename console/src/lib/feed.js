// The change feed, read by fetch, which can send the key. It goes on by position after whatever ends a connection.
import { Problem, problemOf, send } from './http.js';
import { member, plain, read, scan, tokens } from './json.js';
import { asProblem } from './load.js';
import { Splitter } from './moving.js';

/**
 * @typedef {object} Following
 * @property {Record<string, string | number | boolean | undefined>} query of the feed, without since
 * @property {string} since a position, 0, now or a time
 * @property {(rows: Row[]) => void} onRows is given rows in their order
 * @property {(position: string, all: boolean) => void} [onPosition] is told how far the feed has been read, and whether nothing comes after
 * it so far
 * @property {(state: 'open' | 'cut', problem?: Problem) => void} [onState] is told of each connection and its end
 * @property {number} [heartbeat] how long the server may send nothing, in milliseconds
 * @property {AbortSignal} signal ends it
 */

/** The first and the longest pause before another connection, in milliseconds. */
const PAUSES = { first: 500, longest: 10_000 };

/** How long the server may send nothing. One that sends nothing for three of these is given up. */
const HEARTBEAT = 10_000;

/** How long rows are read until others may work, in milliseconds. */
const TURN = 25;

/**
 * Follows the feed until its signal ends it. A problem that another try does not mend ends it, too.
 * @param {Following} of
 * @returns {Promise<Problem | undefined>} that problem, such as that the position is gone
 */
export async function follow(of) {
  let since = of.since;
  let pause = PAUSES.first;
  const moved = (/** @type {string} */ position, all = false) => {
    since = position;
    pause = PAUSES.first;
    of.onPosition?.(position, all);
  };
  while (!of.signal.aborted) {
    const ending = new AbortController();
    const end = () => ending.abort();
    of.signal.addEventListener('abort', end);
    let least = 0;
    try {
      await connect(of, since, moved, ending);
      if (!of.signal.aborted) of.onState?.('cut');
    } catch (error) {
      if (of.signal.aborted) return undefined;
      const problem = /** @type {any} */ (error)?.name === 'AbortError' ? cut() : asProblem(error);
      if (!problem.passing) return problem;
      least = 1000 * Number(problem.headers.get('Retry-After') ?? 0) || 0;
      of.onState?.('cut', problem);
    } finally {
      of.signal.removeEventListener('abort', end);
      ending.abort();
    }
    await sleep(Math.max(Math.min(least, PAUSES.longest), pause * (0.5 + Math.random() / 2)), of.signal);
    pause = Math.min(pause * 2, PAUSES.longest);
  }
  return undefined;
}

/** A connection that has ended, or has brought nothing for too long. */
const cut = () => new Problem(0, { title: 'The server sends nothing', passing: true });

/**
 * Reads one connection to its end.
 * @param {Following} of
 * @param {string} since
 * @param {(position: string, all?: boolean) => void} moved
 * @param {AbortController} ending
 */
async function connect(of, since, moved, ending) {
  const heartbeat = of.heartbeat ?? HEARTBEAT;
  const patience = 3 * Math.max(heartbeat, HEARTBEAT);
  const response = await send({
    path: ['_changes'],
    query: { ...of.query, feed: 'continuous', heartbeat, since },
    signal: ending.signal,
    patience,
  });
  if (response.status >= 400) throw problemOf(response, await response.text());
  of.onState?.('open');
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  const lines = new Splitter();
  for (;;) {
    const silence = setTimeout(() => ending.abort(), patience);
    const { value, done } = await reader
      .read()
      .catch(broken)
      .finally(() => clearTimeout(silence));
    if (done || of.signal.aborted) return;
    await take(of, lines.add(decoder.decode(value, { stream: true })), moved);
    if (of.signal.aborted) return;
  }
}

/** @param {any} error @returns {never} */
function broken(error) {
  throw error?.name === 'AbortError' ? error : new Problem(0, { title: 'The connection has ended', passing: true });
}

/**
 * Gives the rows of lines away, and lets others work now and then.
 * @param {Following} of
 * @param {string[]} lines
 * @param {(position: string, all?: boolean) => void} moved
 */
async function take(of, lines, moved) {
  /** @type {Row[]} */
  let rows = [];
  let began = performance.now();
  const give = () => {
    const given = rows;
    rows = [];
    if (given.length === 0) return;
    of.onRows(given);
    moved(given[given.length - 1].seq);
  };
  for (const line of lines) {
    if (line.trim() === '') continue;
    const read = readLine(line, of.signal);
    const come = read instanceof Promise ? await read : read;
    if (of.signal.aborted) return;
    if ('seq' in come) rows.push(come);
    else {
      give();
      moved(come.last, true);
    }
    if (performance.now() - began > TURN) {
      give();
      await new Promise((resolve) => setTimeout(resolve));
      if (of.signal.aborted) return;
      began = performance.now();
    }
  }
  give();
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 */
const sleep = (ms, signal) =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve(undefined);
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });

/** How often a page draws what has come, in milliseconds. */
const DRAW = 100;

/**
 * Draws soon, once for all that comes until then.
 * @param {() => void} draw
 * @returns {{ ask: () => void, end: () => void }} ask has it drawn, and after end nothing is
 */
export function soon(draw) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const ask = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      draw();
    }, DRAW);
  };
  return { ask, end: () => clearTimeout(timer) };
}

// A row of the feed. It keeps its text, and reads the patch in it each time that somebody looks, for nodes take more memory.

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
 * @property {any} cause of a derived change, or of a write by a delete: what it follows from
 * @property {import('./json.js').Node | undefined} patch of a derived change: what it did, with old values
 * @property {number} size how many characters of text it keeps
 */

/** A line that is no row: how far the feed has been read. @typedef {{ last: string, end: string }} Mark */

/** From how many characters on a line is read in turns. */
const LONG = 1 << 18;

/**
 * Reads a line of the feed.
 * @param {string} line
 * @param {AbortSignal} signal
 * @returns {Promise<Row | Mark> | Row | Mark} a promise for a long line alone
 */
export function readLine(line, signal) {
  return line.length > LONG ? readLong(line, signal) : made(JSON.parse(line), line);
}

/**
 * @param {string} line
 * @param {AbortSignal} signal
 */
async function readLong(line, signal) {
  const node = await read(line, signal);
  /** @type {any} */
  const of = {};
  for (const m of node.members ?? []) if (!['previous', 'patch', 'doc'].includes(m.name)) of[m.name] = plain(m.value);
  const patch = member(node, 'patch');
  return made(of, patch ? '{"patch":' + tokens(patch) + '}' : '');
}

/**
 * @param {any} of the members of the line but for values of documents, which JavaScript would round
 * @param {string} text that has the patch
 * @returns {Row | Mark}
 */
function made(of, text) {
  if (typeof of.last_seq === 'string') return { last: of.last_seq, end: String(of.end ?? '') };
  if (typeof of.seq !== 'string') throw new SyntaxError('a line of the feed is neither a row nor a position');
  const kept = of.op === 'derive' ? text : ''; // others have the document before, which nobody looks at
  return {
    seq: of.seq,
    collection: of.collection,
    id: of.id,
    op: of.op,
    rev: of.rev,
    time: of.time,
    tx: of.tx ?? '',
    actor: of.actor ?? '',
    cause: of.cause,
    size: kept.length,
    get patch() {
      return kept === '' ? undefined : member(scan(kept), 'patch');
    },
  };
}
