import { html, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { goTo, placeHref, replacePlace } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { Visible } from '../ui/parts.js';
import { isDerived, membersOf, readable, valuesOf } from './cells.js';

/** @typedef {import('../lib/json.js').Node} Node */

/** How wide a column is: at least, at most by itself, at most by hand, and by how much a key changes it, in pixels. */
const WIDTH = { least: 56, by_itself: 320, most: 900, step: 16 };

/** How wide a character is about, and what stands beside the text of a cell. */
const LETTER = 7.4;
const AROUND = 22;

/**
 * How the columns of a table are: numbers at the right, and as wide as what stands in the first documents.
 * @param {Node[]} documents
 * @param {string[]} columns
 * @returns {Map<string, { numeric: boolean, width: number }>} by path; that of the ids is ''
 */
export function shapeOf(documents, columns) {
  const width = (/** @type {number} */ letters, /** @type {number} */ around) =>
    Math.round(Math.min(WIDTH.by_itself, Math.max(WIDTH.least, letters * LETTER + around)));
  const out = new Map();
  const ids = documents.map((doc) => [...valuesOf(doc, 'id')].map(readable)[0]?.length ?? 0);
  out.set('', { numeric: false, width: width(Math.max(6, ...ids), 2 * AROUND + 24) });
  for (const path of columns) {
    let numbers = 0;
    let others = 0;
    let letters = path.length + 2;
    for (const doc of documents) {
      const values = [...valuesOf(doc, path)].slice(0, 4);
      if (values.length === 1 && values[0].kind === 'number') numbers++;
      else if (values.length > 0) others++;
      letters = Math.max(
        letters,
        values.reduce((sum, node) => sum + (node.members || node.elements ? 38 : readable(node).length + 2), -2),
      );
    }
    out.set(path, { numeric: numbers > others, width: width(letters, AROUND) });
  }
  return out;
}

// What a tab remembers of the columns of a collection.

const NAME = 'fanfold-columns ';

/** How long what is remembered of a collection may be, in characters. */
const MAX_REMEMBERED = 4096;

/** @typedef {{ columns?: string[], widths: Record<string, number> }} Remembered */

/**
 * Returns what the tab remembers of a collection's columns.
 * @param {string} collection
 * @returns {Remembered}
 */
export function remembered(collection) {
  try {
    const of = JSON.parse(sessionStorage.getItem(NAME + collection) ?? '{}');
    return { columns: Array.isArray(of.columns) ? of.columns.map(String) : undefined, widths: { ...of.widths } };
  } catch {
    return { widths: {} };
  }
}

/**
 * Remembers the columns of a collection, as long as the tab is open.
 * @param {string} collection
 * @param {Remembered} of
 */
export function remember(collection, of) {
  const text = JSON.stringify(of);
  try {
    if (text.length <= MAX_REMEMBERED) sessionStorage.setItem(NAME + collection, text);
  } catch {
    // the tab has no room: the place still has the columns
  }
}

/**
 * The head of a column: a button that sorts, and an edge that is drawn to another width. Shift with an arrow key does that, too.
 * @param {{ path: string, label?: string, numeric: boolean, derived?: boolean, width: number, sort: string[], sorts: boolean, first?: any,
 *   onSort: (terms: string[]) => void, onWidth: (width: number) => void }} props sorts is false where nothing is sorted
 */
export function Head({ path, label = path, numeric, derived = false, width, sort, sorts, first, onSort, onWidth }) {
  const at = sort.findIndex((term) => term === path || term === '-' + path);
  const down = at >= 0 && sort[at] !== path;
  const press = (/** @type {MouseEvent} */ event) => {
    const rest = event.shiftKey ? sort.filter((_, i) => i !== at) : [];
    onSort(at < 0 ? [...rest, path] : down ? rest : [...rest, '-' + path]);
  };
  const set = (/** @type {number} */ to) => onWidth(Math.round(Math.min(WIDTH.most, Math.max(WIDTH.least, to))));
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (!event.shiftKey || (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight')) return;
    event.preventDefault();
    set(width + (event.key === 'ArrowLeft' ? -WIDTH.step : WIDTH.step));
  };
  const grab = (/** @type {PointerEvent} */ event) => {
    const edge = /** @type {HTMLElement} */ (event.currentTarget);
    edge.setPointerCapture(event.pointerId);
    const from = event.clientX - width;
    const move = (/** @type {PointerEvent} */ moved) => set(moved.clientX - from);
    edge.addEventListener('pointermove', move);
    edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', move), { once: true });
    event.preventDefault();
  };
  const name = html`<${Visible} text=${label} max=${100} />`;
  return html`<th scope="col" class=${[numeric && 'number', derived && 'from-rule', first !== undefined && 'ids'].filter(Boolean).join(' ')}
    aria-sort=${at === 0 ? (down ? 'descending' : 'ascending') : undefined}><span class="head">${first}${
      sorts
        ? html`<button type="button" class=${'sort' + (at < 0 ? '' : down ? ' down' : ' up')} onClick=${press} onKeyDown=${key}
      aria-keyshortcuts="Shift+ArrowLeft Shift+ArrowRight" title=${derived ? 'A rule derives it' : undefined}>${name}</button>`
        : html`<span class="sort">${name}</span>`
    }<span class="edge" onPointerDown=${grab}></span></span></th>`;
}

/**
 * A button that opens the choice of columns: which there are, in which order, and how wide.
 * @param {{ place: import('../lib/place.js').Place, sheet: import('./load.js').Sheet, sample: import('./builder.js').Sample,
 *   widthOf: (path: string) => number, onWidth: (path: string, width: number) => void }} props
 */
export function Columns({ place, sheet, sample, widthOf, onWidth }) {
  const [open, setOpen] = useState(false);
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const [collection] = place.parts;
  const shown = sheet.columns;
  const known = [...new Set([...shown, ...membersOf(sheet.documents).keys(), ...sample.keys()])].filter((path) => path !== 'id');
  const choose = (/** @type {string[] | undefined} */ columns) => {
    remember(collection, { ...remembered(collection), columns });
    const params = new URLSearchParams(place.params);
    params.delete('fields');
    params.delete('cursor');
    if (columns?.length) params.set('fields', columns.join(','));
    const href = placeHref(place.parts, params);
    if (href === location.hash) replacePlace(href);
    else goTo(href);
  };
  const move = (/** @type {number} */ i, /** @type {number} */ by) => {
    const next = [...shown];
    next.splice(i + by, 0, ...next.splice(i, 1));
    choose(next);
  };
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return html`<span class="opens" onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === 'Escape' && open && close()}>
    <button type="button" class="tool" ref=${button} aria-expanded=${open} onClick=${() => setOpen(!open)}>Columns</button>
    ${
      open &&
      html`<${Choice} onClose=${close}><ul aria-label="Columns" class="choice">${known.map((path) => {
        const i = shown.indexOf(path);
        return html`<li key=${path}><label><input type="checkbox" checked=${i >= 0} disabled=${i >= 0 && shown.length === 1}
          onChange=${() => choose(i >= 0 ? shown.filter((p) => p !== path) : [...shown, path])} /> <${Visible} text=${path}
            max=${60} /></label>
          ${
            i >= 0 &&
            html`<span class="move"><button type="button" class="tool" aria-label=${`Move ${visible(path)} left`} disabled=${i === 0}
            onClick=${() => move(i, -1)}>↑</button><button type="button" class="tool" aria-label=${`Move ${visible(path)} right`}
            disabled=${i === shown.length - 1} onClick=${() => move(i, 1)}>↓</button>
            <input type="range" aria-label=${`Width of ${visible(path)}`} min=${WIDTH.least} max=${WIDTH.by_itself * 2} step=${WIDTH.step}
              value=${widthOf(path)} onInput=${(/** @type {any} */ event) => onWidth(path, Number(event.target.value))} /></span>`
          }</li>`;
      })}</ul><p class="actions"><button type="button" onClick=${() => choose(undefined)}>Those that most have</button></p><//>`
    }</span>`;
}

/**
 * What a button opens under itself. It closes where somebody presses elsewhere.
 * @param {{ onClose: () => void, children: any }} props
 */
export function Choice({ onClose, children }) {
  const ref = useRef(/** @type {HTMLDivElement | null} */ (null));
  useLayoutEffect(() => {
    const away = (/** @type {Event} */ event) => {
      if (!ref.current?.parentElement?.contains(/** @type {globalThis.Node} */ (event.target))) onClose();
    };
    document.addEventListener('pointerdown', away);
    return () => document.removeEventListener('pointerdown', away);
  }, []);
  return html`<div class="under" ref=${ref}>${children}</div>`;
}
