// The columns of a table, and the panel beside it with the document of a row.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { request } from '../lib/http.js';
import { read, stepsOf } from '../lib/json.js';
import { useLoad } from '../lib/load.js';
import { goTo, placeHref, replacePlace } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { Pending, ProblemAlert } from '../ui/dialogs.js';
import { JsonView } from '../ui/json.js';
import { Visible } from '../ui/parts.js';
import { isDerived, membersOf, pathOfSteps, readable, valuesOf } from './cells.js';

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

/** @typedef {import('./cells.js').Ties} Ties */

/**
 * Asks for a document.
 * @param {string[]} path
 * @param {string | null} at
 * @param {AbortSignal} signal
 */
const load = async (path, at, signal) => read((await request({ path, query: { at }, signal })).text, signal);

/**
 * The document of a row, beside the table; or what a chip of it holds.
 * @param {{ collection: string, id: string, at: string | null, writes: boolean, ties: Ties, part?: { path: string, node: Node },
 *   fresh: unknown, focus: number, onClose: () => void, onWhole: () => void }} props fresh changes with the document; focus
 *   changes when the panel is to take the focus; onWhole shows the whole document in place of the part
 */
export function Panel({ collection, id, at, writes, ties, part, fresh, focus, onClose, onWhole }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const { value, problem, again } = useLoad(
    async (signal) => (part ? undefined : { id, root: await load([collection, id], at, signal) }),
    [collection, id, at, part, fresh],
  );
  useLayoutEffect(() => {
    if (focus > 0) heading.current?.focus();
  }, [focus]);
  const root = part?.node ?? (value?.id === id ? value.root : undefined);
  const adds = useMemo(() => addsOf(ties, at, part?.path ?? ''), [ties, at, part]);
  const leave = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') onClose();
  };
  return html`<section aria-label=${`Document ${visible(id)}`} class="side" onKeyDown=${leave}>
    <header><h2 tabindex="-1" ref=${heading}><${Visible} text=${id} max=${80} />${
      part && html`<span class="quiet"> · <${Visible} text=${part.path} max=${80} /></span>`
    }</h2>
      ${part && html`<button type="button" class="tool" onClick=${onWhole}>Whole document</button>`}
      <a href=${placeHref([collection, id], { at })}>Open</a>
      ${writes && html`<a href=${placeHref([collection, id], { edit: '' })}>Edit</a>`}
      <button type="button" class="tool" aria-label="Close the document" onClick=${onClose}>✕</button></header>
    <${ProblemAlert} problem=${part ? undefined : problem} again=${again} />
    <${Pending} of=${{ value: root, problem }} shape="text" />
    ${root && html`<${JsonView} key=${id + ' ' + (part?.path ?? '')} root=${root} adds=${adds} />`}
  </section>`;
}

/**
 * Returns what is known of the values of a document: which lead to others, and which are derived.
 * @param {Ties} ties
 * @param {string | null} at
 * @param {string} from the path of what is shown
 */
function addsOf(ties, at, from) {
  const pathOf = (/** @type {string} */ pointer) => {
    const below = pathOfSteps(stepsOf(pointer));
    return from === '' ? below : from + (below === '' || below.startsWith('[') ? below : '.' + below);
  };
  return {
    marked: (/** @type {string} */ pointer) => isDerived(ties, pathOf(pointer)),
    href: (/** @type {string} */ pointer, /** @type {Node} */ node) => {
      const to = ties.links.get(pathOf(pointer));
      return to !== undefined && (node.kind === 'string' || node.kind === 'number') && readable(node) !== ''
        ? placeHref([to, readable(node)], { at })
        : undefined;
    },
  };
}

/** How many members a look at a document shows, how much of each, and how long somebody points at a link before that, in milliseconds. */
const PEEK = { members: 8, letters: 80, pause: 250 };

/**
 * Shows what a link of an element refers to, while somebody points at it or has it in focus. Escape hides it.
 * @param {{ within: { current: HTMLElement | null }, at: string | null }} props
 */
export function Peek({ within, at }) {
  const [of, setOf] = useState(/** @type {{ to: string, id: string, link: HTMLElement } | null} */ (null));
  const own = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    const box = within.current;
    if (!box) return undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const after = (/** @type {() => void} */ then) => {
      clearTimeout(timer);
      timer = setTimeout(then, PEEK.pause);
    };
    const come = (/** @type {Event} */ event) => {
      const link = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest('a[data-to]'));
      if (link) after(() => setOf({ to: link.dataset.to ?? '', id: link.dataset.id ?? '', link }));
      else if (!own.current?.contains(/** @type {globalThis.Node} */ (event.target))) after(() => setOf(null));
      else clearTimeout(timer);
    };
    const go = () => after(() => setOf(null));
    const key = (/** @type {KeyboardEvent} */ event) => {
      clearTimeout(timer);
      if (event.key === 'Escape') setOf(null);
    };
    const gone = () => {
      clearTimeout(timer);
      setOf(null);
    };
    const ending = new AbortController();
    const { signal } = ending;
    box.addEventListener('pointerover', come, { signal });
    box.addEventListener('focusin', come, { signal });
    box.addEventListener('pointerleave', go, { signal });
    box.addEventListener('keydown', key, { signal });
    box.addEventListener('scroll', gone, { signal, capture: true });
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, []);
  return of?.link.isConnected && html`<${Look} key=${of.to + '/' + of.id} own=${own} at=${at} ...${of} />`;
}

/**
 * A look at a document, under the link that leads to it.
 * @param {{ to: string, id: string, link: HTMLElement, at: string | null, own: { current: HTMLDivElement | null } }} props
 */
function Look({ to, id, link, at, own }) {
  const { value, problem } = useLoad((signal) => load([to, id], at, signal), [to, id, at]);
  const rect = link.getBoundingClientRect();
  const above = rect.bottom > innerHeight * 0.7;
  const where = {
    left: Math.max(8, Math.min(rect.left, innerWidth - 340)) + 'px',
    ...(above ? { bottom: innerHeight - rect.top + 2 + 'px' } : { top: rect.bottom + 2 + 'px' }),
  };
  return html`<div role="tooltip" class="peek" ref=${own} style=${where}><p class="quiet"><${Visible} text=${to + '/' + id}
    max=${100} /></p>
    ${
      problem &&
      html`<p>${
        problem.status === 404
          ? 'There is no such document.'
          : html`<${Visible} text=${problem.title}
      max=${200} />`
      }</p>`
    }
    ${
      value &&
      html`<dl>${(value.members ?? [])
        .filter((m) => m.name !== 'id')
        .slice(0, PEEK.members)
        .map(
          (m) =>
            html`<dt><${Visible} text=${m.name} max=${30} /></dt><dd><${Visible} text=${readable(m.value)} max=${PEEK.letters} /></dd>`,
        )}</dl>`
    }
    ${!value && !problem && html`<p class="quiet">Asking for it</p>`}</div>`;
}
