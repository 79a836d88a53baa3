import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { useLoad } from '../lib/load.js';
import { momentOf } from '../lib/moment.js';
import { goTo, placeHref } from '../lib/place.js';
import { TimePicker } from '../ui/changes.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { Code } from '../ui/inputs.js';
import { Visible } from '../ui/parts.js';
import { Suggestion } from '../ui/preview.js';
import { Builder, FilterBox } from './builder.js';
import { offered } from './cel.js';

/** @typedef {import('../lib/place.js').Place} Place */
/** @typedef {import('../lib/http.js').Asked} Asked */

/** What the form asks for, by the API's names. */
const NAMES = ['filter', 'params', 'sort', 'fields', 'group', 'compute', 'at'];

/** What shows the options by itself where it is asked for, and what a list as it was takes. */
const OPTIONS = ['params', 'group', 'compute', 'at'];
const OF_PAST = ['fields', 'at'];

/** What is typed into the options: label, name and hint. @type {[string, string, string][]} */
const FIELDS = [
  ['Parameters', 'params', '{"since": 1900}'],
  ['Sort', 'sort', '-year,title'],
  ['Columns', 'fields', 'title,authors[].name'],
  ['Group by', 'group', 'language'],
  ['Compute', 'compute', 'count,avg(year)'],
  ['At', 'at', '10:00, -1h, 2026-01-31, or a position'],
];

/**
 * The form that says which documents are shown. The place has it all. A list as it was takes no query: what was typed stays, and counts
 * again once the list is of now.
 * @param {{ place: Place, columns: string[], sample: import('./builder.js').Sample, mistake?: string }} props columns that are shown where
 *   none are chosen; mistake is what is wrong with the filter
 */
export function Query({ place, columns, sample, mistake = '' }) {
  const { parts, params } = place;
  const isGiven = () => OPTIONS.some((name) => params.get(name));
  const hasLines = () => (params.get('filter') ?? '').includes('\n');
  const [open, setOpen] = useState(() => ({ options: isGiven(), conditions: false, code: hasLines() }));
  const pressed = useRef(false);
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const { typed, set, ran } = useTyped(params, () =>
    setOpen((now) => ({ ...now, options: now.options || isGiven(), code: now.code || hasLines() })),
  );
  const was = Boolean(params.get('at'));
  const setFilter = (/** @type {string} */ text) => set('filter', text);
  const run = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const next = Object.fromEntries(NAMES.map((name) => [name, typed[name].trim() || undefined]));
    if (next.at) next.at = momentOf(next.at);
    ran.current = next;
    const explain = event.submitter?.getAttribute('name') === 'explain' && !next.at ? true : undefined;
    goTo(placeHref(parts, { ...next, limit: params.get('limit') || undefined, maxScan: params.get('maxScan') || undefined, explain }));
  };
  const flip = (/** @type {keyof typeof open} */ name) => {
    pressed.current ||= name === 'code';
    setOpen({ ...open, [name]: !open[name] });
  };
  const toggle = (/** @type {keyof typeof open} */ name, /** @type {string} */ label) => html`<button type="button"
    aria-expanded=${open[name]} onClick=${() => flip(name)}>${label}</button>`;
  const known = { paths: [...sample.keys()], params: namesIn(typed.params) };
  const inEditor = !was && (open.code || typed.filter.includes('\n'));
  const rest = {
    name: 'filter',
    'aria-label': 'Filter',
    placeholder: 'doc.year > params.since',
    disabled: was,
    'aria-invalid': mistake ? 'true' : undefined,
    'aria-describedby': was || mistake ? 'of-filter' : undefined,
  };
  return html`<form aria-label="Query" class="query one" ref=${form} onSubmit=${run}>
    <div class="asked"><div class="filter"><span class="quiet">Filter</span>${
      inEditor
        ? html`<${FilterEditor} collection=${parts[0]} typed=${typed} known=${known} wrong=${mistake !== ''}
          focus=${pressed.current} onFilter=${setFilter} onRun=${() => form.current?.requestSubmit()} />`
        : html`<${FilterBox} value=${typed.filter} rest=${rest} known=${known} onValue=${setFilter} />`
    }</div>
      <button type="submit" class="main">Run</button>${!was && html`<button type="submit" name="explain">Explain</button>`}
      ${!was && !typed.filter.includes('\n') && toggle('code', 'Editor')}
      ${!was && toggle('conditions', 'Conditions')}${toggle('options', 'Options')}</div>
    ${
      was
        ? html`<p id="of-filter" class="note">A list of earlier documents has no filter and no order: it has all of them by id. What stands
      here counts again once you go back to now.</p>`
        : mistake && html`<${Mistake} of=${mistake} filter=${params.get('filter') ?? ''} />`
    }
    ${open.conditions && !was && html`<${Builder} filter=${typed.filter} sample=${sample} onFilter=${setFilter} />`}
    ${open.options && html`<${Options} typed=${typed} columns=${columns} was=${was} onType=${set} />`}
  </form>`;
}

/**
 * What is typed into the form. What is not run yet stays: where the place changes by something else, and what was typed since it was run.
 * @param {URLSearchParams} params of the place
 * @param {() => void} onPlace is called once they have changed
 */
function useTyped(params, onPlace) {
  const [typed, setTyped] = useState(() => typedOf(params));
  const before = useRef(params);
  const ran = useRef(/** @type {Record<string, string | undefined>} */ ({}));
  useEffect(() => {
    const [then, now, own] = [typedOf(before.current), typedOf(params), ran.current];
    [before.current, ran.current] = [params, {}];
    const stays = (/** @type {string} */ name) =>
      then[name] === now[name] || (name !== 'at' && name in own && (own[name] ?? '') === now[name]);
    setTyped((typed) => Object.fromEntries(NAMES.map((name) => [name, stays(name) ? typed[name] : now[name]])));
    onPlace();
  }, [params.toString()]);
  const set = (/** @type {string} */ name, /** @type {string} */ text) => setTyped((now) => ({ ...now, [name]: text }));
  return { typed, set, ran };
}

/**
 * The filter in an editor, for one that is long: its mistakes are marked as one types, and Ctrl+S runs it.
 * @param {{ collection: string, typed: Record<string, string>, known: { paths: string[], params: string[] }, wrong: boolean,
 *   focus: boolean, onFilter: (text: string) => void, onRun: () => void }} props
 */
function FilterEditor({ collection, typed, known, wrong, focus, onFilter, onRun }) {
  const box = useRef(/** @type {import('../ui/inputs.js').Box | null} */ (null));
  const { filter, params } = typed;
  // Not after the paint: what is typed meanwhile would be taken back.
  useLayoutEffect(() => {
    if (box.current && box.current.text() !== filter) box.current.put(filter);
  }, [filter]);
  const check = (/** @type {string} */ text, /** @type {AbortSignal} */ signal) => mistakesOf(collection, text, params, signal);
  const complete = async (/** @type {string} */ before) => {
    const { from, words } = offered(before, before.length, known);
    return { from, choices: words.map((label) => ({ label })) };
  };
  return html`<${Code} box=${box} label="Filter" initial=${filter} language="cel" rows=${4} focus=${focus} wrong=${wrong} about="of-filter"
    check=${check} checkedBy=${collection + ' ' + params} completeText=${complete}
    onInput=${() => onFilter(box.current?.text() ?? '')} onSave=${onRun} />`;
}

/**
 * Asks the server what is wrong with a filter. It looks at no more than a document for that.
 * @param {string} collection
 * @param {string} filter
 * @param {string} params
 * @param {AbortSignal} signal
 * @returns {Promise<import('../ui/inputs.js').Mistake[]>}
 */
async function mistakesOf(collection, filter, params, signal) {
  if (filter.trim() === '') return [];
  try {
    await ask({
      path: [collection],
      query: { filter, params: params.trim() || undefined, fields: 'id', limit: 1, maxScan: 1, explain: true },
      signal,
    });
  } catch (/** @type {any} */ error) {
    if (error?.status !== 400 || !error.detail?.startsWith('filter:')) return []; // whatever else is wrong is said once it is run
    const from = Math.max(0, placeIn(filter, error.detail));
    return [{ what: error.detail, from: Math.min(from, filter.length - 1), to: Math.min(from + 1, filter.length) }];
  }
  return [];
}

/** Returns where a mistake of a filter stands, -1 for nowhere. @param {string} filter @param {string} detail names line and column */
function placeIn(filter, detail) {
  const [, line = '1', column] = /(?:line (\d+),? )?column (\d+)/.exec(detail) ?? [];
  if (!column) return -1;
  const lines = filter.split('\n').slice(0, Number(line) - 1);
  const start = lines.reduce((n, one) => n + one.length + 1, 0);
  return start + [...filter.slice(start)].slice(0, Number(column) - 1).join('').length;
}

/**
 * What else a list takes, as fields.
 * @param {{ typed: Record<string, string>, columns: string[], was: boolean, onType: (name: string, text: string) => void }} props was says
 *   that the list is of the past
 */
const Options = ({ typed, columns, was, onType }) =>
  html`<div class="options">${FIELDS.map(
    ([label, name, hint]) => html`<label key=${name} class=${name}>${label} <input name=${name} value=${typed[name]}
    placeholder=${name === 'fields' && columns.length > 0 ? columns.join(',') : hint} disabled=${was && !OF_PAST.includes(name)}
    onInput=${(/** @type {any} */ event) => onType(name, event.target.value)} autocomplete="off" autocapitalize="off"
      spellcheck=${false} />
    </label>`,
  )}<${TimePicker} onPick=${(/** @type {string} */ text) => onType('at', text)} /></div>`;

/** Returns the names of parameters in the text of an object. @param {string} text */
const namesIn = (text) => [...text.matchAll(/"([A-Za-z_]\w*)"\s*:/g)].map(([, name]) => name);

/**
 * What is wrong with a filter, with the place in it.
 * @param {{ of: string, filter: string }} props
 */
function Mistake({ of, filter }) {
  const at = placeIn(filter, of);
  const letters = [...filter.slice(Math.max(0, at))];
  const before = [...filter.slice(0, Math.max(0, at))].slice(-60).join('');
  return html`<p id="of-filter" class="note wrong">${
    at >= 0 &&
    html`<code><${Visible} text=${before} /><mark><${Visible} text=${letters[0] ?? ' '} /></mark><${Visible}
      text=${letters.slice(1, 21).join('')} /></code> `
  }
    <${Visible} text=${of} max=${300} /></p>`;
}

/**
 * @param {URLSearchParams} params
 * @returns {Record<string, string>}
 */
const typedOf = (params) => Object.fromEntries(NAMES.map((name) => [name, params.get(name) ?? '']));

/** What the orders of a plan are called. */
const ORDERS = /** @type {Record<string, string>} */ ({
  index: 'as the index has it',
  sorted: 'sorted after reading',
  plan: 'as they were found; no sort was asked for',
});

/**
 * How the query of a place is answered, in words. What is wrong with the query the page tells.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function Plan({ place }) {
  const asked = planAsked(place);
  const { value, problem, again } = useLoad(async (signal) => (await ask({ ...asked, signal })).explain, [JSON.stringify(asked)]);
  const without = new URLSearchParams(place.params);
  without.delete('explain');
  return html`<section aria-label="Plan" class="plan"><h2>Plan</h2>
    ${problem?.status !== 400 && html`<${ProblemAlert} problem=${problem} again=${again} />`}
    ${value && html`<${Words} plan=${value} />`}
    <p><a href=${placeHref(place.parts, without)}>Close the plan</a></p></section>`;
}

/** @param {{ plan: any }} props as the API has it */
function Words({ plan }) {
  const walked = plan.index === null ? 'Walked no index' : `Walked ${plan.entries.toLocaleString('en')} of ${plan.index}`;
  const fact = (/** @type {string} */ name, /** @type {any} */ text) => html`<dt>${name}</dt><dd>${text}</dd>`;
  const code = (/** @type {string} */ text) => html`<code><${Visible} text=${text} max=${4000} /></code>`;
  const found = `read ${documents(plan.documents)}, and ${plan.matched.toLocaleString('en')} match${plan.matched === 1 ? 'es' : ''}`;
  return html`<p role="status">
    ${walked}, ${found}, in ${(plan.seconds * 1000).toFixed(1)} ms.
      ${!plan.complete && ' A bound was passed: without “Explain” this is refused.'}</p>
    <dl>
      ${plan.conditions.length > 0 && fact('Decided by the index', code(plan.conditions.join(' && ')))}
      ${plan.residual && fact('Asked each document', code(plan.residual))}
      ${plan.noValue > 0 && fact('Without a value', documents(plan.noValue))}
      ${fact('Order', ORDERS[plan.order] ?? plan.order)}
      ${
        plan.rejected?.length > 0 &&
        fact(
          'Not taken',
          html`<ul class="rejected">${plan.rejected.map(
            (/** @type {any} */ r) => html`<li>
        ${code(r.index)}: <${Visible} text=${r.why} max=${1000} /></li>`,
          )}</ul>`,
        )
      }
    </dl>
    <${Suggestion} suggest=${plan.suggest} />`;
}

/** @param {number} n */
const documents = (n) => `${n.toLocaleString('en')} document${n === 1 ? '' : 's'}`;

// Which requests a place stands for.

/** What a query is made of, and what a list as it was takes. */
const OF_QUERY = ['filter', 'params', 'sort', 'maxScan', 'partial'];
const OF_LIST = ['fields', 'limit', 'cursor'];

/** How many documents a page has that shows which members there are, and one whose columns are known. */
const FIRST = 20;
const LATER = 100;

/**
 * Returns what asks for a page of documents. In the past there are no queries.
 * @param {Place} place
 * @param {{ cursor?: string, columns?: string[] }} [of] a page after the first, and the columns to ask for
 * @returns {Asked & { query: Record<string, string | number> }}
 */
export function pageAsked({ parts, params }, { cursor, columns } = {}) {
  const names = params.get('at') ? ['at', ...OF_LIST] : [...OF_QUERY, ...OF_LIST];
  const query = given(params, names);
  const fields = query.fields || columns?.join(',');
  return {
    path: [parts[0]],
    query: { limit: fields ? LATER : FIRST, ...query, ...(fields ? { fields } : {}), ...(cursor ? { cursor } : {}) },
  };
}

/**
 * Returns what asks for groups.
 * @param {Place} place
 * @returns {Asked}
 */
export const groupsAsked = ({ parts, params }) => ({
  path: [parts[0]],
  query: { limit: LATER, ...given(params, ['group', 'compute', 'filter', 'params', 'sort', 'maxScan', 'limit', 'cursor']) },
});

/**
 * Returns what asks how many documents match.
 * @param {Place} place
 * @returns {Asked}
 */
export const countAsked = ({ parts, params }) => ({
  path: [parts[0]],
  query: { ...given(params, ['filter', 'params', 'maxScan']), fields: 'id', limit: 1, count: true },
});

/**
 * Returns what asks how the query is answered.
 * @param {Place} place
 * @returns {Asked}
 */
export function planAsked(place) {
  const isGrouped = place.params.get('group') || place.params.get('compute');
  const { path, query } = isGrouped ? groupsAsked(place) : pageAsked(place);
  return { path, query: { ...query, explain: true } };
}

/**
 * Returns what asks for the plan alone, by as little work as possible.
 * @param {Place} place
 * @returns {Asked}
 */
export const orderAsked = ({ parts, params }) => ({
  path: [parts[0]],
  query: { ...given(params, OF_QUERY), fields: 'id', limit: 1, explain: true },
});

/**
 * Returns what asks for documents by their ids, with the members of the columns.
 * @param {string} collection
 * @param {string[]} ids
 * @param {string[]} columns
 * @returns {Asked}
 */
export function rowsAsked(collection, ids, columns) {
  const query = new URLSearchParams(ids.map((id) => ['id', id]));
  if (columns.length) query.set('fields', columns.join(','));
  return { path: [collection], query };
}

/**
 * @param {URLSearchParams} params
 * @param {string[]} names
 * @returns {Record<string, string>}
 */
const given = (params, names) =>
  Object.fromEntries(names.map((name) => [name, params.get(name) ?? '']).filter(([, value]) => value !== ''));
