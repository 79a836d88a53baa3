// What is typed is put into the bytes that were read, so that all that was not touched stays as it was written.
import { shown } from './indent.js';
import { tokenize } from './tokenize.js';

/**
 * Returns the original with what an edit changed. The tokens that both have at their beginning and at their end keep the bytes and the
 * blanks of the original. What is between them is the edit's. Blanks alone change nothing.
 * @param {string} original JSON
 * @param {string} edited JSON, made from what indent returns for the original
 */
export function splice(original, edited) {
  const old = tokenize(original);
  const now = tokenize(edited);
  const same = (/** @type {number} */ i, /** @type {number} */ k) => {
    const typed = edited.slice(now[k], now[k + 1]);
    const was = original.slice(old[i], old[i + 1]);
    return was === typed || shown(was) === typed;
  };
  const shorter = Math.min(old.length, now.length);
  let head = 0; // how many offsets are those of common tokens
  while (head < shorter && same(head, head)) head += 2;
  if (head === old.length && head === now.length) return original;
  let tail = 0;
  while (tail < shorter - head && same(old.length - tail - 2, now.length - tail - 2)) tail += 2;
  const first = end(old, head);
  const last = start(original, old, tail);
  if (head + tail === old.length) return inserted(original, edited, now, { head, tail, first, last });
  const middle = edited.slice(now[head], end(now, now.length - tail));
  const gap = middle === '' ? first : old[head]; // of a removal one of both gaps stays, the last
  return original.slice(0, gap) + middle + original.slice(end(old, old.length - tail), last) + original.slice(last);
}

/**
 * Where the first tokens end.
 * @param {number[]} at
 * @param {number} count of offsets
 */
const end = (at, count) => (count === 0 ? 0 : at[count - 1]);

/**
 * Where the last tokens begin.
 * @param {string} text
 * @param {number[]} at
 * @param {number} count of offsets
 */
const start = (text, at, count) => (count === 0 ? text.length : at[at.length - count]);

/**
 * Returns the original with tokens put between two of its own. The blanks between those stay before what follows a comma or a bracket,
 * and after what begins with a comma.
 * @param {string} original
 * @param {string} edited
 * @param {number[]} now the offsets of the edit's tokens
 * @param {{ head: number, tail: number, first: number, last: number }} common how many offsets at both ends, and where they end and begin in the original
 */
function inserted(original, edited, now, { head, tail, first, last }) {
  const from = now[head];
  const to = end(now, now.length - tail);
  if (edited[from] === ',') return original.slice(0, first) + edited.slice(end(now, head), to) + original.slice(first);
  return original.slice(0, last) + edited.slice(from, start(edited, now, tail)) + original.slice(last);
}
