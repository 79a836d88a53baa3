import { html } from '../../lib/html.js';
import { moved, take } from '../../lib/moving.js';
import { goTo, placeHref } from '../../lib/place.js';
import { DropField } from '../../ui/dropfield.js';

/** Where somebody begins whose documents are in another store: what is dropped is looked at on a page of its own. */
export function DropExport() {
  const drop = (/** @type {File[]} */ files, /** @type {string[]} */ left) => {
    take(files, left);
    goTo(placeHref(['_import']));
  };
  return html`<${DropField} title="Drop your export here" onFiles=${drop}>
      <p>Files as another store exports them, or a directory with a file a collection: JSON, Cosmos DB, MongoDB, CouchDB, Firestore, also as gzip or zstd. You see what is in them before anything is stored, and then which of their copies were wrong.</p>
    <//>
    ${moved.value.length > 0 && html`<p><a href=${placeHref(['_import'])}>The files that you dropped</a></p>`}`;
}
