import { html, signal, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { ask, key, loadShape, readers } from '../lib/http.js';
import { member } from '../lib/json.js';
import { asProblem, useLoad } from '../lib/load.js';
import { goTo, placeHref, replacePlace } from '../lib/place.js';
import { ChangesSeen, PastBanner, PastProblem } from '../ui/changes.js';
import { Pending, ProblemAlert } from '../ui/dialogs.js';
import { CopyAs, Visible, counted } from '../ui/parts.js';
import { Suggestion } from '../ui/preview.js';
import { Groups, sampleOf, useGroups } from './builder.js';
import { cut } from './cel.js';
import { NO_TIES, readable, tiesOf } from './cells.js';
import { Columns, Panel, Peek, remember, remembered, shapeOf } from './columns.js';
import { ROW, leftOf, loadPage, markHere, useFollowed, useSheet } from './load.js';
import { WriteMany, mayWrite } from './many.js';
import { Plan, Query, countAsked, orderAsked, pageAsked } from './query.js';
import { Export, Queries, documentsOf } from './saved.js';
import { Table } from './table.js';

/** @typedef {import('../lib/place.js').Place} Place */
/** @typedef {import('../lib/json.js').Node} Node */

/**
 * Returns the name of a list: what is asked for, by whom.
 * @param {import('../lib/http.js').Asked} asked
 */
const nameOf = (asked) => JSON.stringify([asked.path, asked.query, key.value === '' ? '' : readers.value]);

/**
 * Asks for the first page of a list: the one that was seen last in this tab, where the list was seen before.
 * @param {Place} place
 * @param {string} name of the list
 * @param {AbortSignal} signal
 */
async function loadFirst(place, name, signal) {
  const { columns } = remembered(place.parts[0]);
  const was = leftOf(name);
  let row = was ? Math.floor(was.top / ROW) : 0;
  const at = Math.max(0, was ? was.pages.findIndex((part) => (row -= part.rows) < 0) : 0);
  const cursor = was?.pages[at]?.cursor ?? '';
  const page = await loadPage({ ...pageAsked(place, { cursor, columns: at > 0 ? was?.columns : columns }), signal });
  return { page: at > 0 && was ? { ...page, columns: was.columns } : page, at, name, place };
}

/**
 * A collection: its documents, now or as they were, and what changes of them.
 * @param {{ place: Place }} props
 */
export const CollectionPage = ({ place }) =>
  !place.params.get('at') && (place.params.get('group') || place.params.get('compute'))
    ? html`<${GroupsPage} place=${place} />`
    : html`<${DocumentsPage} place=${place} />`;

/** Returns what is wrong with the filter, empty for nothing. @param {any} problem of an answer */
const mistakeOf = (problem) => (problem?.status === 400 && problem.detail.startsWith('filter:') ? problem.detail : '');

/**
 * Groups of the documents of a collection.
 * @param {{ place: Place }} props
 */
function GroupsPage({ place }) {
  const [collection] = place.parts;
  const { value: first } = useLoad((signal) => loadPage({ path: [collection], query: { limit: 20 }, signal }), [collection]);
  const sample = useMemo(() => sampleOf(collection, first?.documents ?? []), [first, collection]);
  const loaded = useGroups(place);
  return html`<${Query} place=${place} columns=${[]} sample=${sample} mistake=${mistakeOf(loaded.problem)} />
    ${place.params.get('explain') === 'true' && html`<${Plan} place=${place} />`}
    <${Groups} place=${place} loaded=${loaded} />`;
}

/**
 * The documents of a collection.
 * @param {{ place: Place }} props
 */
function DocumentsPage({ place }) {
  const { parts, params } = place;
  const [collection] = parts;
  const at = params.get('at') || null;
  const asked = pageAsked(place, { columns: remembered(collection).columns });
  const name = nameOf(asked);
  const loaded = useLoad((signal) => loadFirst(place, name, signal), [name]);
  const { value: first, problem, busy, stale, again } = loaded;
  const sheet = useSheet(first, (cursor, columns, signal) => loadPage({ ...moreAsked(place, cursor, columns), signal }));
  const { rows, changed, others } = useFollowed(collection, sheet, at === null && !busy && !stale && !problem);
  const shown = problem && !problem.passing ? undefined : sheet;
  const explained = at === null && params.get('explain') === 'true';
  const model = useLoad((signal) => loadShape(signal), [collection]);
  const ties = useMemo(() => (model.value ? tiesOf(model.value, collection) : NO_TIES), [model.value, collection]);
  const sample = useMemo(() => sampleOf(collection, sheet?.documents ?? [], [...ties.links.keys(), ...ties.derived]), [sheet, ties]);
  const mistake = mistakeOf(problem);
  const sheets = html`<${Sheets} place=${place} asked=${asked} sheet=${shown} ties=${ties} sample=${sample}
    changed=${changed} others=${others}
    again=${again} />`;
  return html`<${PastBanner} place=${place} position=${stale ? '' : (shown?.position ?? '')} />
    <${Query} place=${place} columns=${sheet?.columns ?? []} sample=${sample} mistake=${mistake} />
    ${explained && html`<${Plan} place=${place} />`}
    <${PastProblem} place=${place} problem=${problem} again=${again}>${
      problem?.kind === 'needs-index' &&
      html`${!explained && html`<${Suggestion} suggest=${problem.of.suggest} />`}<${Further} place=${place} />`
    }<//>
    ${problem && !shown ? sheets : html`<${Pending} of=${loaded}>${sheets}<//>`}
    ${at === null && html`<${ChangesSeen} rows=${rows} named />`}`;
}

/** How many documents a query may look at, at most. */
const MAX_SCAN = 100_000;

/**
 * A link that lets a query look at more documents. Without an order it goes on page by page, and with one it reads them all first.
 * @param {{ place: Place }} props
 */
function Further({ place: { parts, params } }) {
  const next = new URLSearchParams(params);
  next.delete('explain');
  if (params.get('sort')) next.set('maxScan', String(MAX_SCAN));
  else next.set('partial', 'true');
  if (next.toString() === params.toString()) return null;
  return html`<p><a href=${placeHref(parts, next)}>Look further</a> <span class="quiet">${
    params.get('sort') ? 'It looks at up to 100,000 documents.' : 'It goes on from there, page by page.'
  }</span></p>`;
}

/**
 * Returns what asks for another page of a list.
 * @param {Place} place
 * @param {string} cursor empty for that with which the list begins
 * @param {string[]} columns
 */
const moreAsked = (place, cursor, columns) =>
  cursor === '' ? pageAsked(place, { columns: remembered(place.parts[0]).columns }) : pageAsked(place, { cursor, columns });

/**
 * The table of a list, the line above it, and the document beside it.
 * @param {{ place: Place, asked: import('../lib/http.js').Asked, sheet: import('./load.js').Sheet | undefined,
 *   ties: import('./cells.js').Ties,
 *   sample: import('./builder.js').Sample, changed: import('./load.js').Changed, others: number, again: () => void }} props
 */
function Sheets({ place, asked, sheet, ties, sample, changed, others, again }) {
  const { parts, params } = place;
  const [collection] = parts;
  const at = params.get('at') || null;
  const area = useRef(/** @type {HTMLDivElement | null} */ (null));
  const view = useMemo(() => signal({ from: 0, to: 0 }), []); // whoever scrolls has the line drawn, and not the page
  const onView = (/** @type {number} */ from, /** @type {number} */ to) => {
    if (view.value.from !== from || view.value.to !== to) view.value = { from, to };
  };
  const { part, focus, show, whole, around } = useSide(place, ties);
  const { shape, widthOf, setWidth } = useWidths(collection, sheet);
  const [chosen, setChosen] = useState(/** @type {Set<string>} */ (new Set()));
  const writes = at === null && mayWrite(collection);
  const open = params.get('doc') ?? '';
  useLayoutEffect(() => {
    if (sheet) markHere(sheet.name);
    if (sheet?.rows === 0) sheet.show(0, 1, 0);
  }, [sheet, params]);
  useLayoutEffect(() => setChosen(new Set()), [sheet]);
  const close = () => {
    show('');
    const row = area.current?.querySelector('tr[tabindex="0"]') ?? area.current?.querySelector('.grid-box');
    /** @type {HTMLElement | null | undefined} */ (row)?.focus();
  };
  const sort = cut(params.get('sort') ?? '', ',')
    .map((term) => term.trim())
    .filter(Boolean);
  const order = (/** @type {string[]} */ terms) =>
    goTo(placeHref(parts, withParam(withParam(params, 'cursor', ''), 'sort', terms.join(','))));
  const fresh = writes && html`<a class="tool" href=${placeHref([collection], { new: '' })}>New document</a>`;
  const queries = at === null && html`<${Queries} place=${place} answered=${sheet !== undefined} />`;
  const copy = html`<${CopyAs} asked=${asked} />`;
  if (!sheet) return html`<div class="above"><span class="tools">${queries}${fresh}${copy}</span></div>`;
  return html`<div class="above"><${Line} place=${sheet.place} sheet=${sheet} view=${view} others=${others} again=${again} />
      ${writes && sheet.rows > 0 && html`<${WriteMany} place=${place} chosen=${chosen} onChoose=${setChosen} again=${again} />`}
      <span class="tools"><${Columns} place=${place} sheet=${sheet} sample=${sample} widthOf=${widthOf} onWidth=${setWidth} />${queries}${
        at === null && html`<${Export} source=${documentsOf(place, sheet.columns)} />`
      }${fresh}${copy}</span></div>
    <div class=${open ? 'area with-side' : 'area'} ref=${area}>
      ${
        sheet.rows > 0
          ? html`<${Table} collection=${collection} at=${at} sheet=${sheet} changed=${changed} shape=${shape} widthOf=${widthOf}
        onWidth=${setWidth} sort=${sort} onSort=${order} around=${around} chosen=${chosen} onChoose=${writes ? setChosen : undefined}
          open=${open}
        onOpen=${show}
        onView=${onView} />`
          : html`<div></div>`
      }
      ${
        open &&
        html`<${Panel} collection=${collection} id=${open} at=${at} writes=${writes} ties=${ties}
        part=${part?.id === open ? part : undefined}
        fresh=${changed.get(open)} focus=${focus} onClose=${close} onWhole=${whole} />`
      }
      <${Peek} within=${area} at=${at} />
    </div>`;
}

/**
 * The document beside the table: which part of it is shown, and what opens it. The place says which document it is.
 * @param {Place} place
 * @param {import('./cells.js').Ties} ties
 */
function useSide({ parts, params }, ties) {
  const [part, setPart] = useState(/** @type {{ id: string, path: string, node: Node } | null} */ (null));
  const [focus, setFocus] = useState(0);
  const at = params.get('at') || null;
  const open = params.get('doc') ?? '';
  const show = (/** @type {string} */ id, take = false) => {
    setPart(null);
    setFocus((n) => (take ? n + 1 : open === '' ? 0 : n));
    if (id !== open) replacePlace(placeHref(parts, withParam(params, 'doc', id)));
  };
  const latest = useRef(show);
  latest.current = show;
  const around = useMemo(
    () => ({
      ties,
      at,
      onOpen: (/** @type {Node} */ doc, /** @type {string} */ path, /** @type {Node} */ node) => {
        const of = member(doc, 'id');
        const id = of ? readable(of) : '';
        latest.current(id, true);
        setPart({ id, path, node });
      },
    }),
    [ties, at],
  );
  return { part, focus, show, around, whole: () => setPart(null) };
}

/**
 * Returns parameters with another value for one of them. What explained the query is not asked for again.
 * @param {URLSearchParams} params
 * @param {string} name
 * @param {string} value empty for none
 */
function withParam(params, name, value) {
  const next = new URLSearchParams(params);
  next.delete('explain');
  if (value === '') next.delete(name);
  else next.set(name, value);
  return next;
}

/**
 * How wide the columns of a collection are: as somebody drew them, or as what stands in them.
 * @param {string} collection
 * @param {import('./load.js').Sheet | undefined} sheet
 */
function useWidths(collection, sheet) {
  const [drawn, setDrawn] = useState(() => remembered(collection).widths);
  const shape = useMemo(() => (sheet ? shapeOf(sheet.first.documents, sheet.columns) : new Map()), [sheet]);
  return {
    shape,
    widthOf: (/** @type {string} */ path) => drawn[path] ?? shape.get(path)?.width ?? 120,
    setWidth: (/** @type {string} */ path, /** @type {number} */ width) => {
      const widths = { ...drawn, [path]: width };
      setDrawn(widths);
      remember(collection, { ...remembered(collection), widths });
    },
  };
}

/** Which rows are seen. @typedef {import('@preact/signals').Signal<{ from: number, to: number }>} Viewed */

/**
 * The line above the table: how many documents there are, which of them are seen, in which order, and where others are.
 * @param {{ place: Place, sheet: import('./load.js').Sheet, view: Viewed, others: number, again: () => void }} props
 */
function Line({ place, sheet, view: viewed, others, again }) {
  const view = viewed.value;
  const { params } = place;
  const { rows, next } = sheet;
  const at = params.get('at');
  const goes = next !== '' && !sheet.busy && rows <= view.to + 1;
  return html`<span role="status" class="quiet">${said(sheet, params)}</span>
    ${
      rows > view.to - view.from + 1 &&
      html`<span
      class="quiet seen-rows">Rows ${(view.from + 1).toLocaleString('en')}–${Math.min(rows, view.to + 1).toLocaleString('en')}</span>`
    }
    ${!at && html`<${Totals} place=${place} sheet=${sheet} />`}
    ${
      sheet.first.hints.length > 0 &&
      html`<span role="status">${sheet.first.hints.map(
        (hint) => html`<${Visible} text=${hint}
      max=${200} /> `,
      )}</span>`
    }
    ${
      others > 0 &&
      html`<span class="quiet">${counted(others, 'change')} of other documents since. <button type="button" class="small"
        onClick=${again}>Load anew</button></span>`
    }
    <${Pages} place=${place} sheet=${sheet} row=${view.from} />
    ${goes && !sheet.problem && html`<button type="button" class="small" onClick=${() => sheet.again()}>Look further</button>`}
    <${ProblemAlert} problem=${sheet.problem} again=${() => sheet.again()} asked />`;
}

/**
 * Says how many documents are known.
 * @param {import('./load.js').Sheet} sheet
 * @param {URLSearchParams} params
 */
function said({ rows, next, first }, params) {
  if (rows > 0) return `${counted(rows, 'document')}${next ? ' so far' : params.get('cursor') ? ' from here on' : ''}.`;
  if (next) return 'No document so far.';
  if (params.get('cursor')) return 'No more documents.';
  if (!params.get('filter') || params.get('at')) return 'There are no documents.';
  return 'No document matches.' + (first.noValue > 0 ? ` In ${counted(first.noValue, 'document')} the filter has no value.` : '');
}

/**
 * The links to other pages of a list. That to the next asks for the columns that are shown.
 * @param {{ place: Place, sheet: import('./load.js').Sheet, row: number }} props row is the first that is seen
 */
function Pages({ place: { parts, params }, sheet, row }) {
  const href = (/** @type {string} */ cursor) => {
    const next = withParam(withParam(params, 'doc', ''), 'cursor', cursor);
    if (cursor !== '' && sheet.columns.length) next.set('fields', sheet.columns.join(','));
    return placeHref(parts, next);
  };
  const cursor = params.get('cursor') ?? '';
  const next = sheet.after(row);
  const before = cursor === '' ? undefined : (came.get(cursor) ?? '');
  useEffect(() => {
    if (next !== '') came.set(next, cursor);
  }, [next, cursor]);
  if (before === undefined && next === '') return null;
  return html`<span class="pages">${before !== undefined && html`<a class="tool" href=${href('')}>First page</a> `}${
    before && html`<a class="tool" href=${href(before)}>Previous page</a> `
  }${next && html`<a class="tool" href=${href(next)}>Next page</a>`}</span>`;
}

/** From which cursor a page was come to, in this tab. @type {Map<string, string>} */
const came = new Map();

/**
 * How many documents there are, where an index counts them, and in which order they come. What has to be looked through is counted once
 * somebody asks.
 * @param {{ place: Place, sheet: import('./load.js').Sheet }} props
 */
function Totals({ place, sheet }) {
  const { params } = place;
  const filter = params.get('filter') ?? '';
  const whole = sheet.next === '' && !params.get('cursor');
  const asks = Boolean(params.get('sort')) || (filter !== '' && !whole);
  const asked = orderAsked(place);
  const of = useLoad(async (signal) => (asks ? (await ask({ ...asked, signal })).explain : undefined), [JSON.stringify(asked.query), asks]);
  const plan = of.stale ? undefined : of.value;
  const counts = !whole && (filter === '' || (plan && plan.residual === '' && plan.index !== null));
  return html`${params.get('sort') && plan && html`<span class="quiet">${orderOf(plan)}</span>`}
    <${Count} key=${JSON.stringify(countAsked(place).query)} place=${place} itself=${counts} isWhole=${whole} />`;
}

/** Says which index gives the order. @param {any} plan as the API has it */
const orderOf = (plan) =>
  plan.order === 'index' ? `Ordered by the index ${plan.index}.` : 'No index has this order: it was sorted after reading.';

/**
 * A button that counts what matches. Where an index counts, it is not needed.
 * @param {{ place: Place, itself: boolean, isWhole: boolean }} props itself says that it is counted without a press
 */
function Count({ place, itself, isWhole }) {
  const [state, setState] = useState(/** @type {{ busy?: boolean, count?: number, problem?: import('../lib/http.js').Problem }} */ ({}));
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const count = async () => {
    setState({ busy: true });
    try {
      setState({ count: (await ask({ ...countAsked(place), signal: ending.current.signal })).count });
    } catch (error) {
      if (!ending.current.signal.aborted) setState({ problem: asProblem(error) });
    }
  };
  useEffect(() => {
    if (itself) count();
  }, [itself]);
  const { busy, count: found, problem } = state;
  if (isWhole && found === undefined) return null;
  return html`${
    !itself &&
    found === undefined &&
    html`<button type="button" class="small" aria-disabled=${busy ? 'true' : undefined} onClick=${busy ? undefined : count}>Count</button>`
  }<span role="status" class="quiet">${busy && 'Counting'}
      ${found !== undefined && `${found.toLocaleString('en')} ${place.params.get('filter') ? 'match' : 'in all'}.`}</span>
    <${ProblemAlert} problem=${problem}>${problem?.kind === 'needs-index' && html`<${Suggestion} suggest=${problem.of.suggest} />`}<//>`;
}
