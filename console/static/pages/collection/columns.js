// Which members of documents are columns, and what stands in a cell.
import { tokens } from '../../json/value.js';

/** @typedef {import('../../json/scan.js').Node} Node */

/** How many columns there are where nobody chose them, and how much of a value a cell shows. */
const MAX_COLUMNS = 8;
export const MAX_CELL = 200;

/** Names with these characters are no paths, or would end one in a list of paths. */
const noPath = /[.,[\](){}"']|^-|^\s|\s$|^$/;

/**
 * Returns the paths in a list of them.
 * @param {string} fields
 */
export const pathsOf = (fields) => fields.split(',').map((path) => path.trim()).filter((path) => path !== '');

/**
 * Returns the columns for documents: the members that most of them have, in the order in which they come.
 * @param {Node[]} documents
 */
export function columnsOf(documents) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const doc of documents) {
    for (const name of new Set(doc.members?.map((m) => m.name))) {
      if (name !== 'id' && name !== '_meta' && !noPath.test(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const chosen = new Set([...counts].sort((a, b) => b[1] - a[1]).slice(0, MAX_COLUMNS).map(([name]) => name));
  return [...counts.keys()].filter((name) => chosen.has(name));
}

/**
 * Returns the text of a cell: the tokens of what a document has at a path, which may lead through arrays.
 * @param {Node} doc
 * @param {string} path such as authors[].name
 */
export function cellOf(doc, path) {
  let text = '';
  for (const value of valuesAt(doc, stepsOf(path))) {
    text += (text === '' ? '' : ', ') + tokens(value);
    if (text.length > MAX_CELL) break; // the rest is not shown
  }
  return text;
}

/** Returns the steps of a path: names, and [] into an array. @param {string} path */
const stepsOf = (path) => path.split('.').flatMap((part) => {
  const name = part.replace(/(\[\])+$/, '');
  return [name, ...Array((part.length - name.length) / 2).fill('[]')];
});

/**
 * @param {Node | undefined} node
 * @param {string[]} steps
 * @returns {Generator<Node>}
 */
function* valuesAt(node, [step, ...rest]) {
  if (!node) return;
  if (step === undefined) yield node;
  else if (step !== '[]') yield* valuesAt(node.members?.findLast((m) => m.name === step)?.value, rest);
  else for (const element of node.elements ?? []) yield* valuesAt(element, rest);
}
