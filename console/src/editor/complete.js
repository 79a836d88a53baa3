// What may be written at a place of a document: what others of its collection have there, and the ids that its relations lead to.
import { ask, request } from '../lib/http.js';
import { member, read, readable, textOf } from '../lib/json.js';

/** @typedef {import('../lib/json.js').Node} Node */
/** @typedef {import('../ui/code.js').Spot} Spot */
/** @typedef {import('../ui/code.js').Choice} Choice */

/** How many documents are looked at, how many ids are asked for, and how many values of a place are offered. */
const SAMPLE = 20;
const IDS = 50;
const VALUES = 12;

/** What documents have at a place. @typedef {{ names: Map<string, string>, values: Set<string> }} Seen */

/**
 * Returns what completes documents of a collection. It asks for what it needs when it is called first.
 * @param {string} collection
 * @returns {(spot: Spot) => Promise<Choice[]>}
 */
export function completing(collection) {
  /** @type {Promise<{ seen: Map<string, Seen>, targets: Map<string, string> }> | undefined} */
  let known;
  /** @type {Map<string, Promise<Choice[]>>} */
  const ids = new Map();
  return async ({ path, isName, taken }) => {
    known ??= look(collection);
    const { seen, targets } = await known;
    const at = seen.get(keyOf(path));
    if (isName)
      return [...(at?.names ?? [])]
        .filter(([name]) => !taken.includes(name))
        .map(([label, kind]) => {
          const to = targets.get(keyOf([...path, label])) ?? targets.get(keyOf([...path, label, '']));
          return { label, detail: to ? 'id of ' + to : kind };
        });
    const to = targets.get(keyOf(path));
    if (to === undefined) return [...(at?.values ?? [])].slice(0, VALUES).map((label) => ({ label }));
    if (!ids.has(to)) ids.set(to, idsOf(to));
    return ids.get(to) ?? [];
  };
}

/** @param {string[]} path */
const keyOf = (path) => JSON.stringify(path);

/**
 * Looks at some documents of a collection, and at its relations. Whoever may not read them is offered nothing.
 * @param {string} collection
 */
async function look(collection) {
  const [page, model] = await Promise.all([
    request({ path: [collection], query: { limit: SAMPLE, view: 'referenced' } }).then(
      ({ text }) => read(text),
      () => undefined,
    ),
    ask({ path: ['_model'] }).catch(() => null),
  ]);
  /** @type {Map<string, Seen>} */
  const seen = new Map();
  for (const document of member(page, 'items')?.elements ?? []) note(document, [], seen);
  const relations = Object.values(model?.collections?.[collection]?.relations ?? {});
  const targets = new Map(relations.map((/** @type {any} */ r) => [keyOf(stepsOf(String(r.path))), String(r.to)]));
  return { seen, targets };
}

/** Returns the steps of a path of the model, such as authors[].id. @param {string} path */
const stepsOf = (path) => path.split('.').flatMap((part) => part.split('[]'));

/**
 * Notes what a value has, and what is in it.
 * @param {Node} node
 * @param {string[]} path
 * @param {Map<string, Seen>} seen
 */
function note(node, path, seen) {
  const key = keyOf(path);
  const at = seen.get(key) ?? { names: new Map(), values: new Set() };
  seen.set(key, at);
  for (const m of node.members ?? []) {
    if (path.length === 0 && m.name === '_meta') continue; // it is the API's
    at.names.set(m.name, m.value.kind === 'string' ? 'text' : m.value.kind);
    note(m.value, [...path, m.name], seen);
  }
  for (const element of node.elements ?? []) note(element, [...path, ''], seen);
  if (!node.members && !node.elements && node.raw.length <= 80 && at.values.size < VALUES) at.values.add(readable(node));
}

/**
 * Returns the ids of some documents, as JSON.
 * @param {string} collection
 * @returns {Promise<Choice[]>}
 */
async function idsOf(collection) {
  try {
    const page = await read((await request({ path: [collection], query: { limit: IDS, fields: 'id' } })).text);
    return (member(page, 'items')?.elements ?? []).flatMap((item) => {
      const id = textOf(member(item, 'id'));
      return id === undefined ? [] : [{ label: JSON.stringify(id), detail: collection }];
    });
  } catch {
    return []; // who may not read them is offered none
  }
}
