// Queries that were asked lately in this tab, those that somebody saved in the browser, and documents as a file.
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { me } from '../lib/http.js';
import { asProblem } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { Visible, number } from '../ui/parts.js';
import { readable, valuesOf } from './cells.js';
import { Choice } from './columns.js';
import { loadPage } from './load.js';
import { pageAsked } from './query.js';

/** @typedef {import('../lib/json.js').Node} Node */
/** @typedef {import('../lib/place.js').Place} Place */

const RECENT = 'fanfold-recent';
const SAVED = 'fanfold-queries';

/** How many queries are kept of each kind, and how long an address and a name may be, in characters. */
const MAX_QUERIES = { recent: 20, saved: 50, address: 4096, name: 80 };

/**
 * A query: the address of its place, what it is called, and who asked it.
 * @typedef {{ href: string, name: string, by: string }} Kept
 */

/**
 * Reads queries that were kept. What is no such list is none.
 * @param {Storage} storage
 * @param {string} name
 * @returns {Kept[]}
 */
function kept(storage, name) {
  try {
    const list = JSON.parse(storage.getItem(name) ?? '[]');
    return list.filter(
      (/** @type {any} */ one) => typeof one?.href === 'string' && one.href.startsWith('#/') && typeof one.name === 'string',
    );
  } catch {
    return [];
  }
}

/**
 * @param {Storage} storage
 * @param {string} name
 * @param {Kept[]} list
 */
function keep(storage, name, list) {
  try {
    storage.setItem(name, JSON.stringify(list));
  } catch {
    // the browser has no room, or lets nothing be kept
  }
}

/** Returns the reader, whose queries are theirs alone. */
const reader = () => String(me.value?.id ?? '');

/** What of a place is its query. */
const OF_PLACE = ['filter', 'params', 'sort', 'fields', 'group', 'compute'];

/**
 * Returns the address of the query of a place, empty where it has none.
 * @param {Place} place
 */
function addressOf({ parts, params }) {
  const of = Object.fromEntries(OF_PLACE.map((name) => [name, params.get(name) || undefined]));
  return of.filter || of.sort || of.group || of.compute ? placeHref([parts[0]], of) : '';
}

/**
 * Returns how a query reads.
 * @param {URLSearchParams} params
 */
const wordsOf = (params) =>
  [
    params.get('filter'),
    params.get('group') && 'by ' + params.get('group'),
    params.get('compute'),
    params.get('sort') && 'in the order of ' + params.get('sort'),
  ]
    .filter(Boolean)
    .join(', ');

/**
 * A button that opens the queries of a collection: those asked lately, and those that are saved.
 * @param {{ place: Place, answered: boolean }} props answered says that the query of the place has an answer
 */
export function Queries({ place, answered }) {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [count, setCount] = useState(0);
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const href = addressOf(place);
  const by = reader();
  useEffect(() => {
    if (!answered || href === '' || href.length > MAX_QUERIES.address) return;
    const list = kept(sessionStorage, RECENT).filter((one) => one.href !== href);
    keep(sessionStorage, RECENT, [{ href, name: wordsOf(place.params), by }, ...list].slice(0, MAX_QUERIES.recent));
  }, [href, answered]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    const title = name.trim().slice(0, MAX_QUERIES.name);
    if (title === '') return;
    const list = kept(localStorage, SAVED).filter((one) => one.name !== title || one.by !== by);
    keep(localStorage, SAVED, [{ href, name: title, by }, ...list].slice(0, MAX_QUERIES.saved));
    setName('');
    setCount(count + 1);
  };
  const forget = (/** @type {Kept} */ of) => {
    keep(
      localStorage,
      SAVED,
      kept(localStorage, SAVED).filter((one) => one.href !== of.href || one.name !== of.name),
    );
    setCount(count + 1);
  };
  const mine = (/** @type {Kept} */ one) => one.by === by && one.href.startsWith(placeHref([place.parts[0]]) + '?');
  const list = (/** @type {string} */ label, /** @type {Kept[]} */ queries, /** @type {boolean} */ mayForget) =>
    queries.length > 0 &&
    html`<h3>${label}</h3><ul aria-label=${label} class="choice">${queries.map(
      (one) =>
        html`<li key=${one.href + one.name}><a href=${one.href} onClick=${() => setOpen(false)}><${Visible} text=${one.name}
          max=${120} /></a>${
            mayForget &&
            html`<button type="button" class="tool" aria-label=${`Forget ${visible(one.name)}`} onClick=${() => forget(one)}>✕</button>`
          }</li>`,
    )}</ul>`;
  const recent = open ? kept(sessionStorage, RECENT).filter(mine) : [];
  const saved = open ? kept(localStorage, SAVED).filter(mine) : [];
  return html`<span class="opens" onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === 'Escape' && open && close()}>
    <button type="button" class="tool" ref=${button} aria-expanded=${open} onClick=${() => setOpen(!open)}>Queries</button>${
      open &&
      html`<${Choice} onClose=${() => setOpen(false)}>${list('Saved queries', saved, true)}${list('Recent queries', recent, false)}
      ${recent.length + saved.length === 0 && html`<p class="quiet">None yet in this tab.</p>`}
      ${
        href !== '' &&
        href.length <= MAX_QUERIES.address &&
        html`<form class="actions" onSubmit=${save}><label>Name <input value=${name} maxlength=${MAX_QUERIES.name} size="16"
          autocomplete="off"
          onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label><button
            type="submit">Save this query</button></form>
          <p class="quiet">It is kept in this browser. Its address is a link for others.</p>`
      }<//>`
    }</span>`;
}

// Documents as a file, page by page.

/** How many documents a file has at most, of how many characters, and how many are asked for at a time. */
const MAX_EXPORT = { documents: 100_000, size: 256 << 20, page: 500 };

/**
 * Returns a document as a line of NDJSON, by its own tokens and without what the store adds to lists.
 * @param {Node} doc
 */
const lineOf = (doc) =>
  '{' +
  (doc.members ?? [])
    .filter((m) => m.name !== '_meta')
    .map((m) => doc.raw.slice(m.start, m.value.end).replace(/[\r\n]+/g, ''))
    .join(',') +
  '}\n';

/** Returns a cell of CSV (RFC 4180). @param {string} text */
const csvOf = (text) => (/[",\r\n]|^\s|\s$/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

/**
 * Returns what a document has in columns as a line of CSV. Several values of a column stand with commas.
 * @param {Node} doc
 * @param {string[]} columns
 */
const recordOf = (doc, columns) => columns.map((path) => csvOf([...valuesOf(doc, path)].map(readable).join(', '))).join(',') + '\r\n';

/**
 * Makes a file of all documents that a place asks for.
 * @param {Place} place
 * @param {'csv' | 'ndjson'} form
 * @param {string[]} columns
 * @param {(done: number) => void} onDone is told how many there are so far
 * @param {AbortSignal} signal
 * @returns {Promise<{ blob: Blob, documents: number, cut: boolean }>} cut says that there are more
 */
async function fileOf(place, form, columns, onDone, signal) {
  const out = form === 'csv' ? [['id', ...columns].map(csvOf).join(',') + '\r\n'] : [];
  const fields = form === 'csv' ? columns.join(',') : undefined;
  let documents = 0;
  let size = 0;
  let cursor = '';
  const params = new URLSearchParams(place.params);
  params.delete('cursor');
  do {
    const asked = pageAsked({ ...place, params }, { cursor });
    const { fields: _, ...query } = asked.query;
    const page = await loadPage({ ...asked, query: { ...query, limit: MAX_EXPORT.page, ...(fields ? { fields } : {}) }, signal });
    const text = page.documents.map((doc) => (form === 'csv' ? recordOf(doc, ['id', ...columns]) : lineOf(doc))).join('');
    out.push(text);
    size += text.length;
    documents += page.documents.length;
    cursor = page.next;
    onDone(documents);
  } while (cursor !== '' && documents < MAX_EXPORT.documents && size < MAX_EXPORT.size);
  const type = form === 'csv' ? 'text/csv' : 'application/x-ndjson';
  return { blob: new Blob(out, { type }), documents, cut: cursor !== '' };
}

/**
 * A button that opens the ways to take the documents along as a file.
 * @param {{ place: Place, columns: string[] }} props
 */
export function Export({ place, columns }) {
  const [open, setOpen] = useState(false);
  const [state, setState] = useState(/** @type {{ done?: number, told?: string, problem?: import('../lib/http.js').Problem }} */ ({}));
  const ending = useRef(/** @type {AbortController | null} */ (null));
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  useEffect(() => () => ending.current?.abort(), []);
  const start = async (/** @type {'csv' | 'ndjson'} */ form) => {
    const mine = new AbortController();
    ending.current = mine;
    setState({ done: 0 });
    try {
      const { blob, documents, cut } = await fileOf(place, form, columns, (done) => setState({ done }), mine.signal);
      const link = document.createElement('a');
      link.href = URL.createObjectURL(blob);
      link.download = `${place.parts[0]}.${form}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
      setState({ told: `${number(documents)} documents are in the file.${cut ? ' There are more: fanfold export has no bound.' : ''}` });
    } catch (error) {
      setState(mine.signal.aborted ? {} : { problem: asProblem(error) });
    }
  };
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const { done, told, problem } = state;
  return html`<span class="opens" onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === 'Escape' && open && close()}>
    <button type="button" class="tool" ref=${button} aria-expanded=${open} onClick=${() => setOpen(!open)}>Export</button>${
      open &&
      html`<${Choice} onClose=${() => done === undefined && setOpen(false)}><p>What the filter matches, at most ${number(
        MAX_EXPORT.documents,
      )} documents.</p>
      <p class="actions">${
        done === undefined
          ? html`<button type="button" onClick=${() => start('csv')}>CSV of the columns</button> <button type="button"
        onClick=${() => start('ndjson')}>NDJSON of whole documents</button>`
          : html`<button type="button" onClick=${() => ending.current?.abort()}>Cancel</button>`
      } <span role="status" class="quiet">${done !== undefined ? `${number(done)} so far` : told}</span></p>
      <${ProblemAlert} problem=${problem} /><//>`
    }</span>`;
}
