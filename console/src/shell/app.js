import { html, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { Problem, askReady, readers } from '../lib/http.js';
import { asProblem } from '../lib/load.js';
import { place, placeHref, saved } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { KeyDialog, Pending, ProblemAlert } from '../ui/dialogs.js';
import { Visible } from '../ui/parts.js';
import { GoTo } from './goto.js';
import { NodeLine } from './node.js';
import { routeOf } from './routes.js';
import { Sidebar, Trail } from './sidebar.js';

/** @returns {Promise<any>} */
const savedHere = async () => (await import('../editor/page.js')).SavedHere;

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
    }<//></main>
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
