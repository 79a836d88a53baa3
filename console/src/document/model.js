// What the model says of a document: its relations, and what its rules do.
import { member } from '../lib/json.js';

/** @typedef {import('../lib/json.js').Node} Node */

/**
 * A relation of documents of a collection to those of another.
 * @typedef {object} Relation
 * @property {string} collection
 * @property {string} name
 * @property {string[]} path steps to the ids; an empty one leads into each element
 * @property {string} to
 * @property {string} onDelete what becomes of a document whose target is deleted
 */

/**
 * Returns all relations of a model.
 * @param {any} model as the API gives it, or null
 * @returns {Relation[]}
 */
export function relationsOf(model) {
  return Object.entries(model?.collections ?? {}).flatMap(([collection, of]) =>
    Object.entries(/** @type {any} */ (of)?.relations ?? {}).map(([name, r]) => ({
      collection,
      name,
      path: stepsOfPath(String(/** @type {any} */ (r).path)),
      to: String(/** @type {any} */ (r).to),
      onDelete: String(/** @type {any} */ (r).onDelete ?? 'clear'),
    })),
  );
}

/**
 * Returns where ids of other documents stand in those of a collection: by relations, and by rules that gather ids.
 * @param {any} model
 * @param {string} collection
 * @returns {{ path: string[], to: string }[]}
 */
export function linksOf(model, collection) {
  const rules = Object.entries(model?.collections?.[collection]?.derive ?? {}).flatMap(([path, rule]) => {
    const { ids, recent } = /** @type {any} */ (rule);
    const from = ids ?? recent;
    return typeof from === 'string' ? [{ path: stepsOfPath(path + (ids ? '[]' : '[].id')), to: from.slice(0, from.indexOf('.')) }] : [];
  });
  return [...relationsOf(model).filter((r) => r.collection === collection), ...rules];
}

/**
 * Returns the steps of a path of the model, such as authors[].id.
 * @param {string} path
 */
const stepsOfPath = (path) => path.split('.').flatMap((part) => part.split('[]'));

/**
 * Returns the rule of a name such as books.authors[].name, as the model declares it.
 * @param {any} model
 * @param {string} name
 * @returns {Record<string, any> | undefined}
 */
export function ruleOf(model, name) {
  const dot = name.indexOf('.');
  return model?.collections?.[name.slice(0, dot)]?.derive?.[name.slice(dot + 1)];
}

/** The words of the model for what a rule does. */
const KINDS = ['copy', 'count', 'sum', 'min', 'max', 'avg', 'ids', 'recent'];

/**
 * Returns what the rule of a derived value does, in a word.
 * @param {any} value of a lineage
 * @param {any} model
 */
export function kindOf(value, model) {
  const rule = ruleOf(model, value.rule);
  const kind = value.kind ?? KINDS.find((word) => rule?.[word] !== undefined) ?? (rule ? 'value' : 'derived');
  return kind === 'value' ? 'computed' : String(kind);
}

/**
 * Returns the id that a value is, undefined where it can be none.
 * @param {Node | undefined} node
 * @returns {string | undefined}
 */
export function idOf(node) {
  if (node?.kind === 'number') return node.raw;
  const text = node?.kind === 'string' ? /** @type {string} */ (JSON.parse(node.raw)) : '';
  return text === '' ? undefined : text;
}

/**
 * Tells whether the steps of a pointer are at a path.
 * @param {string[]} steps
 * @param {string[]} path
 */
export const isAt = (steps, path) =>
  steps.length === path.length && path.every((step, i) => (step === '' ? /^\d+$/.test(steps[i]) : step === steps[i]));

/**
 * Returns the ids that a document holds at a path, each once, in its order.
 * @param {Node} root
 * @param {string[]} path
 * @returns {string[]}
 */
export function idsAt(root, path) {
  /** @type {(Node | undefined)[]} */
  let nodes = [root];
  for (const step of path) nodes = step === '' ? nodes.flatMap((node) => node?.elements ?? []) : nodes.map((node) => member(node, step));
  return [...new Set(nodes.map(idOf).filter((id) => id !== undefined))];
}

/**
 * Returns the filter of the documents that refer to an id by a relation, as an expression of CEL.
 * @param {string[]} path of the relation
 * @param {string} id
 */
export function filterOf(path, id) {
  const text = JSON.stringify(id);
  const part = (/** @type {string} */ of, /** @type {string[]} */ steps, /** @type {number} */ depth) => {
    const each = steps.indexOf('');
    const at = (each < 0 ? steps : steps.slice(0, each)).reduce((before, name) => before + memberOf(name), of);
    if (each < 0) return /^-?\d{1,15}$/.test(id) ? `(${at} == ${text} || ${at} == ${id})` : `${at} == ${text}`;
    const rest = steps.slice(each + 1);
    if (rest.length === 0) return `${text} in ${at}`;
    /** @type {string} */
    const inner = part('e' + depth, rest, depth + 1);
    return `${at}.exists(e${depth}, ${inner})`;
  };
  return part('doc', path, 1);
}

/** @param {string} name */
const memberOf = (name) => (/^[A-Za-z_]\w*$/.test(name) ? '.' + name : `[${JSON.stringify(name)}]`);
