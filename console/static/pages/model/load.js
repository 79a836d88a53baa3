import { ask, Problem, request } from '../../lib/http.js';
import { plain } from '../../json/value.js';
import { scan } from '../../json/scan.js';

/** What asks for the model. */
export const asked = { path: ['_model'] };

/** Of so many pages of a thousand collections the documents are told. */
const PAGES = 5;

/**
 * Asks for the model.
 * @param {AbortSignal} signal
 * @param {string} [etag] of the model that is known
 * @returns {Promise<{ model: any, etag: string, position: string } | undefined>} undefined where it is still that
 * @throws {Problem}
 */
export async function loadModel(signal, etag) {
  const { status, text, headers } = await request({ ...asked, headers: etag ? { 'If-None-Match': etag } : {}, signal });
  if (status === 304) return undefined;
  return { model: plain(scan(text)), etag: headers.get('ETag') ?? '', position: headers.get('Fanfold-Position') ?? '' };
}

/**
 * Asks for the model as text to edit.
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ text: string, etag: string }>}
 */
export async function loadText(signal) {
  const { text, headers } = await request({ ...asked, headers: { Accept: 'application/yaml' }, signal });
  return { text, etag: headers.get('ETag') ?? '' };
}

/**
 * Asks how many documents each collection has.
 * @param {AbortSignal} signal
 * @returns {Promise<Map<string, number>>}
 */
export async function loadCounts(signal) {
  const counts = new Map();
  let cursor;
  for (let page = 0; page < PAGES; page++) {
    const { collections, next } = await ask({ path: [], query: { limit: 1000, cursor }, signal });
    for (const { name, documents } of collections) counts.set(name, documents);
    if (!next) break;
    cursor = next;
  }
  return counts;
}

/**
 * Asks for the status of the node.
 * @param {AbortSignal} signal
 */
export const loadStatus = (signal) => ask({ path: ['_status'], signal });

/**
 * Tells whether a model is being prepared.
 * @param {AbortSignal} [signal]
 * @returns {Promise<boolean>}
 */
export async function isPending(signal) {
  try {
    await request({ path: ['_model', '_pending'], signal });
    return true;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return false;
    throw error;
  }
}
