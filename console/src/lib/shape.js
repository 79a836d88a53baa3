// What the model says of documents, for whoever reads them: also for those who may not read the model itself.
import { ask, me } from './http.js';

/**
 * Returns the model or, for whoever may not read it, the relations and rules of the collections that they read, in the same form.
 * A rule has no more than its kind and its relation then.
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function loadShape(signal) {
  try {
    return await ask({ path: ['_model'], signal });
  } catch (error) {
    if (![401, 403, 404].includes(/** @type {any} */ (error)?.status)) throw error;
  }
  const { collections } = await ask({ path: ['_me'], query: { relations: true }, signal });
  return {
    collections: Object.fromEntries(
      Object.entries(collections).map(([name, { relations = {}, derive = {} }]) => [name, { relations, derive: kindsOf(derive) }]),
    ),
  };
}

/** Returns rules as a model has them. @param {Record<string, { kind: string, relation?: string }>} derive */
const kindsOf = (derive) =>
  Object.fromEntries(Object.entries(derive).map(([path, { kind, relation }]) => [path, { [kind]: relation ?? true }]));

/**
 * Tells whether the reader may do something to documents of a collection, or to some of them. As long as that is not known, the server
 * tells.
 * @param {string} collection
 * @param {'create' | 'update' | 'delete'} action
 */
export function may(collection, action) {
  const of = me.value?.collections?.[collection] ?? me.value?.otherCollections;
  return !of || of.write || (of.may ?? []).includes(action);
}
