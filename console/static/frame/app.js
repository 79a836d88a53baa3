import { html, useLayoutEffect, useRef } from '../lib/html.js';
import { readers } from '../lib/me.js';
import { place, placeHref } from '../lib/place.js';
import { saved } from '../lib/saved.js';
import { visible } from '../lib/visible.js';
import { Visible } from '../ui/text.js';
import { KeyDialog } from '../ui/keydialog.js';
import { NodeLine } from './node.js';
import { Who } from './who.js';
import { Guarded } from './guarded.js';
import { LatePage } from './latepage.js';
import { routeOf } from './routes.js';

const LINKS = [
  { name: 'Collections', parts: [] },
  { name: 'Model', parts: ['_model'] },
  { name: 'Changes', parts: ['_changes'] },
  { name: 'Operations', parts: ['_status'] },
];

/** @returns {Promise<any>} */
const savedHere = async () => (await import('../pages/edit/saved.js')).SavedHere;

/** The frame around each page: a banner, the navigation, the page with its heading, and how the node stands. */
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
    <header><span class="name">Fanfold</span>
      <nav aria-label="Console">${LINKS.map((link) => html`<a href=${placeHref(link.parts)} aria-current=${link.parts.join('/') === (path === '' ? '' : path) ? 'page' : undefined}>${link.name}</a>`)}</nav>
      <${Who} />
    </header>
    <main id="main"><h1 tabindex="-1" ref=${heading}><${Visible} text=${title} /></h1>${saved.value && html`<${LatePage} load=${savedHere} place=${at} />`}<${Guarded} key=${readers.value + ' ' + path} place=${at}>${Page ? html`<${Page} place=${at} />` : html`<${LatePage} load=${load} place=${at} />`}<//></main>
    <footer><${NodeLine} /></footer>
    <${KeyDialog} />`;
}
