// What differs between two documents, by the tokens of their values: 2.5 and 2.50 differ, blanks and the order of members do not.
import { below } from './pointer.js';

/** @typedef {import('./scan.js').Node} Node */

/**
 * A difference: a value that came has no old one, and one that went has no new one.
 * @typedef {{ path: string, old?: Node, value?: Node }} Difference
 */

/**
 * Returns what differs, in the order of the second document, and then what went. The indexes of elements that went, or that became
 * others, are those they had; of elements that came, those they have.
 * @param {Node | undefined} before undefined where there was none
 * @param {Node | undefined} after
 * @returns {Difference[]}
 */
export function differences(before, after) {
  /** @type {Difference[]} */
  const out = [];
  compare('', before, after, out);
  return out;
}

/**
 * @param {string} path
 * @param {Node | undefined} before
 * @param {Node | undefined} after
 * @param {Difference[]} out
 */
function compare(path, before, after, out) {
  if (before?.members && after?.members) members(path, byName(before), byName(after), out);
  else if (before?.elements && after?.elements) elements(path, before.elements, after.elements, out);
  else if (!same(before, after)) out.push({ path, old: before, value: after });
}

/** @param {Node} object @returns {Map<string, Node>} the last of equal names */
const byName = (object) => new Map(object.members?.map((m) => [m.name, m.value]));

/**
 * @param {string} path
 * @param {Map<string, Node>} before
 * @param {Map<string, Node>} after
 * @param {Difference[]} out
 */
function members(path, before, after, out) {
  for (const [name, value] of after) compare(below(path, name), before.get(name), value, out);
  for (const [name, old] of before) if (!after.has(name)) out.push({ path: below(path, name), old, value: undefined });
}

/**
 * Compares the elements between those that are equal at both ends, one by one.
 * @param {string} path
 * @param {Node[]} before
 * @param {Node[]} after
 * @param {Difference[]} out
 */
function elements(path, before, after, out) {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && same(before[head], after[head])) head++;
  let tail = 0;
  while (tail < shorter - head && same(before[before.length - 1 - tail], after[after.length - 1 - tail])) tail++;
  for (let i = head; i < shorter - tail; i++) compare(below(path, i), before[i], after[i], out);
  for (let i = shorter - tail; i < after.length - tail; i++) out.push({ path: below(path, i), old: undefined, value: after[i] });
  for (let i = shorter - tail; i < before.length - tail; i++) out.push({ path: below(path, i), old: before[i], value: undefined });
}

/**
 * Tells whether two values have the same tokens, but for blanks and the order of members.
 * @param {Node | undefined} a
 * @param {Node | undefined} b
 * @returns {boolean}
 */
export function same(a, b) {
  if (!a || !b) return a === b;
  if (a.kind !== b.kind) return false;
  if (a.elements && b.elements) return a.elements.length === b.elements.length && a.elements.every((value, i) => same(value, b.elements?.[i]));
  if (!a.members) return a.raw === b.raw;
  const left = byName(a);
  const right = byName(b);
  return left.size === right.size && [...left].every(([name, value]) => same(value, right.get(name)));
}
