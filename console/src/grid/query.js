import { html, useEffect, useState } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { tokens } from '../lib/json.js';
import { useLoad } from '../lib/load.js';
import { goTo, placeHref } from '../lib/place.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { Visible } from '../ui/parts.js';
import { Suggestion } from '../ui/preview.js';

/** @typedef {import('../lib/json.js').Node} Node */
/** @typedef {import('../lib/place.js').Place} Place */
/** @typedef {import('../lib/http.js').Asked} Asked */

/** What the form asks for, by the API's names. */
const NAMES = ['filter', 'params', 'sort', 'fields', 'at'];

/**
 * The form that says which documents are shown. The place has it all. A list as it was takes no query, so these fields are absent then.
 * @param {{ place: import('../lib/place.js').Place, columns: string[] }} props columns that are shown where none are chosen
 */
export function Query({ place, columns }) {
  const { parts, params } = place;
  const [typed, setTyped] = useState(() => typedOf(params));
  useEffect(() => setTyped(typedOf(params)), [params.toString()]);
  const past = Boolean(params.get('at'));
  const run = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const of = typed.at.trim() === '' ? NAMES : ['fields', 'at'];
    const next = Object.fromEntries(of.map((name) => [name, typed[name].trim() || undefined]));
    const explain = event.submitter?.getAttribute('name') === 'explain' && !next.at ? true : undefined;
    goTo(placeHref(parts, { ...next, limit: params.get('limit') || undefined, maxScan: params.get('maxScan') || undefined, explain }));
  };
  const field = (/** @type {string} */ label, /** @type {string} */ name, /** @type {string} */ hint) => html`<label class=${name}>${label}
    <input name=${name} value=${typed[name]} placeholder=${hint}
      onInput=${(/** @type {any} */ event) => setTyped({ ...typed, [name]: event.target.value })} autocomplete="off" autocapitalize="off"
        spellcheck=${false} /></label>`;
  return html`<form aria-label="Query" class="query" onSubmit=${run}>
    ${
      !past &&
      html`${field('Filter', 'filter', 'doc.year > params.since')}
      ${field('Parameters', 'params', '{"since": 1900}')}
      ${field('Sort', 'sort', '-year,title')}`
    }
    ${field('Columns', 'fields', columns.join(',') || 'title,authors[].name')}
    ${field('At', 'at', 'a position or a time')}
    <span class="actions"><button type="submit" class="main">Run</button>${
      !past &&
      html`<button type="submit"
      name="explain">Explain</button>`
    }</span>
  </form>`;
}

/**
 * @param {URLSearchParams} params
 * @returns {Record<string, string>}
 */
const typedOf = (params) => Object.fromEntries(NAMES.map((name) => [name, params.get(name) ?? '']));

// Which members of documents are columns, and what stands in a cell.

/** How many columns there are where nobody chose them, and how much of a value a cell shows. */
const MAX_COLUMNS = 8;
export const MAX_CELL = 200;

/** Names with these characters are no paths, or would end one in a list of paths. */
const noPath = /[.,[\](){}"']|^-|^\s|\s$|^$/;

/**
 * Returns the paths in a list of them.
 * @param {string} fields
 */
export const pathsOf = (fields) =>
  fields
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '');

/**
 * Returns the columns for documents: the members that most of them have, in the order in which they come.
 * @param {Node[]} documents
 */
export function columnsOf(documents) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const doc of documents) {
    for (const name of new Set(doc.members?.map((m) => m.name))) {
      if (name !== 'id' && name !== '_meta' && !noPath.test(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const chosen = new Set(
    [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, MAX_COLUMNS)
      .map(([name]) => name),
  );
  return [...counts.keys()].filter((name) => chosen.has(name));
}

/**
 * Returns the text of a cell: the tokens of what a document has at a path, which may lead through arrays.
 * @param {Node} doc
 * @param {string} path such as authors[].name
 */
export function cellOf(doc, path) {
  let text = '';
  for (const value of valuesAt(doc, stepsOf(path))) {
    text += (text === '' ? '' : ', ') + tokens(value);
    if (text.length > MAX_CELL) break; // the rest is not shown
  }
  return text;
}

/** Returns the steps of a path: names, and [] into an array. @param {string} path */
const stepsOf = (path) =>
  path.split('.').flatMap((part) => {
    const name = part.replace(/(\[\])+$/, '');
    return [name, ...Array((part.length - name.length) / 2).fill('[]')];
  });

/**
 * @param {Node | undefined} node
 * @param {string[]} steps
 * @returns {Generator<Node>}
 */
function* valuesAt(node, [step, ...rest]) {
  if (!node) return;
  if (step === undefined) yield node;
  else if (step !== '[]') yield* valuesAt(node.members?.findLast((m) => m.name === step)?.value, rest);
  else for (const element of node.elements ?? []) yield* valuesAt(element, rest);
}

/** What the orders of a plan are called. */
const ORDERS = /** @type {Record<string, string>} */ ({
  index: 'as the index has it',
  sorted: 'sorted after reading',
  plan: 'that of the walk; no sort was asked for',
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
  const found = `read ${documents(plan.documents)}, of which ${plan.matched.toLocaleString('en')} match`;
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
 * @returns {Asked & { query: Record<string, string | number> }}
 */
export function pageAsked({ parts, params }) {
  const names = params.get('at') ? ['at', ...OF_LIST] : [...OF_QUERY, ...OF_LIST];
  return { path: [parts[0]], query: { limit: params.get('fields') ? LATER : FIRST, ...given(params, names) } };
}

/**
 * Returns what asks how many documents match.
 * @param {Place} place
 * @returns {Asked}
 */
export const countAsked = ({ parts, params }) => ({
  path: [parts[0]],
  query: { ...given(params, OF_QUERY), fields: 'id', limit: 1, count: true },
});

/**
 * Returns what asks how the query is answered.
 * @param {Place} place
 * @returns {Asked}
 */
export function planAsked(place) {
  const { path, query } = pageAsked(place);
  return { path, query: { ...query, explain: true } };
}

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
