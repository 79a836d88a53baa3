// Queries that were asked lately in this tab, those that somebody saved in the browser, and rows as a file.
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { me } from '../lib/http.js';
import { asProblem } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { Visible, counted, number } from '../ui/parts.js';
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
 * The queries of a place: its own address, and what keeps them. Whatever is asked and answered is a recent one.
 * @param {Place} place
 * @param {boolean} answered
 */
function useKept(place, answered) {
  const [, setCount] = useState(0);
  const href = addressOf(place);
  const by = reader();
  const fits = href !== '' && href.length <= MAX_QUERIES.address;
  useEffect(() => {
    if (!answered || !fits) return;
    const list = kept(sessionStorage, RECENT).filter((one) => one.href !== href);
    keep(sessionStorage, RECENT, [{ href, name: wordsOf(place.params), by }, ...list].slice(0, MAX_QUERIES.recent));
  }, [href, answered]);
  const mine = (/** @type {Kept} */ one) => one.by === by && one.href.startsWith(placeHref([place.parts[0]]) + '?');
  const change = (/** @type {(list: Kept[]) => Kept[]} */ to) => {
    keep(localStorage, SAVED, to(kept(localStorage, SAVED)));
    setCount((count) => count + 1);
  };
  return {
    fits,
    recent: () => kept(sessionStorage, RECENT).filter(mine),
    saved: () => kept(localStorage, SAVED).filter(mine),
    save: (/** @type {string} */ name) =>
      change((list) => [{ href, name, by }, ...list.filter((one) => one.name !== name || one.by !== by)].slice(0, MAX_QUERIES.saved)),
    forget: (/** @type {Kept} */ of) => change((list) => list.filter((one) => one.href !== of.href || one.name !== of.name)),
  };
}

/**
 * Queries as links.
 * @param {{ label: string, queries: Kept[], onGo: () => void, onForget?: (of: Kept) => void }} props
 */
const QueryList = ({ label, queries, onGo, onForget }) =>
  queries.length > 0 &&
  html`<h3>${label}</h3><ul aria-label=${label} class="choice">${queries.map(
    (one) =>
      html`<li key=${one.href + one.name}><a href=${one.href} onClick=${onGo}><${Visible} text=${one.name} max=${120} /></a>${
        onForget &&
        html`<button type="button" class="tool" aria-label=${`Forget ${visible(one.name)}`} onClick=${() => onForget(one)}>✕</button>`
      }</li>`,
  )}</ul>`;

/**
 * Gives the query of a place a name, under which it is saved.
 * @param {{ onSave: (name: string) => void }} props
 */
function SaveQuery({ onSave }) {
  const [name, setName] = useState('');
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    const title = name.trim().slice(0, MAX_QUERIES.name);
    if (title === '') return;
    onSave(title);
    setName('');
  };
  return html`<form class="actions" onSubmit=${save}><label>Name <input value=${name} maxlength=${MAX_QUERIES.name} size="16"
    autocomplete="off" onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label><button
      type="submit">Save this query</button></form>
    <p class="quiet">It is kept in this browser. Its address is a link for others.</p>`;
}

/**
 * A button that opens the queries of a collection: those asked lately, and those that are saved.
 * @param {{ place: Place, answered: boolean }} props answered says that the query of the place has an answer
 */
export function Queries({ place, answered }) {
  const [open, setOpen] = useState(false);
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const queries = useKept(place, answered);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const recent = open ? queries.recent() : [];
  const saved = open ? queries.saved() : [];
  const go = () => setOpen(false);
  return html`<span class="opens" onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === 'Escape' && open && close()}>
    <button type="button" class="tool" ref=${button} aria-expanded=${open} onClick=${() => setOpen(!open)}>Queries</button>${
      open &&
      html`<${Choice} onClose=${go}><${QueryList} label="Saved queries" queries=${saved} onGo=${go} onForget=${queries.forget} />
      <${QueryList} label="Recent queries" queries=${recent} onGo=${go} />
      ${recent.length + saved.length === 0 && html`<p class="quiet">None yet in this tab.</p>`}
      ${queries.fits && html`<${SaveQuery} onSave=${queries.save} />`}<//>`
    }</span>`;
}

// Documents, or groups of them, as a file, page by page.

/** How many rows a file has at most, of how many characters, and how many are asked for at a time. */
const MAX_EXPORT = { documents: 100_000, size: 256 << 20, page: 500 };

/** @typedef {'csv' | 'ndjson'} Form */

/**
 * What a file is made of.
 * @typedef {object} Source
 * @property {string} name of the file, without its ending
 * @property {string} noun what one row is called
 * @property {string} about says what the file has
 * @property {Record<Form, string>} labels of the buttons
 * @property {string} more where those are that the file has no room for
 * @property {string[]} columns of CSV
 * @property {(asked: { cursor: string, limit: number, form: Form, signal: AbortSignal }) => Promise<{ rows: Node[], next: string }>} page
 * @property {(row: Node, column: string, i: number) => Iterable<Node>} valuesOf what a row has in a column, and its index
 * @property {(row: Node) => string} lineOf a row as JSON on a line
 */

/**
 * Returns the documents that a place asks for, as what a file is made of.
 * @param {Place} place
 * @param {string[]} columns
 * @returns {Source}
 */
export const documentsOf = (place, columns) => ({
  name: place.parts[0],
  noun: 'document',
  about: 'What the filter matches',
  labels: { csv: 'CSV of the columns', ndjson: 'NDJSON of whole documents' },
  more: ' There are more: fanfold export has no bound.',
  columns: ['id', ...columns],
  page: async ({ cursor, limit, form, signal }) => {
    const params = new URLSearchParams(place.params);
    params.delete('cursor');
    const asked = pageAsked({ ...place, params }, { cursor });
    const { fields: _, ...query } = asked.query;
    const fields = form === 'csv' ? columns.join(',') : '';
    const page = await loadPage({ ...asked, query: { ...query, limit, ...(fields ? { fields } : {}) }, signal });
    return { rows: page.documents, next: page.next };
  },
  valuesOf,
  lineOf: ofOneLine,
});

/**
 * Returns an object as JSON on a line, by its own tokens and without what the store adds to lists.
 * @param {Node} of
 */
export const ofOneLine = (of) =>
  '{' +
  (of.members ?? [])
    .filter((m) => m.name !== '_meta')
    .map((m) => of.raw.slice(m.start, m.value.end).replace(/[\r\n]+/g, ''))
    .join(',') +
  '}';

/** Returns a cell of CSV (RFC 4180). @param {string} text */
const csvOf = (text) => (/[",\r\n]|^\s|\s$/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

/**
 * Returns a row as a line of CSV. Several values of a column stand with commas.
 * @param {Node} row
 * @param {Source} source
 */
const recordOf = (row, { columns, valuesOf }) =>
  columns.map((column, i) => csvOf([...valuesOf(row, column, i)].map(readable).join(', '))).join(',') + '\r\n';

/**
 * Makes a file of all rows of a source.
 * @param {Source} source
 * @param {Form} form
 * @param {(done: number) => void} onDone is told how many there are so far
 * @param {AbortSignal} signal
 * @returns {Promise<{ blob: Blob, count: number, cut: boolean }>} cut says that there are more
 */
async function fileOf(source, form, onDone, signal) {
  const out = form === 'csv' ? [source.columns.map(csvOf).join(',') + '\r\n'] : [];
  let count = 0;
  let size = 0;
  let cursor = '';
  do {
    const { rows, next } = await source.page({ cursor, limit: MAX_EXPORT.page, form, signal });
    const text = rows.map((row) => (form === 'csv' ? recordOf(row, source) : source.lineOf(row) + '\n')).join('');
    out.push(text);
    size += text.length;
    count += rows.length;
    cursor = next;
    onDone(count);
  } while (cursor !== '' && count < MAX_EXPORT.documents && size < MAX_EXPORT.size);
  const type = form === 'csv' ? 'text/csv' : 'application/x-ndjson';
  return { blob: new Blob(out, { type }), count, cut: cursor !== '' };
}

/** Gives the browser a file to store. @param {Blob} blob @param {string} name */
function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * Writes files of a source, and tells how far one is.
 * @param {Source} source
 */
function useFile(source) {
  const [state, setState] = useState(/** @type {{ done?: number, told?: string, problem?: import('../lib/http.js').Problem }} */ ({}));
  const ending = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => ending.current?.abort(), []);
  const start = async (/** @type {Form} */ form) => {
    const mine = new AbortController();
    ending.current = mine;
    setState({ done: 0 });
    try {
      const { blob, count, cut } = await fileOf(source, form, (done) => setState({ done }), mine.signal);
      download(blob, `${source.name}.${form}`);
      const told = `${counted(count, source.noun)} ${count === 1 ? 'is' : 'are'} in the file.`;
      setState({ told: told + (cut ? source.more : '') });
    } catch (error) {
      setState(mine.signal.aborted ? {} : { problem: asProblem(error) });
    }
  };
  return { ...state, start, cancel: () => ending.current?.abort() };
}

/**
 * A button that opens the ways to take rows along as a file.
 * @param {{ source: Source }} props
 */
export function Export({ source }) {
  const [open, setOpen] = useState(false);
  const { done, told, problem, start, cancel } = useFile(source);
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const { about, noun, labels } = source;
  return html`<span class="opens" onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === 'Escape' && open && close()}>
    <button type="button" class="tool" ref=${button} aria-expanded=${open} onClick=${() => setOpen(!open)}>Export</button>${
      open &&
      html`<${Choice} onClose=${() => done === undefined && setOpen(false)}><p>${about}, at most ${counted(MAX_EXPORT.documents, noun)}.</p>
      <p class="actions">${
        done === undefined
          ? html`<button type="button" onClick=${() => start('csv')}>${labels.csv}</button> <button type="button"
        onClick=${() => start('ndjson')}>${labels.ndjson}</button>`
          : html`<button type="button" onClick=${cancel}>Cancel</button>`
      } <span role="status" class="quiet">${done !== undefined ? `${number(done)} so far` : told}</span></p>
      <${ProblemAlert} problem=${problem} /><//>`
    }</span>`;
}
