import { html, useEffect, useRef, useState } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { asProblem, useLoad } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { ChangesSeen } from '../ui/changes.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { CopyAsCurl, DocumentLink, Visible } from '../ui/parts.js';
import { PastBanner, PastProblem } from '../ui/past.js';
import { Suggestion } from '../ui/preview.js';
import { loadPage, useFollowed } from './load.js';
import { MAX_CELL, Plan, Query, cellOf, countAsked, pageAsked } from './query.js';

/**
 * A collection: a page of its documents, now or as they were, and what changes of them.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function CollectionPage({ place }) {
  const {
    parts: [collection],
    params,
  } = place;
  const at = params.get('at') || null;
  const asked = pageAsked(place);
  const { value: page, problem, busy, again } = useLoad((signal) => loadPage({ ...asked, signal }), [JSON.stringify(asked)]);
  const { rows, changed, others } = useFollowed(collection, page, at === null && !busy && !problem);
  const shown = problem ? undefined : page;
  const explained = at === null && params.get('explain') === 'true';
  return html`<${PastBanner} place=${place} position=${shown?.position ?? ''} />
    <${Query} place=${place} columns=${page?.columns ?? []} />
    ${explained && html`<${Plan} place=${place} />`}
    <${PastProblem} place=${place} problem=${problem} again=${again}>${
      problem?.kind === 'needs-index' &&
      !explained &&
      html`<${Suggestion}
      suggest=${problem.of.suggest} />`
    }<//>
    <div class="above">${shown && html`<span role="status" class="quiet">${said(shown, params)}</span>`}
      ${shown && at === null && html`<${Count} key=${JSON.stringify(asked.query)} place=${place} />`}
      ${
        others > 0 &&
        html`<span class="quiet">
        ${others.toLocaleString('en')} change${others === 1 ? '' : 's'} of other documents since. <button type="button" class="small"
          onClick=${again}>Load anew</button></span>`
      }
      ${at === null && html`<a class="button" href=${placeHref([collection], { new: '' })}>New document</a>`}</div>
    ${
      shown &&
      html`${shown.documents.length > 0 && html`<${DocumentsTable} collection=${collection} at=${at} page=${shown} changed=${changed} />`}
      <${Pages} place=${place} page=${shown} />`
    }
    ${at === null && html`<${ChangesSeen} rows=${rows} />`}
    <${CopyAsCurl} asked=${asked} />`;
}

/**
 * Says how many documents are shown.
 * @param {import('./load.js').Page} page
 * @param {URLSearchParams} params
 */
function said({ documents, next }, params) {
  const n = documents.length;
  if (n > 0) return `${n} document${n === 1 ? '' : 's'}${next || params.get('cursor') ? ' on this page' : ''}.`;
  if (next) return 'No document on this page.';
  return params.get('cursor')
    ? 'No more documents.'
    : params.get('filter') && !params.get('at')
      ? 'No document matches.'
      : 'There are no documents.';
}

/**
 * The links to other pages. That to the next asks for the columns that are shown.
 * @param {{ place: import('../lib/place.js').Place, page: import('./load.js').Page }} props
 */
function Pages({ place: { parts, params }, page }) {
  const href = (/** @type {string} */ cursor) => {
    const next = new URLSearchParams(params);
    next.delete('explain');
    next.delete('cursor');
    if (cursor !== '') {
      if (page.columns.length) next.set('fields', page.columns.join(','));
      next.set('cursor', cursor);
    }
    return placeHref(parts, next);
  };
  if (!params.get('cursor') && !page.next) return null;
  return html`<p class="actions">${params.get('cursor') && html`<a href=${href('')}>First page</a>`}${
    page.next &&
    html`<a
    href=${href(page.next)}>Next page</a>`
  }</p>`;
}

/**
 * Documents as rows: their ids, and their values' own texts.
 * @param {{ collection: string, at: string | null, page: import('./load.js').Page, changed: import('./load.js').Changed }} props
 */
export const DocumentsTable = ({
  collection,
  at,
  page,
  changed,
}) => html`<div class="scroll" tabindex="0" role="group" aria-label="Table of documents"><table aria-label="Documents" class="grid">
    <thead><tr><th scope="col">id</th>${page.columns.map(
      (path) => html`<th scope="col" key=${path}><${Visible} text=${path} max=${100} />
      </th>`,
    )}</tr></thead>
    <tbody>${page.documents.map((doc, i) => {
      const id = page.ids[i];
      const now = changed.get(id);
      return html`<${Row} key=${id} collection=${collection} at=${at} id=${id} doc=${now ?? doc} columns=${page.columns}
        mark=${now === null ? 'gone' : now && 'changed'} />`;
    })}</tbody>
  </table></div>`;

/**
 * @param {{ collection: string, at: string | null, id: string, doc: import('../lib/json.js').Node, columns: string[], mark?: string }}
 * props
 */
const Row = ({ collection, at, id, doc, columns, mark }) => html`<tr class=${mark}>
    <th scope="row"><div class="cell"><${DocumentLink} collection=${collection} id=${id} at=${at} short />${
      mark &&
      html` <span
      class="kind">${mark}</span>`
    }</div></th>
    ${columns.map((path) => html`<td key=${path}><div class="cell"><${Visible} text=${cellOf(doc, path)} max=${MAX_CELL} /></div></td>`)}
  </tr>`;

/**
 * A button that counts what matches. Nothing is counted before.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function Count({ place }) {
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
  const { busy, count: found, problem } = state;
  return html`<button type="button" class="small" aria-disabled=${busy ? 'true' : undefined}
    onClick=${busy ? undefined : count}>Count</button>
    ${' '}<span role="status">${busy && 'Counting'}
      ${found !== undefined && `${found.toLocaleString('en')} ${place.params.get('filter') ? 'match' : 'in all'}.`}</span>
    <${ProblemAlert} problem=${problem}>${problem?.kind === 'needs-index' && html`<${Suggestion} suggest=${problem.of.suggest} />`}<//>`;
}
