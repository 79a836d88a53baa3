import { html } from '../lib/html.js';
import { placeHref } from '../lib/place.js';
import { number } from './amounts.js';
import { Patch } from './patch.js';
import { Visible } from './text.js';

/** How many documents are named. */
const NAMED = 20;

/**
 * Says how many derived changes there are, and where.
 * @param {import('../lib/write.js').Effects} effects
 */
export const sentence = ({ derived, collections }) => (derived === 0 ? 'No derived change' : number(derived) + ' derived change' + (derived === 1 ? '' : 's')
  + (collections.length ? ': ' + collections.map(([name, count]) => number(count) + ' in ' + name).join(', ') : ''));

/**
 * What a write would change, besides the document itself.
 * @param {{ effects: import('../lib/write.js').Effects }} props
 */
export function EffectsOf({ effects }) {
  const others = effects.writes.slice(1);
  return html`<p class="sentence"><${Visible} text=${sentence(effects)} /></p>
    <${Others} title="Deleted with it" writes=${others.filter((w) => w.op === 'delete')} />
    <${Others} title="Loses its reference" writes=${others.filter((w) => w.op !== 'delete')} />
    ${effects.rules.length > 0 && html`<div class="scroll"><table aria-label="Changes by rule">
      <thead><tr><th scope="col">Rule</th><th scope="col" class="number">Documents</th></tr></thead>
      <tbody>${effects.rules.map(([name, count]) => html`<tr key=${name}><td><code><${Visible} text=${name} max=${200} /></code></td><td class="number">${number(count)}</td></tr>`)}</tbody>
    </table></div>`}
    ${effects.examples.length > 0 && html`<h3>Examples</h3><ul aria-label="Examples" class="examples">${effects.examples.map((one) => html`<li>
      <${OtherDocument} collection=${one.collection} id=${one.id} /> <span class="quiet">by <code><${Visible} text=${one.rule} max=${200} /></code></span>
      <${Patch} patch=${one.patch} max=${4} /></li>`)}</ul>`}`;
}

/**
 * Documents that are written together with the one that is deleted.
 * @param {{ title: string, writes: { collection: string, id: string }[] }} props
 */
function Others({ title, writes }) {
  if (writes.length === 0) return null;
  return html`<h3>${title}: ${number(writes.length)}</h3><ul aria-label=${title} class="documents">
    ${writes.slice(0, NAMED).map((w) => html`<li><${OtherDocument} collection=${w.collection} id=${w.id} /></li>`)}
    ${writes.length > NAMED && html`<li class="quiet">and ${number(writes.length - NAMED)} more</li>`}</ul>`;
}

/**
 * A link to a document that opens in a tab of its own, so that nothing of this page is lost.
 * @param {{ collection: string, id: string }} props
 */
export const OtherDocument = ({ collection, id }) => html`<a href=${placeHref([collection, id])} target="_blank" rel="noopener"><${Visible} text=${collection + '/' + id} max=${200} /></a>`;
