import { html } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';
import { Apart } from './apart.js';

/** How many documents of a collection are named. */
const NAMED = 5;

/**
 * Documents that do not fit a new schema, because of which the model is not applied here.
 * @param {{ misfits: { collection: string, documents: number, first: { document: string, problems: { path: string, detail: string }[] }[] }[] }} props
 */
export function Misfits({ misfits }) {
  if (misfits.length === 0) return null;
  return html`<div role="alert" class="problem"><strong>Documents do not fit the schema</strong>
    <ul aria-label="Documents that do not fit" class="documents">${misfits.flatMap((of) => of.first.slice(0, NAMED).map((one) => html`<li key=${one.document}><${Apart} document=${one.document} />:
      <${Visible} text=${one.problems.map((p) => (p.path + ' ' + p.detail).trim()).join('; ')} max=${300} /></li>`))}</ul>
    <p>${misfits.map((of) => `${number(of.documents)} in ${of.collection}`).join(', ')}. Mend them, or apply the model by <code>fanfold model apply --allow-misfits</code>.</p></div>`;
}
