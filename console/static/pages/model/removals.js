import { html } from '../../lib/html.js';
import { Visible } from '../../ui/text.js';
import { detailOf, removalsOf, subjectOf } from './words.js';

/**
 * Names what a model takes away, with the box that says that it is meant. The header If-Match says it to the server.
 * @param {{ differences: import('./words.js').Difference[], sure: boolean, onSure: (sure: boolean) => void }} props
 */
export function Removals({ differences, sure, onSure }) {
  const { removals, count } = removalsOf(differences);
  if (removals.length === 0) return null;
  return html`<div class="removals"><label class="box"><input type="checkbox" checked=${sure} onChange=${(/** @type {any} */ event) => onSure(event.target.checked)} /> Remove ${count === '1' ? '1 rule or guard' : `${count} rules and guards`}</label>
    <ul aria-label="What goes" class="documents">${removals.map((one) => html`<li><${Visible} text=${subjectOf(one)} max=${200} />${one.change === 'changed' && html` <span class="quiet"><${Visible} text=${detailOf(one)} max=${200} /></span>`}</li>`)}</ul></div>`;
}
