import { html, useState } from '../../lib/html.js';
import { DocumentLink } from '../../ui/link.js';
import { MoreList } from '../../ui/morelist.js';
import { Visible } from '../../ui/text.js';

/**
 * Which documents carry something of the document, by rule.
 * @param {{ lineage: any }} props
 */
export function Carried({ lineage }) {
  if (!lineage) return null;
  const rules = lineage.copies.filter((/** @type {any} */ c) => Number(c.documents) > 0 || c.more || c.reason);
  return html`<section aria-label="Carried by"><h2>Carried by</h2>
    ${rules.length === 0 && html`<p class="quiet">No document carries anything of this one.</p>`}
    ${rules.map((/** @type {any} */ c) => html`<${Carriers} key=${c.rule} of=${c} />`)}</section>`;
}

/** @param {{ of: any }} props */
function Carriers({ of }) {
  const [open, setOpen] = useState(false);
  const collection = of.rule.slice(0, of.rule.indexOf('.'));
  const documents = Number(of.documents);
  return html`<div class="tie"><header><h3><code><${Visible} text=${of.rule} max=${300} /></code><span class="quiet">: ${documents.toLocaleString('en')}</span></h3>
      ${documents > 0 && html`<button type="button" class="small" aria-expanded=${open} aria-label=${`Show carriers by ${of.rule}`} onClick=${() => setOpen(!open)}>Show</button>`}</header>
    ${of.reason && html`<p class="quiet"><${Visible} text=${of.reason} max=${1000} /></p>`}
    ${of.more > 0 && html`<p class="quiet">${Number(of.more).toLocaleString('en')} more ids were not looked for.</p>`}
    ${open && html`<${MoreList} ids label=${`Carriers by ${of.rule}`} items=${of.first} item=${(/** @type {string} */ id) => html`<${DocumentLink} collection=${collection} id=${id} short />`} />
      ${documents > of.first.length && html`<p class="quiet">The first ${of.first.length} of ${documents.toLocaleString('en')} are listed.</p>`}`}</div>`;
}
