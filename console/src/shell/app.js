import { html, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { Problem, askReady, readers } from '../lib/http.js';
import { asProblem } from '../lib/load.js';
import { place, placeHref, saved } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { KeyDialog, Pending, ProblemAlert } from '../ui/dialogs.js';
import { Visible } from '../ui/parts.js';
import { CollectionsPage } from './collections.js';
import { GoTo } from './goto.js';
import { NodeLine } from './node.js';
import { Sidebar, Trail } from './sidebar.js';

/** @returns {Promise<any>} */
const savedHere = async () => (await import('../editor/page.js')).SavedHere;

/** @returns {Promise<any>} */
const eraseHere = async () => (await import('../operations/history.js')).EraseHere;

/** The frame around each page: the sidebar, the way to the page, the page with its heading, and how the node stands. */
export function App() {
  const at = place.value;
  const { page: Page, load, title } = routeOf(at);
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const first = useRef(true);
  const path = at.parts.join('/');
  // With what it shows, and not after the paint: the focus must not go away from what somebody has begun to type in.
  useLayoutEffect(() => {
    document.title = visible(title) + ' – Fanfold';
    if (!first.current) heading.current?.focus();
    first.current = false;
  }, [path, title, Page ?? load]);
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    heading.current?.focus();
  };
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <${Sidebar} />
    <${Trail} />
    <main id="main"><h1 tabindex="-1" ref=${heading}><${Visible} text=${title} /></h1>${
      saved.value &&
      html`<${LatePage} load=${savedHere}
      place=${at} bare />`
    }<${Guarded} key=${readers.value + ' ' + path} place=${at}>${
      Page
        ? html`<${Page} place=${at} />`
        : html`<${LatePage}
        load=${load} place=${at} />`
    }<//>${at.parts.length === 2 && at.params.has('erase') && html`<${LatePage} load=${eraseHere} place=${at} bare />`}</main>
    <footer><${NodeLine} /></footer>
    <${GoTo} /><${KeyDialog} />`;
}

/**
 * What a page shows, and where that fails a problem in its place: an answer may be another one than the API gives.
 * @param {{ place: import('../lib/place.js').Place, children: any }} props
 */
export function Guarded({ place, children }) {
  const [error, again] = useErrorBoundary();
  const problem = useMemo(() => error && asProblem(error), [error]);
  useEffect(() => {
    if (error) again();
  }, [place]);
  return problem ? html`<${ProblemAlert} problem=${problem} again=${again} />` : children;
}

/** How often a server that could not be reached is asked whether it is back, in milliseconds. */
const EVERY = 3000;

/**
 * A page whose modules are loaded now. Where they do not come, it says so, for the server may have another version by now.
 * @param {{ load: () => Promise<any>, place: import('../lib/place.js').Place, bare?: boolean }} props bare shows nothing until they come
 */
export function LatePage({ load, place, bare = false }) {
  const [loaded, setLoaded] = useState(/** @type {{ page?: any, failed?: boolean }} */ ({}));
  useLayoutEffect(() => {
    // before the page is painted without it
    let ended = false;
    const take = (/** @type {{ page?: any, failed?: boolean }} */ of) => {
      if (!ended) setLoaded(of);
    };
    take({});
    load().then(
      (page) => take({ page }),
      () => take({ failed: true }),
    );
    return () => {
      ended = true;
    };
  }, [load]);
  const { page: Page, failed } = loaded;
  useEffect(() => (failed ? whenBack(() => location.reload()) : undefined), [failed]);
  if (failed)
    return html`<${ProblemAlert}
      problem=${new Problem(0, {
        title: 'The page cannot be loaded',
        detail: 'The server does not answer, or has another version by now.',
      })} again=${() => location.reload()} />`;
  if (Page) return html`<${Page} place=${place} />`;
  return bare ? null : html`<${Pending} of=${{}} />`;
}

/**
 * Calls a function once a server answers that did not before. One that answers all the time has another version: loading anew by
 * itself could then go on for ever. It returns a function that ends that.
 * @param {() => void} then
 */
function whenBack(then) {
  const ending = new AbortController();
  let wasGone = false;
  const timer = setInterval(async () => {
    if (document.hidden) return;
    const ok = await askReady(ending.signal).then(
      (of) => of.ok,
      () => false,
    );
    if (ending.signal.aborted) return;
    if (ok && wasGone) then();
    wasGone ||= !ok;
    if (ok) clearInterval(timer);
  }, EVERY);
  return () => {
    ending.abort();
    clearInterval(timer);
  };
}

/** The page of a place that the console does not have. */
export const NotFoundPage = () => html`<p>The console has no such place. See the <a href=${placeHref([])}>collections</a>.</p>`;

// Which page a place has. Places are the API's, so no name of a collection or document is shadowed. But for the first, a page's
// modules are loaded with the first place that needs them.

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
const oneDocument = async () => (await import('../document/page.js')).DocumentPage;
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
  if (parts.length === 2) return { load: oneDocument, title: parts.join('/') };
  if (parts.length === 3 && parts[2] === '_history') return { load: history, title: `History of ${parts[0]}/${parts[1]}` };
  return { page: NotFoundPage, title: 'Nothing here' };
}
