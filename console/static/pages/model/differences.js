import { html, useState } from '../../lib/html.js';
import { Visible } from '../../ui/text.js';
import { accessOf, CHANGES, detailOf, subjectOf } from './words.js';

/** How many differences are shown at first. */
const FIRST = 50;

/**
 * What a model declares otherwise, and what its access opens and closes.
 * @param {{ differences: import('./words.js').Difference[] }} props
 */
export function Differences({ differences }) {
  const [all, setAll] = useState(false);
  const access = accessOf(differences);
  const shown = all ? differences : differences.slice(0, FIRST);
  return html`${differences.length > 0 && html`<h4>Differences</h4><ul aria-label="Differences" class="documents">${shown.map((one) => html`<li>
      <strong>${CHANGES[one.change] ?? one.change}</strong>: <${Visible} text=${subjectOf(one)} max=${200} />${one.detail && html` <span class="detail"><${Visible} text=${detailOf(one)} max=${500} /></span>`}</li>`)}</ul>`}
    ${shown.length < differences.length && html`<button type="button" class="small" onClick=${() => setAll(true)}>Show ${differences.length - FIRST} more differences</button>`}
    ${access.length > 0 && html`<h4>Access</h4><ul aria-label="Access" class="documents">${access.map((one) => html`<li>
      <strong>${one.opens ? 'Opens' : 'Closes'}</strong> <${Visible} text=${one.collection} max=${100} />: <${Visible} text=${one.text} max=${300} /></li>`)}</ul>`}`;
}
