import { html } from '../../lib/html.js';
import { ask } from '../../lib/http.js';
import { useLoad } from '../../lib/load.js';
import { placeHref } from '../../lib/place.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Visible } from '../../ui/text.js';
import { Attention } from './attention.js';
import { DropExport } from './drop.js';
import { EmptyStore } from './empty.js';

/**
 * The collections of the store, page by page, and what needs attention.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function CollectionsPage({ place }) {
  const cursor = place.params.get('cursor') || undefined;
  const asked = { path: [], query: { limit: 100, cursor } };
  const { value, problem, again } = useLoad((signal) => ask({ ...asked, signal }), [cursor]);
  const isEmpty = value && value.collections.length === 0;
  const hasNoDocument = value && !cursor && !value.next && value.collections.every((/** @type {any} */ c) => c.documents === 0);
  return html`<${ProblemAlert} problem=${problem} again=${again} />
    ${hasNoDocument && html`<${DropExport} />`}
    ${isEmpty && !cursor && html`<${EmptyStore} />`}
    ${value && !isEmpty && html`<div class="scroll"><table aria-label="Collections">
      <thead><tr><th scope="col">Name</th><th scope="col" class="number">Documents</th><th scope="col">Declared</th></tr></thead>
      <tbody>${value.collections.map((/** @type {any} */ c) => html`<tr key=${c.name}>
        <td><a href=${placeHref([c.name])}><${Visible} text=${c.name} /></a></td><td class="number">${c.documents?.toLocaleString('en')}</td><td>${c.declared ? 'yes' : 'no'}</td></tr>`)}</tbody>
    </table></div>`}
    ${(cursor || value?.next) && html`<p class="actions">${cursor && html`<a href=${placeHref([])}>First page</a>`}${value?.next && html`<a href=${placeHref([], { cursor: value.next })}>Next page</a>`}</p>`}
    <${Attention} />
    <${CopyAsCurl} asked=${asked} />`;
}
