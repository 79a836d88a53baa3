// Which page a place has. Places are the API's, so no name of a collection or document is shadowed.
import { CollectionsPage } from '../pages/collections/page.js';
import { ChangesPage } from '../pages/changes/page.js';
import { DocumentPage } from '../pages/document/page.js';
import { NotFoundPage } from './notfound.js';

/**
 * @typedef {object} Route
 * @property {any} page the component, which gets the place
 * @property {string} title what the h1 and the title of the page say
 */

/**
 * Returns the page of a place.
 * @param {import('../lib/place.js').Place} place
 * @returns {Route}
 */
export function routeOf({ parts }) {
  if (parts.length === 0) return { page: CollectionsPage, title: 'Collections' };
  if (parts.length === 1 && parts[0] === '_changes') return { page: ChangesPage, title: 'Changes' };
  if (parts.length === 2 && !parts[0].startsWith('_')) return { page: DocumentPage, title: parts.join('/') };
  return { page: NotFoundPage, title: 'Nothing here' };
}
