// JSON Pointers (RFC 6901).

/** @typedef {import('./scan.js').Node} Node */

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
export const stepsOf = (pointer) => pointer.split('/').slice(1).map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

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
