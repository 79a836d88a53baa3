// What is JSON by its grammar, and yet no document of the store.
import { NotJSON } from './scan.js';

/** @typedef {import('./scan.js').Node} Node */

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
