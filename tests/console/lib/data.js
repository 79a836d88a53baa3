// What stores hold at the beginning of a scenario.
import { readFile, readdir } from 'node:fs/promises';
import { fillHostile } from './hostile.js';

/**
 * A model in YAML, and documents by collection and id: as text, or as values.
 * @typedef {{ model?: string, documents?: Record<string, Record<string, unknown>> }} Data
 */

/** @type {Record<string, (store: import('./store.js').Store) => Promise<void>>} */
const named = { empty: async () => {}, bookshop, origins, large, hostile: fillHostile };

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

/** A small shop with a derived value of each kind and fate, and an author of many books. @param {import('./store.js').Store} store */
async function origins(store) {
  await store.model(`
collections:
  publishers: { derive: { countOfBooks: { count: books.publisher } } }
  authors: { derive: { countOfBooks: { count: books.authors }, newest: { recent: books.authors, max: 2, fields: [id, title] } } }
  books:
    relations:
      authors:   { path: "authors[].id", to: authors }
      publisher: { path: publisher, to: publishers, onDelete: keep }
    derive:
      "authors[].name": { copy: authors, value: doc.name }
      publisherName:    { copy: publisher, value: doc.name }
      publisherThen:    { copy: publisher, value: doc.name, frozen: true }
      motto:            { copy: publisher, value: doc.motto }
      sheets:           { value: "doc.pages * 2" }
`);
  await store.put('publishers', 'p1', '{"name":"American"}');
  await store.put('publishers', 'p2', '{"name":"Gone"}');
  await store.put('authors', 'a1', '{"name":"Samuel Clemens"}');
  await store.put('authors', 'a2', '{"name":"Prolific"}');
  await store.put('books', 'b1', String.raw`{"title":"Roughing It","isbn":9007199254740993,"price":2.50,"note":"a\/b \u00e9","10":1,"2":-0,"pages":300,"publisher":"p1","authors":[{"id":"a1"}]}`);
  await store.put('books', 'b2', '{"title":"Lost","publisher":"p2","authors":[]}');
  await store.import('books', Array.from({ length: 45 }, (_, i) => JSON.stringify({ id: 'n' + String(i).padStart(2, '0'), title: 'Number ' + i, authors: [{ id: 'a2' }] })).join('\n') + '\n');
  await store.want('DELETE', '/v1/publishers/p2');
  await store.merge('authors', 'a1', '{"name":"Mark Twain"}');
}

/** Documents near the bounds, and such as want to be more than text. @param {import('./store.js').Store} store */
async function large(store) {
  await store.model(`
collections:
  parts: {}
  wide:
    relations: { parts: { path: "parts[].id", to: parts } }
    derive: { "parts[].text": { copy: parts, value: doc.text } }
`);
  await store.put('big', 'rows', JSON.stringify({ rows: Array.from({ length: 33_900 }, (_, n) => ({ n, text: 'abcdefghij'.repeat(4) })) }));
  await store.put('big', 'members', '{' + Array.from({ length: 100_000 }, (_, i) => `"m${i}":${i}`).join() + '}');
  await store.put('big', 'text', JSON.stringify({ text: 'x'.repeat(1_000_000) }));
  await store.put('big', 'deep', '{"a":'.repeat(63) + '1' + '}'.repeat(63));
  await store.put('parts', 'p', JSON.stringify({ text: 'part '.repeat(200_000) }));
  await store.put('wide', 'w', JSON.stringify({ parts: Array(5).fill({ id: 'p' }) }));
  await store.put('hostile', HOSTILE, JSON.stringify({ '<img src=x onerror=alert(1)>': '</script><script>alert(1)</script>', '\u202eeman': 'a\u202eb\u200bc', link: 'javascript:alert(1)', '/~': { '': 1 } }));
}

/** The id of a document that wants to be more than text. */
export const HOSTILE = 'a/b#c?d%e \u{1f600} <b>\u202e';
