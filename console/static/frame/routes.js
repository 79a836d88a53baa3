// Which page a place has. Places are the API's, so no name of a collection or document is shadowed.
import { CollectionsPage } from '../pages/collections/page.js';
import { ChangesPage } from '../pages/changes/page.js';
import { EditPage } from '../pages/edit/page.js';
import { NewPage } from '../pages/edit/new.js';
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
export function routeOf({ parts, params }) {
  if (parts.length === 0) return { page: CollectionsPage, title: 'Collections' };
  if (parts.length === 1 && parts[0] === '_changes') return { page: ChangesPage, title: 'Changes' };
  if (parts.length === 1 && params.has('new')) return { page: NewPage, title: 'New document' };
  if (parts.length === 2 && params.has('edit')) return { page: EditPage, title: parts.join('/') };
  return { page: NotFoundPage, title: 'Nothing here' };
}
