import { html, useState } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { DocumentLink } from '../../ui/link.js';
import { Visible } from '../../ui/text.js';
import { isFailing } from './declared.js';
import { CollectionLink } from './relations.js';

/** How many rules are shown at first, and how many more at each step. */
const STEP = 100;

/**
 * The rules of the model, with what the node has found about them where the reader may know it.
 * @param {{ rules: import('./declared.js').Rule[], found?: (rule: string) => import('./declared.js').Found }} props
 */
export function Rules({ rules, found }) {
  const [max, setMax] = useState(STEP);
  const more = Math.min(STEP, rules.length - max);
  return html`<h2>Rules</h2>
    ${rules.length === 0 ? html`<p class="quiet">The model declares no rule.</p>` : html`<div class="scroll"><table aria-label="Rules" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Path</th><th scope="col">Kind</th><th scope="col">From</th><th scope="col">Expression</th>
        ${found && html`<th scope="col">Error</th>`}</tr></thead>
      <tbody>${rules.slice(0, max).map((rule) => html`<${Row} key=${rule.name} rule=${rule} found=${found?.(rule.name)} />`)}</tbody>
    </table></div>`}
    ${more > 0 && html`<p><button type="button" class="small" onClick=${() => setMax(max + STEP)}>Show ${more} more rules</button></p>`}`;
}

/**
 * @param {{ rule: import('./declared.js').Rule, found?: import('./declared.js').Found }} props
 */
function Row({ rule, found }) {
  return html`<tr class=${found && isFailing(found) ? 'failing' : undefined}>
    <td><${CollectionLink} name=${rule.collection} /></td>
    <td><code><${Visible} text=${rule.path} max=${200} /></code></td>
    <td>${rule.kind}</td>
    <td class="from">${rule.by === '' ? html`<span class="quiet">itself</span>` : html`<${CollectionLink} name=${rule.from} /> <span class="quiet">by <${Visible} text=${rule.by.slice(rule.by.indexOf('.') + 1)} max=${60} /></span>`}</td>
    <td><code><${Visible} text=${rule.says} max=${200} /></code></td>
    ${found && html`<td><${Failure} found=${found} /></td>`}
  </tr>`;
}

/**
 * A link to a document that the API names in one text.
 * @param {{ document: string }} props as collection/id
 */
function Named({ document }) {
  const at = document.indexOf('/'); // a collection's name has no slash
  return html`<${DocumentLink} collection=${document.slice(0, at)} id=${document.slice(at + 1)} />`;
}

/** @param {{ found: import('./declared.js').Found }} props */
function Failure({ found: { failed, withoutRoom } }) {
  return html`${failed && html`<strong class="wrong">${number(failed.count)} failed</strong>, last <${Named} document=${failed.document} /><div class="quiet"><${Visible} text=${failed.error} max=${300} /></div>`}
    ${withoutRoom !== undefined && html`<div><strong class="wrong">No room</strong> in ${number(withoutRoom)} documents</div>`}`;
}
