// What nodes stand for, as values of JavaScript, and as texts.

/** @typedef {import('./scan.js').Node} Node */

/**
 * Returns the text of a value in its own tokens.
 * @param {Node} node
 */
export const tokens = (node) => (node.members || node.elements ? node.raw.slice(node.start, node.end) : node.raw);

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
  return typeof value === 'number' && (Math.abs(value) > Number.MAX_SAFE_INTEGER) ? node.raw : value;
}
