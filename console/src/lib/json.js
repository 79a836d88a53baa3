// A tokenizer of JSON (RFC 8259) that keeps what JSON.parse loses: number texts, escapes, the order of members, equal names.

/**
 * A value with its place in the text.
 * @typedef {object} Node
 * @property {'object' | 'array' | 'string' | 'number' | 'true' | 'false' | 'null'} kind
 * @property {number} start where it begins in the text, in UTF-16 code units
 * @property {number} end where it ends
 * @property {string} raw its own text; of objects and arrays the whole text, to slice from
 * @property {Member[]} [members] of an object
 * @property {Node[]} [elements] of an array
 */

/**
 * @typedef {object} Member
 * @property {string} name
 * @property {number} start where its name's quotation mark stands
 * @property {Node} value
 */

/** What is wrong with a text, and where. */
export class NotJSON extends Error {
  /**
   * @param {string} what
   * @param {number} at offset in UTF-16 code units
   */
  constructor(what, at) {
    super(what);
    this.at = at;
  }
}

/** How deep objects and arrays may be. The server takes less. */
const MAX_DEPTH = 1000;

const blank = /[ \t\n\r]*/y;
const literal = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/**
 * Reads a text. It keeps the nesting on a stack of its own, and so takes any depth up to MAX_DEPTH.
 * @param {string} text
 * @returns {Node} the value of the whole text
 * @throws {NotJSON}
 */
export function scan(text) {
  const steps = scanning(text);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** How many values are read between two pauses of scanning. */
const PAUSE = 2000;

/**
 * Reads a text as scan does, and pauses now and then, so that whoever reads a long one can let others work.
 * @param {string} text
 * @returns {Generator<void, Node, void>}
 */
export function* scanning(text) {
  /** @type {Node[]} */
  const open = [];
  let at = skip(text, 0);
  let count = 0;
  /** @type {Node | null} */
  let root = null;
  /** @type {Member | null} */
  let member = null;
  for (;;) {
    if (++count % PAUSE === 0) yield;
    const node = /** @type {Node} */ (valueAt(text, at));
    const parent = open[open.length - 1];
    if (member) member.value = node;
    else if (parent) /** @type {Node[]} */ (parent.elements).push(node);
    else root = node;
    member = null;
    at = skip(text, node.end);
    if (node.members || node.elements) {
      if (open.length >= MAX_DEPTH) throw new NotJSON('objects and arrays are nested more than ' + MAX_DEPTH + ' deep', node.start);
      if (text[at] !== closer(node)) {
        open.push(node);
        if (node.members) [member, at] = memberAt(text, at, node);
        continue;
      }
      node.end = at + 1;
      at = skip(text, at + 1);
    }
    // Values end here, each within the one around it, until another follows.
    for (;;) {
      const around = open[open.length - 1];
      if (!around) {
        if (at < text.length) throw new NotJSON('something stands behind the value', at);
        return /** @type {Node} */ (root);
      }
      if (text[at] === ',') {
        at = skip(text, at + 1);
        if (around.members) [member, at] = memberAt(text, at, around);
        break;
      }
      if (text[at] !== closer(around)) throw new NotJSON(`, or ${closer(around)} is missing`, at);
      around.end = at + 1;
      open.pop();
      at = skip(text, at + 1);
    }
  }
}

/** @param {Node} node */
const closer = (node) => (node.members ? '}' : ']');

/**
 * @param {string} text
 * @param {number} at
 */
function skip(text, at) {
  blank.lastIndex = at;
  blank.test(text);
  return blank.lastIndex;
}

/**
 * Reads a value without what is in it. Of an object or an array it ends behind the bracket so far.
 * @param {string} text
 * @param {number} at
 * @returns {Node}
 */
function valueAt(text, at) {
  const first = text[at];
  if (first === '{') return { kind: 'object', start: at, end: at + 1, raw: text, members: [] };
  if (first === '[') return { kind: 'array', start: at, end: at + 1, raw: text, elements: [] };
  if (first === '"') {
    const raw = stringAt(text, at);
    return { kind: 'string', start: at, end: at + raw.length, raw };
  }
  literal.lastIndex = at;
  const found = literal.exec(text);
  if (!found) throw new NotJSON(at >= text.length ? 'the text ends early' : 'a value is missing', at);
  const raw = found[0];
  const kind = raw === 'true' || raw === 'false' || raw === 'null' ? raw : 'number';
  if (/[\w.+-]/.test(text[at + raw.length] ?? '')) throw new NotJSON('this is no number, true, false or null', at);
  return { kind, start: at, end: at + raw.length, raw };
}

/**
 * @param {string} text
 * @param {number} at
 */
function stringAt(text, at) {
  string.lastIndex = at;
  const found = string.exec(text);
  if (found) return found[0];
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === '"') break;
    if (text[i] < ' ') throw new NotJSON('a control character in a text must be escaped', i);
    if (text[i] === '\\' && !/^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(text.slice(i, i + 6))) throw new NotJSON('this is no escape', i);
    if (text[i] === '\\') i++;
  }
  throw new NotJSON('the text has no end', at);
}

/**
 * Reads the name of a member, and adds the member to its object.
 * @param {string} text
 * @param {number} at
 * @param {Node} object
 * @returns {[Member, number]} the member, whose value is yet to come, and where it begins
 */
function memberAt(text, at, object) {
  if (text[at] !== '"') throw new NotJSON('the name of a member is missing', at);
  const raw = stringAt(text, at);
  const member = { name: /** @type {string} */ (JSON.parse(raw)), start: at, value: /** @type {any} */ (null) };
  const colon = skip(text, at + raw.length);
  if (text[colon] !== ':') throw new NotJSON(': is missing', colon);
  /** @type {Member[]} */ (object.members).push(member);
  return [member, skip(text, colon + 1)];
}

const token = /[ \t\n\r]*([{}[\]:,]|"(?:[^"\\]|\\.)*"|[^ \t\n\r{}[\]:,"]+)/y;

/**
 * Returns where the tokens of a text begin and end, by turns, in UTF-16 code units.
 * @param {string} text JSON, as scan takes it
 * @returns {number[]}
 */
export function tokenize(text) {
  const out = [];
  token.lastIndex = 0;
  for (let found = token.exec(text); found; found = token.exec(text)) out.push(token.lastIndex - found[1].length, token.lastIndex);
  return out;
}

// What nodes stand for, as values of JavaScript, and as texts.

/**
 * Returns the text of a value in its own tokens.
 * @param {Node} node
 */
export const tokens = (node) => (node.members || node.elements ? node.raw.slice(node.start, node.end) : node.raw);

const escape = /\\(?:u([0-9a-fA-F]{4})|.)/g;

/**
 * Returns the token of a text with its characters in the places of escapes, but for those that JSON wants escaped.
 * @param {string} token
 */
export const decoded = (token) =>
  token.includes('\\')
    ? token.replace(escape, (found, hex) => {
        if (hex === undefined) return found === '\\/' ? '/' : found;
        const code = parseInt(hex, 16);
        return code < 0x20 || code === 0x22 || code === 0x5c ? found : String.fromCharCode(code);
      })
    : token;

/**
 * Returns the tokens of a value for people: texts have characters in the places of escapes.
 * @param {Node} node
 * @param {number} [most] how long the text may be of which the tokens are; a longer one is cut
 */
export const readable = (node, most = Infinity) =>
  decoded(node.members || node.elements ? node.raw.slice(node.start, Math.min(node.end, node.start + most)) : node.raw.slice(0, most));

/**
 * Returns the text that a string stands for, undefined for another node.
 * @param {Node | undefined} node
 * @returns {string | undefined}
 */
export const textOf = (node) => (node?.kind === 'string' ? /** @type {string} */ (JSON.parse(node.raw)) : undefined);

/**
 * Returns a member's value. Of equal names it is the last.
 * @param {Node | undefined} node
 * @param {string} name
 * @returns {Node | undefined}
 */
export const member = (node, name) => node?.members?.findLast((m) => m.name === name)?.value;

/**
 * Returns metadata as plain values. A number that JavaScript would round is its own text. Objects have no prototype.
 * @param {Node} node
 * @returns {any}
 */
export function plain(node) {
  if (node.members) {
    const out = Object.create(null);
    for (const m of node.members) out[m.name] = plain(m.value);
    return out;
  }
  if (node.elements) return node.elements.map(plain);
  const value = JSON.parse(node.raw);
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER ? node.raw : value;
}

/** How long a text is read before others may work, in milliseconds. */
const TURN = 12;

/**
 * Reads a text as scan does, in turns, so that a long one does not stop the page.
 * @param {string} text
 * @param {AbortSignal} [signal] ends it
 * @returns {Promise<Node>}
 */
export async function read(text, signal) {
  const steps = scanning(text);
  for (let turn = performance.now(), turns = 1; ; turns++) {
    let step = steps.next();
    while (!step.done && performance.now() - turn < TURN) step = steps.next();
    // What is done with a long text has a turn of its own, too.
    if (!step.done || turns > 1) await new Promise((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
    if (step.done) return step.value;
    turn = performance.now();
  }
}

// What a view of a tree shows: the children of a node, and which nodes are open at first.

/**
 * A member or an element as a row.
 * @typedef {object} Child
 * @property {string} key that no other child has
 * @property {string} token the name as it stands in the text, of an element the index
 * @property {string} pointer
 * @property {Node} node
 */

/** How many children are shown at first, and at each further step. */
export const PAGE = 100;

/** How many rows are open at first, whatever the document is. */
const FIRST_ROWS = 200;

/** @param {Node} node */
export const isContainer = (node) => node.members !== undefined || node.elements !== undefined;

/** @param {Node} node */
export const countOf = (node) => (node.members ?? node.elements ?? []).length;

/**
 * Returns the first children of a node.
 * @param {Node} node
 * @param {string} pointer of the node
 * @param {number} max
 * @returns {Child[]}
 */
export function childrenOf(node, pointer, max) {
  if (node.elements)
    return node.elements.slice(0, max).map((value, i) => ({ key: String(i), token: String(i), pointer: below(pointer, i), node: value }));
  return (node.members ?? []).slice(0, max).map((m) => ({
    key: m.name,
    token: node.raw.slice(m.start, m.value.start).replace(/[ \t\n\r]*:[ \t\n\r]*$/, ''),
    pointer: below(pointer, m.name),
    node: m.value,
  }));
}

/**
 * Returns the objects and arrays that are open at first: the outer ones before those within them, until there are enough rows.
 * @param {Node} root
 * @returns {Set<Node>}
 */
export function openAtFirst(root) {
  const queue = [root];
  let rows = Math.min(PAGE, countOf(root));
  for (const node of queue) {
    const values = node.elements?.slice(0, PAGE) ?? node.members?.slice(0, PAGE).map((m) => m.value) ?? [];
    for (const value of values) {
      const more = Math.min(PAGE, countOf(value));
      if (more === 0 || rows + more > FIRST_ROWS) continue;
      rows += more;
      queue.push(value);
    }
  }
  return new Set(queue);
}

// JSON Pointers (RFC 6901).

/**
 * Returns a pointer one step longer.
 * @param {string} pointer
 * @param {string | number} step a member's name or an element's index
 */
export const below = (pointer, step) => pointer + '/' + String(step).replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * Returns the steps of a pointer.
 * @param {string} pointer
 */
export const stepsOf = (pointer) =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

/**
 * Returns the node at a pointer, undefined where there is none.
 * @param {Node} root
 * @param {string} pointer
 * @returns {Node | undefined}
 */
export function nodeAt(root, pointer) {
  /** @type {Node | undefined} */
  let node = root;
  for (const step of stepsOf(pointer)) {
    node = node?.members ? node.members.findLast((m) => m.name === step)?.value : node?.elements?.[Number(step)];
  }
  return node;
}
