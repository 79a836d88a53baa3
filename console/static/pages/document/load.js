import { ask, request } from '../../lib/http.js';
import { read } from '../../json/read.js';

/** Texts of more bytes are shown as they are. */
const MAX_TREE = 4 << 20;

/**
 * A document as it came.
 * @typedef {object} Document
 * @property {string} text
 * @property {import('../../json/scan.js').Node | undefined} root of a text that is not too long
 * @property {string} revision
 * @property {string} etag
 * @property {string} position
 * @property {string} written the time of its last own write
 */

/**
 * Returns what asks for a document.
 * @param {import('../../lib/place.js').Place} place
 */
export const askedOf = ({ parts, params }) => ({ path: parts, query: { at: params.get('at') } });

/**
 * Asks for a document, and reads it in turns.
 * @param {import('../../lib/http.js').Asked} asked
 * @returns {Promise<Document>}
 */
export async function load(asked) {
  const { text, headers } = await request(asked);
  const isShort = text.length <= MAX_TREE && new Blob([text]).size <= MAX_TREE;
  return {
    text,
    root: isShort ? await read(text, asked.signal) : undefined,
    revision: headers.get('Fanfold-Revision') ?? '',
    etag: headers.get('ETag') ?? '',
    position: headers.get('Fanfold-Position') ?? '',
    written: headers.get('Last-Modified') ?? '',
  };
}

/**
 * Asks where the derived values of a document come from, at its position or later.
 * @param {string[]} parts
 * @param {string} position
 * @param {AbortSignal} signal
 */
export const loadLineage = (parts, position, signal) => ask({ path: [...parts, '_lineage'], headers: { 'Fanfold-Min-Position': position }, signal });

/**
 * Asks for the model. Whoever may not read it has none.
 * @param {AbortSignal} signal
 */
export async function loadModel(signal) {
  try {
    return await ask({ path: ['_model'], signal });
  } catch (error) {
    if ([401, 403, 404].includes(/** @type {any} */ (error)?.status)) return null;
    throw error;
  }
}
