import { html, useMemo } from '../../lib/html.js';
import { DocumentLink } from '../../ui/link.js';
import { MoreList } from '../../ui/morelist.js';
import { Visible } from '../../ui/text.js';
import { idsAt, relationsOf } from './model.js';

/**
 * The documents that the document refers to, by relation.
 * @param {{ doc: import('./load.js').Document, collection: string, at: string | null, model: any }} props
 */
export function Refers({ doc, collection, at, model }) {
  const root = doc.root;
  const relations = useMemo(() => (root ? relationsOf(model).filter((r) => r.collection === collection).map((r) => ({ ...r, ids: idsAt(root, r.path) })) : []), [root, model]);
  if (relations.length === 0) return null;
  return html`<section aria-label="Refers to"><h2>Refers to</h2>${relations.map((r) => html`<div key=${r.name} class="tie">
    <h3><${Visible} text=${r.name} max=${200} /> <span class="quiet">in <${Visible} text=${r.to} max=${200} />: ${r.ids.length.toLocaleString('en')}</span></h3>
    ${r.ids.length > 0 && html`<${MoreList} ids label=${`To ${r.to} by ${r.name}`} items=${r.ids} item=${(/** @type {string} */ id) => html`<${DocumentLink} collection=${r.to} id=${id} at=${at} short />`} />`}
  </div>`)}</section>`;
}
