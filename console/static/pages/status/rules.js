import { html } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { NamedDocument } from '../../ui/link.js';
import { Section } from '../../ui/section.js';
import { Table } from '../../ui/table.js';
import { Visible } from '../../ui/text.js';

/**
 * Rules that fail, or have no room.
 * @param {{ status: any }} props
 */
export function Rules({ status }) {
  const failing = status.ruleErrors ?? [];
  const omitted = status.omitted ?? [];
  return html`<${Section} title="Rules">
    ${failing.length > 0 ? html`<h3>Failed since the start</h3><${Table} label="Rule errors" head=${['Rule', ['Failed'], 'Last document', 'Error']}>
      ${failing.map((/** @type {any} */ one) => html`<tr key=${one.rule}><td>${code(one.rule)}</td><td class="number">${number(one.count)}</td><td><${NamedDocument} name=${one.document} /></td><td><${Visible} text=${one.error} max=${1000} /></td></tr>`)}<//>`
      : html`<p>No rule has failed since the start.</p>`}
    ${omitted.length > 0 && html`<h3>Without room in some documents</h3><${Table} label="Values without room" head=${['Rule', ['Documents'], ['Values']]}>
      ${omitted.map((/** @type {any} */ one) => html`<tr key=${one.rule}><td>${code(one.rule)}</td><td class="number">${number(one.documents)}</td><td class="number">${number(one.values)}</td></tr>`)}<//>`}
  <//>`;
}

/** @param {string} text */
const code = (text) => html`<code><${Visible} text=${text} max=${200} /></code>`;
