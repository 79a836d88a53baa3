// A row of the feed. It keeps its text, and reads the patch in it each time that somebody looks, for nodes take more memory.
import { read } from '../json/read.js';
import { scan } from '../json/scan.js';
import { member, plain, tokens } from '../json/value.js';

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
 * @property {import('../json/scan.js').Node | undefined} patch of a derived change: what it did, with old values
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
    seq: of.seq, collection: of.collection, id: of.id, op: of.op, rev: of.rev, time: of.time, tx: of.tx ?? '', actor: of.actor ?? '', cause: of.cause, size: kept.length,
    get patch() { return kept === '' ? undefined : member(scan(kept), 'patch'); },
  };
}
