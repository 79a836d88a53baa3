import { html } from '../../lib/html.js';

/** What to do with a store that has nothing yet. */
export function EmptyStore() {
  const server = new URL('..', document.baseURI).href.replace(/\/$/, '');
  return html`<h2>Or write</h2>
    <p>There is no collection yet, or none that you may read. Write a document, and its collection is there:</p>
    <pre aria-label="Write a document">${`echo '{"title":"Adam Bede"}' | fanfold put books b1 --server ${server}`}</pre>
    <p>A model says which values the store keeps right by itself. Apply one, and load documents:</p>
    <pre aria-label="Apply a model and load documents">${`fanfold model apply model.yaml --server ${server}\nfanfold import --collection books books.ndjson --server ${server}`}</pre>
    <p>Or look at a bookshop first, in a store of its own:</p>
    <pre aria-label="See a demo">fanfold demo</pre>`;
}
