// What of the model is drawn: collections with their sizes, and the relations between them.
import { isFailing } from './declared.js';

/** A graph of more collections shows one of them with its neighbours: the layout's work grows faster than the graph. */
export const MOST = 40;

/** From so many documents on that refer to one on average a relation with copies is hot: a write changes them all. */
export const HOT = 1000;

/**
 * @typedef {object} DrawnNode
 * @property {string} name
 * @property {number} documents
 * @property {number} size a step for each tenfold of documents
 * @property {number} failing rules of it that fail
 */

/**
 * @typedef {object} DrawnEdge
 * @property {import('./declared.js').Relation} relation
 * @property {boolean} down values of the target go to the documents that refer to it
 * @property {boolean} up counts and the like go the other way
 * @property {number} failing rules of it that fail
 * @property {number} load documents that refer to one of the target on average, 0 where that is not hot
 */

/** @typedef {{ nodes: DrawnNode[], edges: DrawnEdge[] }} Drawn */

/**
 * Returns the names of the collections that are drawn: all, or the chosen one with those that most documents tie to it.
 * @param {string[]} all
 * @param {import('./declared.js').Relation[]} relations
 * @param {Map<string, number>} counts
 * @param {string} chosen
 * @returns {{ names: string[], left: number }} left is how many neighbours have no place
 */
export function drawnOf(all, relations, counts, chosen) {
  if (all.length <= MOST) return { names: all, left: 0 };
  const neighbours = new Set(relations.filter((r) => r.collection === chosen || r.to === chosen).flatMap((r) => [r.collection, r.to]));
  neighbours.delete(chosen);
  const documents = (/** @type {string} */ name) => counts.get(name) ?? 0;
  const sorted = [...neighbours].sort((a, b) => documents(b) - documents(a) || (a < b ? -1 : 1));
  return { names: [chosen, ...sorted.slice(0, MOST - 1)], left: Math.max(0, sorted.length - MOST + 1) };
}

/**
 * Returns the collection that is drawn where none was chosen: that with the most relations.
 * @param {string[]} all
 * @param {import('./declared.js').Relation[]} relations
 */
export function busiest(all, relations) {
  const ties = new Map();
  for (const r of relations) for (const name of [r.collection, r.to]) ties.set(name, (ties.get(name) ?? 0) + 1);
  return all.reduce((best, name) => ((ties.get(name) ?? 0) > (ties.get(best) ?? 0) ? name : best), all[0]);
}

/**
 * Returns what is drawn of some collections.
 * @param {string[]} names
 * @param {import('./declared.js').Declared} declared
 * @param {Map<string, number>} counts
 * @param {((rule: string) => import('./declared.js').Found) | undefined} found
 * @returns {Drawn}
 */
export function drawing(names, { relations, rules }, counts, found) {
  const isThere = new Set(names);
  const failing = (/** @type {import('./declared.js').Rule[]} */ of) => (found ? of.filter((rule) => isFailing(found(rule.name))).length : 0);
  const nodes = names.map((name) => {
    const documents = counts.get(name) ?? 0;
    return { name, documents, size: Math.min(8, Math.floor(Math.log10(documents + 1))), failing: failing(rules.filter((rule) => rule.collection === name)) };
  });
  const edges = relations.filter((r) => isThere.has(r.collection) && isThere.has(r.to)).map((relation) => {
    const down = relation.rules.some((rule) => rule.collection === relation.collection);
    const load = Math.round((counts.get(relation.collection) ?? 0) / Math.max(1, counts.get(relation.to) ?? 0));
    return { relation, down, up: relation.rules.some((rule) => rule.collection === relation.to && rule.kind !== 'copy'), failing: failing(relation.rules), load: down && load >= HOT ? load : 0 };
  });
  return { nodes, edges };
}
