// What stores hold at the beginning of a scenario.
import { readFile, readdir } from 'node:fs/promises';

/**
 * A model in YAML, and documents by collection and id: as text, or as values.
 * @typedef {{ model?: string, documents?: Record<string, Record<string, unknown>> }} Data
 */

/** @type {Record<string, (store: import('./store.js').Store) => Promise<void>>} */
const named = { empty: async () => {}, bookshop };

/**
 * Fills a store with named data, or with data of the scenario's own.
 * @param {import('./store.js').Store} store
 * @param {string | Data} data
 */
export async function fill(store, data) {
  if (typeof data === 'string') {
    if (!named[data]) throw new Error('no data are named ' + data);
    return named[data](store);
  }
  if (data.model) await store.model(data.model);
  for (const [collection, documents] of Object.entries(data.documents ?? {})) {
    for (const [id, doc] of Object.entries(documents)) await store.put(collection, id, typeof doc === 'string' ? doc : JSON.stringify(doc));
  }
}

/** The bookshop of the demo. @param {import('./store.js').Store} store */
async function bookshop(store) {
  const dir = new URL('../../../cmd/fanfold/demo/', import.meta.url);
  await store.model(await readFile(new URL('model.yaml', dir), 'utf8'));
  for (const file of (await readdir(dir)).sort()) {
    if (file.endsWith('.ndjson')) await store.import(file.replace('.ndjson', ''), await readFile(new URL(file, dir), 'utf8'));
  }
}
