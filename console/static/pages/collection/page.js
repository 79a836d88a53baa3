import { html } from '../../lib/html.js';
import { useLoad } from '../../lib/load.js';
import { placeHref } from '../../lib/place.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { PastBanner, PastProblem } from '../../ui/past.js';
import { ChangesSeen } from '../../ui/seen.js';
import { pageAsked } from './asked.js';
import { Count } from './count.js';
import { useFollowed } from './follow.js';
import { loadPage } from './load.js';
import { Plan } from './plan.js';
import { Query } from './query.js';
import { Suggestion } from '../../ui/suggestion.js';
import { DocumentsTable } from './table.js';

/**
 * A collection: a page of its documents, now or as they were, and what changes of them.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function CollectionPage({ place }) {
  const { parts: [collection], params } = place;
  const at = params.get('at') || null;
  const asked = pageAsked(place);
  const { value: page, problem, busy, again } = useLoad((signal) => loadPage({ ...asked, signal }), [JSON.stringify(asked)]);
  const { rows, changed, others } = useFollowed(collection, page, at === null && !busy && !problem);
  const shown = problem ? undefined : page;
  const explained = at === null && params.get('explain') === 'true';
  return html`<${PastBanner} place=${place} position=${shown?.position ?? ''} />
    <${Query} place=${place} columns=${page?.columns ?? []} />
    ${explained && html`<${Plan} place=${place} />`}
    <${PastProblem} place=${place} problem=${problem} again=${again}>${problem?.kind === 'needs-index' && !explained && html`<${Suggestion} suggest=${problem.of.suggest} />`}<//>
    <div class="above">${shown && html`<span role="status" class="quiet">${said(shown, params)}</span>`}
      ${shown && at === null && html`<${Count} key=${JSON.stringify(asked.query)} place=${place} />`}
      ${others > 0 && html`<span class="quiet">${others.toLocaleString('en')} change${others === 1 ? '' : 's'} of other documents since. <button type="button" class="small" onClick=${again}>Load anew</button></span>`}
      ${at === null && html`<a class="button" href=${placeHref([collection], { new: '' })}>New document</a>`}</div>
    ${shown && html`${shown.documents.length > 0 && html`<${DocumentsTable} collection=${collection} at=${at} page=${shown} changed=${changed} />`}
      <${Pages} place=${place} page=${shown} />`}
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
  return params.get('cursor') ? 'No more documents.' : params.get('filter') && !params.get('at') ? 'No document matches.' : 'There are no documents.';
}

/**
 * The links to other pages. That to the next asks for the columns that are shown.
 * @param {{ place: import('../../lib/place.js').Place, page: import('./load.js').Page }} props
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
  return html`<p class="actions">${params.get('cursor') && html`<a href=${href('')}>First page</a>`}${page.next && html`<a href=${href(page.next)}>Next page</a>`}</p>`;
}
