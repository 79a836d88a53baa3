// What a view of a tree shows: the children of a node, and which nodes are open at first.

/** @typedef {import('./json.js').Node} Node */

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
