import { html, signal, useEffect, useId, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { addressOf, hasRole, key, keyHeaders, me, readers } from '../lib/http.js';
import { goTo, place, placeHref, saved, visited } from '../lib/place.js';
import { Visible, number } from '../ui/parts.js';
import { NotFoundPage, routeOf } from './app.js';
import { going } from './goto.js';
import { Who, needs } from './node.js';

/** @typedef {{ name: string, documents?: number, declared: boolean }} Collection */

/**
 * The collections that the reader may read, the first thousand. It is null as long as they are not known.
 * @type {import('@preact/signals').Signal<{ all: Collection[], more: boolean } | null>}
 */
export const collections = signal(null);

/**
 * The pages of the console, each with a picture of 16 by 16, and with whoever may read it.
 * @type {{ name: string, parts: string[], icon: string, may?: () => boolean }[]}
 */
const PAGES = [
  { name: 'Collections', parts: [], icon: 'M2.5 4.8 8 2.2l5.5 2.6L8 7.4zM2.5 8 8 10.6 13.5 8M2.5 11.2 8 13.8l5.5-2.6' },
  {
    name: 'Model',
    parts: ['_model'],
    icon: 'M2.5 2.5h4.5v4h-4.5zM9 9.5h4.5v4H9zM4.7 6.5v5H9',
    may: () => me.value === null || mayReadAll(),
  },
  { name: 'Changes', parts: ['_changes'], icon: 'M1.5 8.2h3l2-5.2 3 10 2-4.8h3' },
  {
    name: 'Groups',
    parts: ['_groups'],
    icon: 'M8 2.5a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8M3 13.3c.3-2.7 2.1-4 5-4s4.7 1.3 5 4',
    may: () => me.value !== null,
  },
  {
    name: 'Operations',
    parts: ['_status'],
    icon: 'M2.3 11.500a5.9 5.9 0 1 1 11.4 0M8 10.500l2.7-3.7',
    may: () => me.value === null || hasRole('monitor'),
  },
  {
    name: 'Keys',
    parts: ['_keys'],
    icon: 'M10.3 2.500a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.400M8 8l-5.5 5.500M4.5 11.500l1.7 1.7',
    may: () => hasRole('admin'),
  },
];

/** Tells whether the reader reads every document of every collection. */
function mayReadAll() {
  const { collections: declared = {}, otherCollections } = me.value;
  const all = [...Object.values(declared), otherCollections];
  return all.every((/** @type {any} */ of) => of?.read && !of.where?.includes('read'));
}

/** Returns the pages that are there for this reader. */
export const pages = () =>
  PAGES.filter(({ parts, may }) => routeOf({ parts, params: new URLSearchParams() }).page !== NotFoundPage && (!may || may()));

/** How long until the collections are asked for again, in milliseconds: their counts change all the time. */
const EVERY = 30_000;

/** Keeps the list of collections, as long as the tab is seen. A key that is refused here is not asked for: the page does that. */
function useCollections() {
  const known = useRef({ etag: '' });
  const used = key.value;
  // Whom the server takes the reader for needs not be known, and an effect would ask only once the page is painted.
  useLayoutEffect(() => {
    const ending = new AbortController();
    known.current.etag = '';
    const look = async () => {
      if (document.hidden) return;
      const headers = { ...keyHeaders(), ...(known.current.etag ? { 'If-None-Match': known.current.etag } : {}) };
      const asked = { headers, cache: /** @type {const} */ ('no-store'), signal: ending.signal };
      try {
        const response = await fetch(addressOf({ path: [], query: { limit: 1000 } }), asked);
        if (!response.ok) return;
        const of = await response.json();
        if (ending.signal.aborted) return;
        known.current.etag = response.headers.get('ETag') ?? '';
        collections.value = { all: of.collections, more: of.next !== undefined };
      } catch {
        // what is listed stays, and the line of the node says that the server cannot be reached
      }
    };
    look();
    const timer = setInterval(look, EVERY);
    document.addEventListener('visibilitychange', look);
    return () => {
      ending.abort();
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [used, readers.value, saved.value, place.value.parts[0]]);
}

const isMac = /mac|iphone|ipad/i.test(navigator.platform);

/** The sidebar: where one can go, and who one is. On a narrow page a button opens it. */
export function Sidebar() {
  const [open, setOpen] = useState(false);
  const id = useId();
  const path = place.value.parts.join('/');
  useCollections();
  useEffect(() => setOpen(false), [place.value]);
  const closed = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') setOpen(false);
  };
  return html`<header onKeyDown=${closed}>
    <div class="top"><span class="name">Fanfold</span>
      <button type="button" class="menu" aria-expanded=${open} aria-controls=${id} onClick=${() => setOpen(!open)}>Menu</button></div>
    <div id=${id} class=${open ? 'inside open' : 'inside'}>
      <button type="button" class="goto-open" onClick=${() => {
        going.value = true;
      }}>Go to…<kbd>${isMac ? '⌘K' : 'Ctrl K'}</kbd></button>
      <nav aria-label="Console"><ul role="list">${pages().map(
        ({ name, parts, icon }) => html`<li key=${name}><a href=${placeHref(parts)}
        aria-current=${parts.join('/') === path ? 'page' : undefined}><svg viewBox="0 0 16 16" aria-hidden="true"><path
          d=${icon} /></svg><span>${name}</span></a>
        ${parts.length === 0 && html`<${Badge} />`}</li>`,
      )}</ul></nav>
      <${Store} chosen=${place.value.parts[0] ?? ''} />
      <${Who} />
    </div>
  </header>`;
}

/** How many things need attention, as a link to them. */
function Badge() {
  const n = needs.value?.length ?? 0;
  if (n === 0) return null;
  return html`<a class="badge" href=${placeHref([])} aria-label=${`${n} need${n === 1 ? 's' : ''} attention`}>${n}</a>`;
}

/** How many collections are listed. */
const MOST = 200;

/**
 * The collections of the store with a box that narrows them, and a way to a new one.
 * @param {{ chosen: string }} props the name of the collection that the page is about
 */
function Store({ chosen }) {
  const [typed, setTyped] = useState('');
  const of = collections.value;
  if (!of) return null;
  const wanted = typed.trim().toLowerCase();
  const found = of.all.filter(({ name }) => name.toLowerCase().includes(wanted));
  const go = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter' && found.length > 0 && wanted !== '') goTo(placeHref([found[0].name]));
  };
  const left = found.length - MOST;
  return html`<nav class="store" aria-label="Collections of the store">
    <div class="head"><input type="search" aria-label="Filter collections" placeholder="Filter collections" autocomplete="off"
      autocapitalize="off" spellcheck=${false} value=${typed} onKeyDown=${go}
      onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} />
      ${
        me.value?.otherCollections?.write &&
        html`<a class="button" href=${placeHref([], { new: '' })} aria-label="New collection" title="New collection">+</a>`
      }</div>
    <ul role="list" aria-label="Collections of the store">${found.slice(0, MOST).map(
      ({ name, documents }) => html`<li key=${name}>
      <a href=${placeHref([name])} title=${name} aria-current=${name === chosen ? 'page' : undefined}><span>${name}</span> ${
        documents !== undefined &&
        html`<span class="number">${number(documents)}<span class="unseen"> document${documents === 1 ? '' : 's'}</span></span>`
      }</a></li>`,
    )}</ul>
    ${left > 0 && html`<p class="quiet">${number(left)} more: type a part of the name.</p>`}
    ${of.more && html`<p class="quiet">The first 1,000. <a href=${placeHref([])}>All collections</a></p>`}
    ${wanted !== '' && found.length === 0 && html`<p class="quiet" role="status">No collection has that in its name.</p>`}
  </nav>`;
}

/** The way to the page: each link leads to what is around it, at the same time of the store. */
export function Trail() {
  const { parts, params } = place.value;
  const at = params.get('at');
  const steps = stepsTo(parts, params);
  if (steps.length === 0) return html`<div class="trail"></div>`;
  return html`<nav aria-label="Breadcrumb" class="trail"><ol>
    <li><a href=${placeHref([])}>All collections</a></li>
    ${steps.map(({ name, to }, i) =>
      i === steps.length - 1
        ? html`<li aria-current="page"><${Visible} text=${name} max=${100} /></li>`
        : html`<li><a href=${wayTo(to, at)}><${Visible} text=${name} max=${100} /></a></li>`,
    )}</ol></nav>`;
}

/**
 * Returns the address of what is around a page: of the present the last place of it in this tab, so a filter and a page are there again.
 * @param {string[]} to
 * @param {string | null} at
 */
function wayTo(to, at) {
  const path = to.join('/');
  const was = visited.value.find(
    ({ parts, params }) => parts.join('/') === path && !['at', 'new', 'edit'].some((name) => params.has(name)),
  );
  return (at === null && was?.href) || placeHref(to, { at });
}

/**
 * Returns the steps from the collections to a place. The last is the place itself.
 * @param {string[]} parts
 * @param {URLSearchParams} params
 * @returns {{ name: string, to: string[] }[]}
 */
function stepsTo(parts, params) {
  if (parts.length === 0) return params.has('new') ? [{ name: 'New collection', to: [] }] : [];
  const page = PAGES.find((one) => one.parts[0] === parts[0]);
  const names = parts.map((name, i) => (i === 0 && page ? page.name : name === '_history' ? 'History' : name));
  if (parts[0] === '_import') names[0] = 'Import';
  const steps = names.map((name, i) => ({ name, to: parts.slice(0, i + 1) }));
  if (params.has('edit') && parts.length === 2) steps.push({ name: 'Edit', to: parts });
  if (params.has('new') && parts.length === 1) steps.push({ name: 'New document', to: parts });
  return steps;
}
