import { Problem, request } from '../../lib/http.js';

/**
 * A document as it is written.
 * @typedef {object} Read
 * @property {string} text its bytes
 * @property {string} etag
 * @property {number} revision
 * @property {string} position that the answer shows
 */

/**
 * The request for a document as it is written.
 * @param {string} collection
 * @param {string} id
 */
export const askedFor = (collection, id) => ({ path: [collection, id], query: { view: 'referenced' } });

/**
 * Reads a document as it is written.
 * @param {string} collection
 * @param {string} id
 * @param {AbortSignal} [signal]
 * @returns {Promise<Read>}
 * @throws {Problem}
 */
export async function readDocument(collection, id, signal) {
  const { text, headers } = await request({ ...askedFor(collection, id), signal });
  return { text, etag: headers.get('ETag') ?? '', revision: Number(headers.get('Fanfold-Revision')), position: headers.get('Fanfold-Position') ?? '' };
}

/**
 * Reads a document that may be gone.
 * @param {string} collection
 * @param {string} id
 * @returns {Promise<Read | undefined>} undefined where there is none
 * @throws {Problem}
 */
export async function readIfThere(collection, id) {
  try {
    return await readDocument(collection, id);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Returns the request that saves a document: over what was read, as a new one of an id, or as one whose id the store makes.
 * @param {string} collection
 * @param {string} id empty where the store makes it
 * @param {Read | undefined} over
 * @param {string} body
 * @returns {import('../../lib/http.js').Asked}
 */
export function saving(collection, id, over, body) {
  const headers = { Prefer: 'handling=strict' }; // members that the store derives are told, not dropped
  if (id === '') return { method: 'POST', path: [collection], headers, body };
  return { method: 'PUT', path: [collection, id], headers: { ...headers, ...(over ? { 'If-Match': over.etag } : { 'If-None-Match': '*' }) }, body };
}
