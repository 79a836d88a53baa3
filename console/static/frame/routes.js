// Which page a place has. Places are the API's, so no name of a collection or document is shadowed. But for the first, a page's
// modules are loaded with the first place that needs them.
import { CollectionsPage } from '../pages/collections/page.js';
import { NotFoundPage } from './notfound.js';

/**
 * @typedef {object} Route
 * @property {any} [page] the component, which gets the place
 * @property {() => Promise<any>} [load] returns it
 * @property {string} title what the h1 and the title of the page say
 */

/** @returns {Promise<any>} */
const changes = async () => (await import('../pages/changes/page.js')).ChangesPage;

/** @returns {Promise<any>} */
const documentOf = async () => (await import('../pages/document/page.js')).DocumentPage;

/**
 * Returns the page of a place.
 * @param {import('../lib/place.js').Place} place
 * @returns {Route}
 */
export function routeOf({ parts }) {
  if (parts.length === 0) return { page: CollectionsPage, title: 'Collections' };
  if (parts.length === 1 && parts[0] === '_changes') return { load: changes, title: 'Changes' };
  if (parts.length === 2 && !parts[0].startsWith('_')) return { load: documentOf, title: parts.join('/') };
  return { page: NotFoundPage, title: 'Nothing here' };
}
