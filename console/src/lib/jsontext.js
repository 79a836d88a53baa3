// What is typed is put into the bytes that were read, so that all that was not touched stays as it was written.
import { NotJSON, below, decoded, tokenize } from './json.js';

/** @typedef {import('./json.js').Node} Node */

/**
 * Returns the original with what an edit changed. The tokens that both have at their beginning and at their end keep the bytes and the
 * blanks of the original, and so do runs of tokens between them. The rest is the edit's. Blanks alone change nothing.
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
  const middle = between({ original, edited, old, now, same }, head, tail);
  const gap = middle === '' ? first : old[head]; // of a removal one of both gaps stays, the last
  return original.slice(0, gap) + middle + original.slice(end(old, old.length - tail), last) + original.slice(last);
}

/**
 * Two texts by their tokens.
 * @typedef {object} Both
 * @property {string} original
 * @property {string} edited
 * @property {number[]} old the offsets of the original's tokens
 * @property {number[]} now those of the edit's
 * @property {(i: number, k: number) => boolean} same whether two tokens are the same
 */

/** How many tokens one after the other must be the same to be those of the original, and how far ahead they are looked for, in
 * offsets; and how often a nearer one is looked for. */
const RUN = 3;
const FAR = 4000;
const LOOKS = 1_000_000;

/**
 * Returns what an edit has between the first and the last tokens, with the bytes of the original where tokens are its own.
 * @param {Both} both
 * @param {number} head how many offsets at the beginning are common
 * @param {number} tail and at the end
 */
function between(both, head, tail) {
  const { original, edited, old, now } = both;
  const ends = { old: old.length - tail, now: now.length - tail };
  const runs = runsOf(original, old, head, ends.old);
  const typed = runsIn(edited, now, head, ends.now);
  const out = [];
  const left = { looks: LOOKS };
  /** @type {number} */
  let next = head; // the first token of the original that is not passed
  let isOwn = false; // whether the token before is the original's
  for (let k = head; k < ends.now; k += 2) {
    /** @type {boolean} */
    const isNext = isOwn && next < ends.old && both.same(next, k);
    /** @type {number} */
    const i = isNext ? next : nextRun(runs, typed, (k - head) / 2, next, left);
    // A value has the blanks that stood before the one that it replaces.
    const isInPlace = isOwn && (i === next || original[old[next - 2]] === ':');
    if (k > head) out.push(isInPlace ? original.slice(old[next - 1], old[next]) : edited.slice(now[k - 1], now[k]));
    out.push(i < 0 ? edited.slice(now[k], now[k + 1]) : original.slice(old[i], old[i + 1]));
    isOwn = i >= 0;
    if (isOwn) next = i + 2;
  }
  return out.join('');
}

/**
 * Returns the runs that begin at each token, as texts.
 * @param {string} text
 * @param {number[]} at
 * @param {number} from
 * @param {number} to
 */
function runsIn(text, at, from, to) {
  /** @type {string[]} */
  const all = [];
  for (let i = from; i < to; i += 2) all.push(shown(text.slice(at[i], at[i + 1])));
  return all.slice(0, Math.max(0, all.length + 1 - RUN)).map((_, i) => all.slice(i, i + RUN).join(' '));
}

/**
 * Returns where runs of tokens begin, by their texts.
 * @param {string} text
 * @param {number[]} at
 * @param {number} from
 * @param {number} to
 */
function runsOf(text, at, from, to) {
  /** @type {Map<string | undefined, number[]>} */
  const found = new Map();
  for (const [n, run] of runsIn(text, at, from, to).entries()) {
    const places = found.get(run);
    if (places) places.push(from + 2 * n);
    else found.set(run, [from + 2 * n]);
  }
  return found;
}

/**
 * Returns where the run of a token begins in the original, -1 where none is near, or where another token has one that is nearer.
 * @param {Map<string | undefined, number[]>} runs
 * @param {string[]} typed the runs of the edit
 * @param {number} n of the token
 * @param {number} next the first token that is not passed
 * @param {{ looks: number }} left how often others are looked at yet
 */
function nextRun(runs, typed, n, next, left) {
  const found = firstFrom(runs.get(typed[n]), next);
  if (found < 0) return found;
  const far = found - next;
  for (let ahead = 1; 2 * ahead < far && left.looks > 0; ahead++, left.looks--) {
    const other = firstFrom(runs.get(typed[n + ahead]), next);
    if (other >= 0 && 2 * ahead + other - next < far) return -1;
  }
  return found;
}

/**
 * Returns the first of places that is not passed, -1 where none is near.
 * @param {number[] | undefined} places
 * @param {number} next
 */
function firstFrom(places, next) {
  let [low, high] = [0, places?.length ?? 0];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number[]} */ (places)[middle] < next) low = middle + 1;
    else high = middle;
  }
  const found = places?.[low] ?? Infinity;
  return found - next <= FAR ? found : -1;
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
 * @param {{ head: number, tail: number, first: number, last: number }} common how many offsets at both ends, and where they end and begin
 * in the original
 */
function inserted(original, edited, now, { head, tail, first, last }) {
  const from = now[head];
  const to = end(now, now.length - tail);
  if (edited[from] === ',') return original.slice(0, first) + edited.slice(end(now, head), to) + original.slice(first);
  return original.slice(0, last) + edited.slice(from, start(edited, now, tail)) + original.slice(last);
}

// How a document stands in a text box: a member or an element a line, its tokens as they are.

/**
 * Returns how a token stands in a text box. Characters that cannot be seen are JSON escapes there, and no others need be.
 * @param {string} token
 */
export const shown = (token) => (token[0] === '"' ? escapeHidden(decoded(token)) : token);

/**
 * Returns a text with its blanks replaced: two for each level, and a line for each member and element.
 * @param {string} text JSON
 */
export function indent(text) {
  const at = tokenize(text);
  const out = [];
  let depth = 0;
  for (let i = 0; i < at.length; i += 2) {
    const token = text.slice(at[i], at[i + 1]);
    const next = text[at[i + 2]];
    if (token === '{' || token === '[') {
      out.push(token);
      if (next !== '}' && next !== ']') out.push(newLine(++depth));
    } else if (token === '}' || token === ']') {
      const before = text[at[i - 2]];
      if (before !== '{' && before !== '[') out.push(newLine(--depth));
      out.push(token);
    } else if (token === ',') out.push(token, newLine(depth));
    else if (token === ':') out.push(': ');
    else out.push(shown(token));
  }
  return out.join('');
}

/** @param {number} depth */
const newLine = (depth) => '\n' + '  '.repeat(depth);

/**
 * Returns the line and the column of a place in a text, both from 1. Columns count code points.
 * @param {string} text
 * @param {number} at offset in UTF-16 code units
 */
export function lineAndColumn(text, at) {
  const before = text.slice(0, at).split(/\r\n|\r|\n/);
  return { line: before.length, column: [...before[before.length - 1]].length + 1 };
}

/**
 * Returns the place in a text of a line and a column, both from 1. Columns count code points.
 * @param {string} text
 * @param {number} line
 * @param {number} column
 * @returns {number} an offset in UTF-16 code units
 */
export function offsetOf(text, line, column) {
  const lines = text.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return Math.min(text.length, before + [...(lines[line - 1] ?? '')].slice(0, column - 1).join('').length);
}

// What differs between two documents, by the tokens of their values: 2.5 and 2.50 differ, blanks, escapes and the order of members do not.

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
 * Tells whether two values have the same tokens, but for blanks, escapes and the order of members.
 * @param {Node | undefined} a
 * @param {Node | undefined} b
 * @returns {boolean}
 */
export function same(a, b) {
  if (!a || !b) return a === b;
  if (a.kind !== b.kind) return false;
  if (a.elements && b.elements)
    return a.elements.length === b.elements.length && a.elements.every((value, i) => same(value, b.elements?.[i]));
  if (!a.members) return a.raw === b.raw || (a.kind === 'string' && JSON.parse(a.raw) === JSON.parse(b.raw));
  const left = byName(a);
  const right = byName(b);
  return left.size === right.size && [...left].every(([name, value]) => same(value, right.get(name)));
}

// What is JSON by its grammar, and yet no document of the store.

/**
 * Looks for what the server would refuse without telling the line.
 * @param {Node} root
 * @throws {NotJSON} of one such place
 */
export function mustBeTaken(root) {
  if (root.kind !== 'object') throw new NotJSON('a document is an object: it begins with {', root.start);
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    if (node.members) {
      const names = new Set();
      for (const m of node.members) {
        if (names.has(m.name)) throw new NotJSON('the object has two members of this name', m.start);
        names.add(m.name);
        whole(m.name, m.start);
      }
      for (const m of node.members.toReversed()) open.push(m.value);
    } else if (node.elements) for (const value of node.elements.toReversed()) open.push(value);
    else if (node.kind === 'string') whole(/** @type {string} */ (JSON.parse(node.raw)), node.start);
  }
}

/**
 * @param {string} text
 * @param {number} at
 */
function whole(text, at) {
  if (/\p{Cs}/u.test(text)) throw new NotJSON('the text has half of a pair of surrogates, which no encoding can store', at);
}

// Characters that change how the text around them looks, or cannot be seen.

// Controls, blanks without width, marks of direction, variation selectors, tags, and what stands alone of a pair.
export const hidden = new RegExp(
  [
    String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f]`,
    String.raw`[\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]`,
    String.raw`[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]`,
    String.raw`\p{Cs}`,
  ].join('|'),
  'gu',
);

/**
 * Returns a text with hidden characters as the escapes of JSON.
 * @param {string} text of a string in JSON
 */
export const escapeHidden = (text) =>
  text.replace(hidden, (found) =>
    Array.from({ length: found.length }, (_, i) => '\\u' + found.charCodeAt(i).toString(16).padStart(4, '0')).join(''),
  );
