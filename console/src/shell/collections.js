import { html, useEffect } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { useLoad } from '../lib/load.js';
import { moved, take } from '../lib/moving.js';
import { goTo, placeHref } from '../lib/place.js';
import { Pending, ProblemAlert } from '../ui/dialogs.js';
import { DropField } from '../ui/inputs.js';
import { CopyAs, Visible } from '../ui/parts.js';
import { looks, needs } from './node.js';

/**
 * The collections of the store, page by page, and what needs attention.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function CollectionsPage({ place }) {
  const cursor = place.params.get('cursor') || undefined;
  const asked = { path: [], query: { limit: 100, cursor } };
  const loaded = useLoad((signal) => ask({ ...asked, signal }), [cursor]);
  const { problem, again } = loaded;
  const value = problem && !problem.passing ? undefined : loaded.value;
  const isEmpty = value && value.collections.length === 0;
  const hasNoDocument = value && !cursor && !value.next && value.collections.every((/** @type {any} */ c) => c.documents === 0);
  return html`<${Attention} />
    <${ProblemAlert} problem=${problem} again=${again} />
    <${Pending} of=${loaded}>${hasNoDocument && html`<${DropExport} />`}
    ${isEmpty && !cursor && html`<${EmptyStore} />`}
    ${
      value &&
      !isEmpty &&
      html`<div class="scroll"><table aria-label="Collections">
      <thead><tr><th scope="col">Name</th><th scope="col" class="number">Documents</th><th scope="col">Declared</th></tr></thead>
      <tbody>${value.collections.map(
        (/** @type {any} */ c) => html`<tr key=${c.name}>
        <td><a href=${placeHref([c.name])}><${Visible} text=${c.name} /></a></td><td class="number">${c.documents?.toLocaleString('en')}
          </td><td>${c.declared ? 'yes' : 'no'}</td></tr>`,
      )}</tbody>
    </table></div>`
    }
    ${
      (cursor || value?.next) &&
      html`<p class="actions">${cursor && html`<a href=${placeHref([])}>First page</a>`}${
        value?.next &&
        html`<a
      href=${placeHref([], { cursor: value.next })}>Next page</a>`
      }</p>`
    }<//>
    ${needs.value?.length === 0 && html`<p class="quiet">Nothing needs attention.</p>`}
    <${CopyAs} asked=${asked} />`;
}

/** Where somebody begins whose documents are in another store: what is dropped is looked at on a page of its own. */
export function DropExport() {
  const drop = (/** @type {File[]} */ files, /** @type {string[]} */ left) => {
    take(files, left);
    goTo(placeHref(['_import']));
  };
  return html`<${DropField} title="Drop your export here" onFiles=${drop}>
      <p>Files as another store exports them, or a directory with a file a collection: JSON, Cosmos DB, MongoDB, CouchDB, Firestore, also as
        gzip or zstd; and CSV. You see what is in them before anything is stored, and then which of their copies were wrong.</p>
    <//>
    ${moved.value.length > 0 && html`<p><a href=${placeHref(['_import'])}>The files that you dropped</a></p>`}`;
}

/** What needs attention, as a list. It is nothing where there is none, or the reader may not know it. */
export function Attention() {
  useEffect(() => {
    if (needs.value) looks.value++; // as long as nobody knows it, it is being asked for
  }, []);
  if (!needs.value?.length) return null;
  return html`<ul aria-label="Needs attention" class="needs">${needs.value.map(
    ({ what, detail, place }) => html`<li>
      <strong><${Visible} text=${what} max=${300} /></strong>${detail && html`: <${Visible} text=${detail} max=${1000} />`}
      ${place && html` <a href=${'#' + place}><${Visible} text=${nameOf(place)} max=${300} /></a>`}</li>`,
  )}</ul>`;
}

/** Returns what a place is called. @param {string} place as an address has it */
function nameOf(place) {
  if (place === '/_status') return 'Operations';
  if (place === '/_model') return 'Model';
  return decodeURIComponent(place.slice(1)).replace(/^_groups\//, 'Group ');
}

/** What to do with a store that has nothing yet. */
export function EmptyStore() {
  const server = new URL('..', document.baseURI).href.replace(/\/$/, '');
  return html`<h2>Or write</h2>
    <p>There is no collection yet, or none that you may read. Write a document, and its collection is there:</p>
    <pre aria-label="Write a document">${`echo '{"title":"Adam Bede"}' | fanfold put books b1 --server ${server}`}</pre>
    <p>A model says which values the store keeps right by itself. Apply one, and load documents:</p>
    <pre aria-label="Apply a model and load documents">
      ${`fanfold model apply model.yaml --server ${server}\nfanfold import --collection books books.ndjson --server ${server}`}</pre>
    <p>Or look at a bookshop first, in a store of its own:</p>
    <pre aria-label="See a demo">fanfold demo</pre>`;
}
