import { request } from '../../lib/http.js';
import { read } from '../../json/read.js';
import { member, textOf } from '../../json/value.js';
import { rowsAsked } from './asked.js';
import { columnsOf, pathsOf } from './columns.js';

/** @typedef {import('../../json/scan.js').Node} Node */

/**
 * A page of documents.
 * @typedef {object} Page
 * @property {Node[]} documents
 * @property {string[]} ids theirs
 * @property {string[]} columns
 * @property {string} next the cursor of the next page, empty for none
 * @property {string} position
 */

/**
 * Asks for a page of documents.
 * @param {import('../../lib/http.js').Asked & { query: Record<string, any> }} asked
 * @returns {Promise<Page>}
 */
export async function loadPage(asked) {
  const { text, headers } = await request(asked);
  const root = await read(text, asked.signal);
  const documents = member(root, 'items')?.elements ?? [];
  return {
    documents,
    ids: documents.map(idOf),
    columns: asked.query.fields ? pathsOf(asked.query.fields) : columnsOf(documents),
    next: textOf(member(root, 'next')) ?? '',
    position: headers.get('Fanfold-Position') ?? '',
  };
}

/**
 * Asks for some documents as they are now, or later.
 * @param {string} collection
 * @param {string[]} ids
 * @param {string[]} columns
 * @param {string} position
 * @param {AbortSignal} signal
 * @returns {Promise<Map<string, Node>>} those that are there
 */
export async function loadRows(collection, ids, columns, position, signal) {
  const { text } = await request({ ...rowsAsked(collection, ids, columns), headers: { 'Fanfold-Min-Position': position }, signal });
  const documents = member(await read(text, signal), 'items')?.elements ?? [];
  return new Map(documents.map((doc) => [idOf(doc), doc]));
}

/** @param {Node} doc */
const idOf = (doc) => textOf(member(doc, 'id')) ?? '';
