import { html } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { number } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';

/**
 * A link to a collection.
 * @param {{ name: string }} props
 */
export const CollectionLink = ({ name }) => html`<a href=${placeHref([name])}><${Visible} text=${name} max=${100} /></a>`;

/**
 * The relations of the model.
 * @param {{ relations: import('./declared.js').Relation[] }} props
 */
export function Relations({ relations }) {
  return html`<h2 id="relations">Relations</h2>
    ${relations.length === 0 ? html`<p class="quiet">The model declares no relation.</p>` : html`<div class="scroll"><table aria-label="Relations" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Relation</th><th scope="col">Path</th><th scope="col">To</th><th scope="col">On delete</th><th scope="col" class="number">Rules</th></tr></thead>
      <tbody>${relations.map((r) => html`<tr key=${r.key}>
        <td><${CollectionLink} name=${r.collection} /></td>
        <td><${Visible} text=${r.name} max=${100} /></td>
        <td><code><${Visible} text=${r.path} max=${200} /></code></td>
        <td><${CollectionLink} name=${r.to} /></td>
        <td>${r.onDelete}${r.strict && ', strict'}</td>
        <td class="number">${number(r.rules.length)}</td></tr>`)}</tbody>
    </table></div>`}`;
}
