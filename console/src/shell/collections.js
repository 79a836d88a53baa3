import { html } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { useLoad, usePolled } from '../lib/load.js';
import { moved, take } from '../lib/moving.js';
import { goTo, placeHref } from '../lib/place.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { DropField } from '../ui/files.js';
import { CopyAsCurl, Visible } from '../ui/parts.js';

/**
 * The collections of the store, page by page, and what needs attention.
 * @param {{ place: import('../lib/place.js').Place }} props
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
    }
    <${Attention} />
    <${CopyAsCurl} asked=${asked} />`;
}

/** Where somebody begins whose documents are in another store: what is dropped is looked at on a page of its own. */
export function DropExport() {
  const drop = (/** @type {File[]} */ files, /** @type {string[]} */ left) => {
    take(files, left);
    goTo(placeHref(['_import']));
  };
  return html`<${DropField} title="Drop your export here" onFiles=${drop}>
      <p>Files as another store exports them, or a directory with a file a collection: JSON, Cosmos DB, MongoDB, CouchDB, Firestore, also as
        gzip or zstd. You see what is in them before anything is stored, and then which of their copies were wrong.</p>
    <//>
    ${moved.value.length > 0 && html`<p><a href=${placeHref(['_import'])}>The files that you dropped</a></p>`}`;
}

/** How long until it is asked again what needs attention, in milliseconds. */
const EVERY = 15_000;

/** What of a store needs somebody's attention, as its status has it. @typedef {{ what: string, detail: string, place?: string }} Need */

/** What needs attention. It is nothing where the reader may not know whether all is well. */
export function Attention() {
  const { value, problem } = usePolled(
    async (signal) => /** @type {Need[]} */ ((await ask({ path: ['_status'], signal })).needs ?? []),
    [],
    () => EVERY,
  );
  const needs = problem?.status === 0 ? [{ what: problem.title, detail: '' }, ...(value ?? [])] : value;
  if (!needs) return null;
  if (needs.length === 0) return html`<p class="quiet">Nothing needs attention.</p>`;
  return html`<h2>Needs attention</h2>
    <ul aria-label="Needs attention" class="needs">${needs.map(
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
