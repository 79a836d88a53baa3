// Which page a place has. Places are the API's, so no name of a collection or document is shadowed. But for the first, a page's
// modules are loaded with the first place that needs them.
import { NotFoundPage } from './app.js';
import { CollectionsPage } from './collections.js';

/**
 * @typedef {object} Route
 * @property {any} [page] the component, which gets the place
 * @property {() => Promise<any>} [load] returns it
 * @property {string} title what the h1 and the title of the page say
 */

/** @returns {Promise<any>} */
const changes = async () => (await import('../changes/page.js')).ChangesPage;
/** @returns {Promise<any>} */
const collection = async () => (await import('../grid/page.js')).CollectionPage;
/** @returns {Promise<any>} */
const document = async () => (await import('../document/page.js')).DocumentPage;
/** @returns {Promise<any>} */
const edit = async () => (await import('../editor/page.js')).EditPage;
/** @returns {Promise<any>} */
const fresh = async () => (await import('../editor/page.js')).NewPage;
/** @returns {Promise<any>} */
const model = async () => (await import('../model/page.js')).ModelPage;
/** @returns {Promise<any>} */
const history = async () => (await import('../time/page.js')).HistoryPage;

/** @returns {Promise<any>} */
const begin = async () => (await import('./begin.js')).NewCollectionPage;
/** @returns {Promise<any>} */
const moving = async () => (await import('../import/page.js')).ImportPage;
/** @returns {Promise<any>} */
const status = async () => (await import('../operations/page.js')).StatusPage;
/** @returns {Promise<any>} */
const group = async () => (await import('../operations/groups.js')).GroupPage;
/** @returns {Promise<any>} */
const groups = async () => (await import('../operations/groups.js')).GroupsPage;
/** @returns {Promise<any>} */
const keys = async () => (await import('../operations/keys.js')).KeysPage;

/**
 * Returns the page of a place.
 * @param {import('../lib/place.js').Place} place
 * @returns {Route}
 */
export function routeOf({ parts, params }) {
  if (parts.length === 0 && params.has('new')) return { load: begin, title: 'New collection' };
  if (parts.length === 0) return { page: CollectionsPage, title: 'Collections' };
  if (parts.length === 1 && parts[0] === '_changes') return { load: changes, title: 'Changes' };
  if (parts.length === 1 && parts[0] === '_status') return { load: status, title: 'Operations' };
  if (parts.length === 1 && parts[0] === '_groups') return { load: groups, title: 'Groups' };
  if (parts.length === 1 && parts[0] === '_keys') return { load: keys, title: 'Keys' };
  if (parts.length === 2 && parts[0] === '_groups') return { load: group, title: parts[1] };
  if (parts.length === 1 && parts[0] === '_model') return { load: model, title: 'Model' };
  if (parts.length === 1 && parts[0] === '_import') return { load: moving, title: 'Import' };
  if (parts[0].startsWith('_')) return { page: NotFoundPage, title: 'Nothing here' };
  if (parts.length === 1 && params.has('new')) return { load: fresh, title: 'New document' };
  if (parts.length === 1) return { load: collection, title: parts[0] };
  if (parts.length === 2 && params.has('edit')) return { load: edit, title: parts.join('/') };
  if (parts.length === 2) return { load: document, title: parts.join('/') };
  if (parts.length === 3 && parts[2] === '_history') return { load: history, title: `History of ${parts[0]}/${parts[1]}` };
  return { page: NotFoundPage, title: 'Nothing here' };
}
