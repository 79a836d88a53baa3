// What a view of a tree shows: the children of a node, and which nodes are open at first.
import { below } from './pointer.js';

/** @typedef {import('./scan.js').Node} Node */

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
  if (node.elements) return node.elements.slice(0, max).map((value, i) => ({ key: String(i), token: String(i), pointer: below(pointer, i), node: value }));
  return (node.members ?? []).slice(0, max).map((m) => ({
    key: m.name, token: node.raw.slice(m.start, m.value.start).replace(/[ \t\n\r]*:[ \t\n\r]*$/, ''), pointer: below(pointer, m.name), node: m.value }));
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
