// Which requests a place stands for.

/** @typedef {import('../../lib/place.js').Place} Place */
/** @typedef {import('../../lib/http.js').Asked} Asked */

/** What a query is made of, and what a list as it was takes. */
const OF_QUERY = ['filter', 'params', 'sort', 'maxScan', 'partial'];
const OF_LIST = ['fields', 'limit', 'cursor'];

/** How many documents a page has that shows which members there are, and one whose columns are known. */
const FIRST = 20;
const LATER = 100;

/**
 * Returns what asks for a page of documents. In the past there are no queries.
 * @param {Place} place
 * @returns {Asked & { query: Record<string, string | number> }}
 */
export function pageAsked({ parts, params }) {
  const names = params.get('at') ? ['at', ...OF_LIST] : [...OF_QUERY, ...OF_LIST];
  return { path: [parts[0]], query: { limit: params.get('fields') ? LATER : FIRST, ...given(params, names) } };
}

/**
 * Returns what asks how many documents match.
 * @param {Place} place
 * @returns {Asked}
 */
export const countAsked = ({ parts, params }) => ({ path: [parts[0]], query: { ...given(params, OF_QUERY), fields: 'id', limit: 1, count: true } });

/**
 * Returns what asks how the query is answered.
 * @param {Place} place
 * @returns {Asked}
 */
export function planAsked(place) {
  const { path, query } = pageAsked(place);
  return { path, query: { ...query, explain: true } };
}

/**
 * Returns what asks for documents by their ids, with the members of the columns.
 * @param {string} collection
 * @param {string[]} ids
 * @param {string[]} columns
 * @returns {Asked}
 */
export function rowsAsked(collection, ids, columns) {
  const query = new URLSearchParams(ids.map((id) => ['id', id]));
  if (columns.length) query.set('fields', columns.join(','));
  return { path: [collection], query };
}

/**
 * @param {URLSearchParams} params
 * @param {string[]} names
 * @returns {Record<string, string>}
 */
const given = (params, names) => Object.fromEntries(names.map((name) => [name, params.get(name) ?? '']).filter(([, value]) => value !== ''));
