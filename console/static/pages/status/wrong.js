import { html, useState } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { NamedDocument } from '../../ui/link.js';
import { Table } from '../../ui/table.js';
import { Visible } from '../../ui/text.js';
import { foundIn } from './found.js';

/** How many wrong values are shown at first, and how many more at each step. */
const STEP = 50;

/** How many differences of a document are shown. */
const PLACES = 20;

/**
 * The wrong values that a verification found, each with what was expected and what is there.
 * @param {{ wrong: { document: string, rule?: string, detail: string }[], more: number }} props more is how many the server does not list
 */
export function Wrong({ wrong, more }) {
  const [max, setMax] = useState(STEP);
  if (wrong.length === 0) return null;
  return html`<${Table} label="Wrong values" head=${['Document', 'Rule', 'Where', 'Expected', 'Found']}>
      ${wrong.slice(0, max).map((one, i) => html`<${Row} key=${i} one=${one} />`)}<//>
    ${wrong.length > max && html`<button type="button" onClick=${() => setMax(max + STEP)}>Show ${Math.min(STEP, wrong.length - max)} more wrong values</button>`}
    ${more > 0 && html`<p>${number(more)} more wrong values are not listed.</p>`}`;
}

/** @param {{ one: { document: string, rule?: string, detail: string } }} props */
function Row({ one }) {
  const found = foundIn(one.detail);
  const places = found?.slice(0, PLACES) ?? [undefined];
  const head = html`<th scope="rowgroup" rowspan=${places.length}><${NamedDocument} name=${one.document} /></th><td rowspan=${places.length}>${one.rule && html`<code><${Visible} text=${one.rule} max=${200} /></code>`}</td>`;
  return html`${places.map((at, i) => html`<tr key=${i}>${i === 0 && head}${at === undefined ? html`<td colspan="3"><${Visible} text=${one.detail} max=${2100} /></td>` : html`
    <td><code><${Visible} text=${at.path || '/'} max=${300} /></code>${found && i === PLACES - 1 && found.length > PLACES && html` <span class="quiet">and ${found.length - PLACES} more</span>`}</td>
    <td>${valueOf(at.expected)}</td><td>${valueOf(at.found)}</td>`}</tr>`)}`;
}

/** @param {string | undefined} token */
const valueOf = (token) => (token === undefined ? html`<span class="quiet">nothing</span>` : html`<code><${Visible} text=${token} max=${200} /></code>`);
