import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { visible } from '../lib/text.js';
import { DocumentLink, number } from '../ui/parts.js';
import { cellOf, isDerived } from './cells.js';
import { Head } from './columns.js';
import { ROW } from './load.js';

/** How many rows are drawn beyond both edges, and by how many they change at a time. */
const BEYOND = 8;
const STEP = 10;

/** How many rows are left free after the last one that is known, where more come. */
const TO_COME = 12;

/** How many rows are printed at most. */
const MAX_PRINTED = 2000;

/** How many rows are seen at least, whatever stands above. */
const LEAST_ROWS = 8;

/**
 * @typedef {object} Props
 * @property {string} collection
 * @property {string | null} at
 * @property {import('./load.js').Sheet} sheet
 * @property {import('./load.js').Changed} changed
 * @property {Map<string, { numeric: boolean, width: number }>} shape
 * @property {(path: string) => number} widthOf
 * @property {(path: string, width: number) => void} onWidth
 * @property {string[]} sort
 * @property {(terms: string[]) => void} onSort
 * @property {import('./cells.js').Surroundings} around
 * @property {Set<string>} chosen ids of rows that are ticked
 * @property {((chosen: Set<string>) => void) | undefined} onChoose undefined where nothing can be done with them
 * @property {string} open the id of the document beside the table
 * @property {(id: string, focus: boolean) => void} onOpen
 * @property {(from: number, to: number) => void} onView is told which rows are seen
 */

/**
 * Documents as rows. Only those near what is seen are elements, but on paper all that are held. Arrow keys go from row to row, and
 * Enter opens one.
 * @param {Props} props
 */
export function Table(props) {
  const { sheet, widthOf, sort, onSort, onWidth, around, chosen, onChoose, at } = props;
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const { view, look, keys, current, take } = useRows(box, props);
  const columns = sheet.columns;
  const rows = sheet.rows;
  const wide = ['', ...columns].reduce((sum, path) => sum + widthOf(path), 0);
  const all = chosen.size > 0 && [...sheet.ids].every((id) => chosen.has(id));
  const isPrinted = usePrinted();
  const drawn = isPrinted ? sheet.held(MAX_PRINTED) : view;
  const shown = [];
  for (let i = drawn.first; i < Math.min(drawn.last, rows); i++) shown.push(i);
  const surface = { height: px((rows + 1 + (sheet.next ? TO_COME : 0)) * ROW), width: px(wide) };
  const head = { sorts: at === null, sort, onSort };
  return html`<div class="scroll grid-box" tabindex="0" role="group" aria-label="Table of documents" ref=${box} onScroll=${look}
    onKeyDown=${keys} onFocusIn=${take} onClick=${(/** @type {Event} */ event) => clickOf(event, props)}>${
      isPrinted && html`<${Printed} ...${drawn} sheet=${sheet} />`
    }<div class="grid-rows" style=${surface}>
    <table aria-label="Documents" class="grid" aria-rowcount=${sheet.next ? -1 : rows + 1}
      style=${{ top: px(drawn.first * ROW), width: px(wide) }}>
      <colgroup>${['', ...columns].map(
        (path, i) => html`<col key=${path}
        style=${{ width: i === columns.length ? 'auto' : px(widthOf(path)) }} />`,
      )}
      </colgroup>
      <thead><tr aria-rowindex="1"><${Head} path="id" numeric=${false} width=${widthOf('')}
        onWidth=${(/** @type {number} */ w) => onWidth('', w)}
        ...${head} first=${
          onChoose
            ? html`<input type="checkbox" aria-label="Choose all that are loaded" checked=${all}
          onChange=${() => onChoose(all ? new Set() : new Set(sheet.ids))} />`
            : ''
        } />${columns.map(
          (path) => html`<${Head} key=${path} path=${path} numeric=${props.shape.get(path)?.numeric ?? false}
            derived=${isDerived(around.ties, path)}
        width=${widthOf(path)} onWidth=${(/** @type {number} */ w) => onWidth(path, w)} ...${head}
        sorts=${head.sorts && !path.includes('[]')} />`,
        )}</tr></thead>
      <tbody>${shown.map((i) => html`<${Row} key=${i} i=${i} ...${rowOf(props, i)} isCurrent=${i === current} />`)}</tbody>
    </table></div></div>`;
}

/** Tells whether the page is being printed. */
function usePrinted() {
  const [is, setPrinted] = useState(false);
  useEffect(() => {
    const ending = new AbortController();
    addEventListener('beforeprint', () => setPrinted(true), ending);
    addEventListener('afterprint', () => setPrinted(false), ending);
    return () => ending.abort();
  }, []);
  return is;
}

/**
 * Says on paper which rows of the list these are.
 * @param {{ first: number, last: number, sheet: import('./load.js').Sheet }} props
 */
const Printed = ({ first, last, sheet: { rows, next } }) =>
  html`<p class="printed">${
    first === 0 && last >= rows && next === ''
      ? `All ${number(rows)} rows.`
      : `Rows ${number(first + 1)}–${number(last)} of ${next ? 'more than ' : ''}${number(rows)}. “Export” writes the whole list.`
  }</p>`;

/** @param {number} n */
const px = (n) => n + 'px';

/**
 * Returns what a row shows.
 * @param {Props} props
 * @param {number} i
 */
function rowOf({ collection, at, sheet, changed, around, chosen, onChoose, open }, i) {
  const row = sheet.at(i);
  const now = row && changed.get(row.id);
  return {
    collection,
    at,
    id: row?.id,
    doc: now ?? row?.doc,
    mark: now === null ? 'gone' : now && 'changed',
    columns: sheet.columns,
    around,
    isChosen: row !== undefined && chosen.has(row.id),
    isOpen: row !== undefined && row.id === open,
    canChoose: onChoose !== undefined,
  };
}

/**
 * @param {{ collection: string, at: string | null, i: number, id: string | undefined, doc: import('../lib/json.js').Node | undefined,
 *   mark: string | undefined, columns: string[], around: import('./cells.js').Surroundings, isChosen: boolean, isOpen: boolean,
 *   isCurrent: boolean, canChoose: boolean }} of
 */
function Row({ collection, at, i, id, doc, mark, columns, around, isChosen, isOpen, isCurrent, canChoose }) {
  // The same element is not looked at again.
  return useMemo(() => {
    if (doc === undefined || id === undefined)
      return html`<tr class="to-come" aria-hidden="true"><th></th>${columns.map((path) => html`<td key=${path}></td>`)}</tr>`;
    const tab = isCurrent ? 0 : -1;
    return html`<tr class=${mark} data-row=${i} tabindex=${tab} aria-rowindex=${i + 2} aria-current=${isOpen ? 'true' : undefined}>
      <th scope="row"><div class="cell">${
        canChoose &&
        html`<input type="checkbox" tabindex=${tab} data-choose=${id} checked=${isChosen}
      aria-label=${`Choose ${visible(id)}`} />`
      }<${DocumentLink} collection=${collection} id=${id} at=${at} tab=${tab}
        short />${mark && html` <span class="kind">${mark}</span>`}</div></th>
      ${columns.map((path) => {
        const cell = cellOf(doc, path, around, tab);
        return html`<td key=${path} class=${cell.kind}>${cell.shown}</td>`;
      })}</tr>`;
  }, [collection, at, i, id, doc, mark, columns, around, isChosen, isOpen, isCurrent, canChoose]);
}

/**
 * Which rows are seen, and what keys and the mouse do with them.
 * @param {{ current: HTMLDivElement | null }} box
 * @param {Props} props
 */
function useRows(box, props) {
  const { sheet, onView } = props;
  const [view, setView] = useState({ first: 0, last: 60 });
  const [current, setCurrent] = useState(0);
  const wanted = useWanted(box);
  const latest = useRef(() => {});
  const look = () => {
    const of = box.current;
    if (!of) return;
    const from = Math.floor(of.scrollTop / ROW);
    const to = Math.ceil((of.scrollTop + of.clientHeight) / ROW) - 1;
    const next = { first: Math.max(0, Math.floor((from - BEYOND) / STEP) * STEP), last: Math.ceil((to + BEYOND) / STEP) * STEP };
    // The focus must not go with a row that is not drawn any more.
    const focused = /** @type {HTMLElement | null} */ (document.activeElement?.closest('tr[data-row]'));
    const i = Number(focused?.dataset.row);
    if (focused && of.contains(focused) && (i < next.first || i >= next.last)) of.focus({ preventScroll: true });
    if (next.first !== view.first || next.last !== view.last) setView(next);
    sheet.show(from, to, of.scrollTop);
    onView(from, Math.min(to, sheet.rows));
  };
  latest.current = look;
  useLayoutEffect(() => {
    const of = /** @type {HTMLDivElement} */ (box.current);
    fit(of);
    of.scrollTop = sheet.top;
    setCurrent(Math.floor(sheet.top / ROW));
    look();
  }, [sheet]);
  useFit(box, () => latest.current());
  useLayoutEffect(look, [sheet.rows]);
  /** @param {number} to */
  const go = (to) => {
    const of = /** @type {HTMLDivElement} */ (box.current);
    const row = Math.max(0, Math.min(to, sheet.rows - 1));
    const top = row * ROW;
    if (top < of.scrollTop) of.scrollTop = top;
    else if (top + 2 * ROW > of.scrollTop + of.clientHeight) of.scrollTop = top + 2 * ROW - of.clientHeight;
    wanted.current = row;
    setCurrent(row);
    look();
    const id = sheet.at(row)?.id;
    if (props.open !== '' && id !== undefined) props.onOpen(id, false);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => keyOf(event, props, current, box.current, go);
  const take = (/** @type {FocusEvent} */ event) => {
    const row = /** @type {HTMLElement} */ (event.target).closest('tr[data-row]');
    if (row) setCurrent(Number(/** @type {HTMLElement} */ (row).dataset.row));
  };
  return { view, look, keys, current, take };
}

/**
 * Which row takes the focus as soon as it is drawn; -1 for none.
 * @param {{ current: HTMLDivElement | null }} box
 */
function useWanted(box) {
  const wanted = useRef(-1);
  useLayoutEffect(() => {
    if (wanted.current < 0) return;
    const row = /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector(`tr[data-row="${wanted.current}"]`));
    if (!row) return;
    wanted.current = -1;
    row.focus({ preventScroll: true });
  });
  return wanted;
}

/**
 * Fits the table to the window whenever that, or the page, has another size.
 * @param {{ current: HTMLDivElement | null }} box
 * @param {() => void} onFit another number of rows is seen
 */
function useFit(box, onFit) {
  useLayoutEffect(() => {
    // What stands above may grow, and then the page does.
    const watch = new ResizeObserver(() => box.current && fit(box.current) && onFit());
    watch.observe(/** @type {HTMLElement} */ (box.current?.closest('main') ?? document.body));
    watch.observe(document.documentElement);
    return () => watch.disconnect();
  }, []);
}

/**
 * Does what a key in the table means.
 * @param {KeyboardEvent} event
 * @param {Props} props
 * @param {number} current
 * @param {HTMLDivElement | null} box
 * @param {(row: number) => void} go
 */
function keyOf(event, props, current, box, go) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.altKey || event.metaKey || target.closest('thead')) return;
  const page = Math.floor((box?.clientHeight ?? 0) / ROW) - 2;
  const on = target.closest('tr[data-row]') !== null;
  const steps = /** @type {Record<string, number>} */ ({ ArrowDown: on ? 1 : 0, ArrowUp: -1, PageDown: page, PageUp: -page });
  const row = event.key === 'Home' ? 0 : event.key === 'End' ? props.sheet.rows - 1 : current + steps[event.key];
  if (!Number.isNaN(row)) {
    event.preventDefault();
    go(row);
    return;
  }
  const id = props.sheet.at(current)?.id;
  if (event.key === 'Escape' && props.open !== '') props.onOpen('', false);
  else if (!target.matches('tr') || id === undefined) return;
  else if (event.key === 'Enter') props.onOpen(id, true);
  else if (event.key === ' ' && props.onChoose) choose(props, id);
  else return;
  event.preventDefault();
}

/**
 * Ticks a row, or takes the tick away.
 * @param {Props} props
 * @param {string} id
 */
function choose({ chosen, onChoose }, id) {
  const next = new Set(chosen);
  if (!next.delete(id)) next.add(id);
  onChoose?.(next);
}

/**
 * A click on a row opens its document beside the table; one on its box ticks it.
 * @param {Event} event
 * @param {Props} props
 */
function clickOf(event, props) {
  const target = /** @type {HTMLElement} */ (event.target);
  const ticked = target.dataset.choose;
  if (ticked !== undefined) choose(props, ticked);
  if (target.closest('a, button, input, thead') || getSelection()?.isCollapsed === false) return;
  const row = /** @type {HTMLElement | null} */ (target.closest('tr[data-row]'));
  const id = row && props.sheet.at(Number(row.dataset.row))?.id;
  if (id !== null && id !== undefined) props.onOpen(id, false);
}

/**
 * Gives the table what is left of the window's height. It tells whether that is another height than before.
 * @param {HTMLDivElement} box
 */
function fit(box) {
  const at = box.getBoundingClientRect();
  const foot = document.querySelector('body > footer')?.getBoundingClientRect();
  const room = innerHeight - (at.top + scrollY) - (foot && foot.right > at.left ? foot.height : 0) - ROW / 2;
  const height = px(Math.max(LEAST_ROWS * ROW, Math.floor(room)));
  const isOther = box.style.maxHeight !== height;
  if (isOther) box.style.maxHeight = height;
  return isOther;
}
