import { html } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';
import { Apart } from './apart.js';

/** How many rows are shown. */
const SHOWN = 200;

/** @typedef {{ part: string, evaluated: number, noValue: number, document?: string, reason?: string }} Evaluation */

/**
 * What each rule does that differs, or whose values do: how many documents it changes, and where it finds no value.
 * @param {{ rules: { rule: string, change: string, documents: number, hides?: string[], evaluations?: Evaluation[] }[],
 *   unique: { collection: string, unique: string, change: string, evaluations?: Evaluation[] }[] }} props
 */
export function PreviewedRules({ rules, unique }) {
  const rows = [
    ...rules.filter((r) => r.change !== 'same' || r.documents > 0).map((r) => ({ ...r, name: r.rule })),
    ...unique.filter((u) => u.change !== 'same').map((u) => ({ ...u, name: `${u.collection} unique ${u.unique}`, documents: undefined, hides: undefined })),
  ];
  if (rows.length === 0) return null;
  return html`<h4>By rule</h4><div class="scroll"><table aria-label="By rule" class="dense">
    <thead><tr><th scope="col">Rule</th><th scope="col">Change</th><th scope="col" class="number">Documents</th><th scope="col">Without a value</th></tr></thead>
    <tbody>${rows.slice(0, SHOWN).map((row) => html`<tr key=${row.name}>
      <td><code><${Visible} text=${row.name} max=${200} /></code>${row.hides && row.hides.length > 0 && html`<div class="quiet">hides a member of <${Apart} document=${row.hides[0]} /></div>`}</td>
      <td>${row.change}</td>
      <td class="number">${row.documents !== undefined && number(row.documents)}</td>
      <td>${(row.evaluations ?? []).map((one) => html`<${Found} key=${one.part} of=${one} />`)}</td></tr>`)}</tbody>
  </table></div>${rows.length > SHOWN && html`<p class="quiet">and ${number(rows.length - SHOWN)} more</p>`}`;
}

/**
 * Where a part of a rule finds no value, with one such document.
 * @param {{ of: Evaluation }} props
 */
const Found = ({ of: { part, evaluated, noValue, document, reason } }) => html`<div><${Visible} text=${part} max=${60} />: ${noValue === 0 ? html`<span class="quiet">none of ${number(evaluated)}</span>`
  : html`<strong class=${noValue === evaluated ? 'wrong' : undefined}>${noValue === evaluated ? `all ${number(evaluated)}` : `${number(noValue)} of ${number(evaluated)}`}</strong>${document && html`, as <${Apart} document=${document} />`}
    ${reason && html` <span class="quiet"><${Visible} text=${reason} max=${300} /></span>`}`}</div>`;
