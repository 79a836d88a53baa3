import { html, useMemo, useState } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { DocumentLink } from '../../ui/link.js';
import { Patch } from '../../ui/patch.js';
import { Visible } from '../../ui/text.js';
import { byRule } from './kept.js';

/** @typedef {import('./kept.js').Item} Item */

/** How many documents of a rule are shown at first. */
const FIRST = 50;

/**
 * What one event did: the write, and its derived changes on demand.
 * @param {{ item: Item, derived: number, gone: number }} props derived and gone are those of the item, by which preact sees that it has changed
 */
export function ChangeItem({ item, derived, gone }) {
  const [open, setOpen] = useState(false);
  // An element that is the same is not looked at again: hundreds stand here while others come.
  return useMemo(() => html`<li>
    <${What} item=${item} /> <code>${item.write?.seq ?? item.cause?.seq ?? item.seq}</code> <time class="quiet" datetime=${item.time}>${item.time}</time><${By} item=${item} />
    ${derived > 0 && html` <button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${number(derived)} derived change${derived === 1 ? '' : 's'}</button>`}
    ${open && html`<div class="derived">
      ${gone > 0 && html`<p class="quiet">${number(gone)} of them are not kept here.</p>`}
      ${byRule(item.rows).map(([rule, rows]) => html`<${Rule} key=${rule} rule=${rule} rows=${rows} />`)}</div>`}
  </li>`, [item, derived, gone, open]);
}

/** What was written, and how. @param {{ item: Item }} props */
function What({ item: { write, cause, whole } }) {
  if (write) return html`<${DocumentLink} collection=${write.collection} id=${write.id} /> <strong>${write.op}</strong>`;
  if (cause?.collection) return html`<${DocumentLink} collection=${cause.collection} id=${cause.id} />`;
  if (whole) return 'The model';
  return cause?.rule === 'erase' ? 'An erasure' : 'A document that you may not read';
}

/** Who wrote it, and what it follows from. @param {{ item: Item }} props */
const By = ({ item: { write } }) => html`${write?.actor && html` by <${Visible} text=${write.actor} max=${80} />`}${
  write?.cause?.collection && html` <span class="quiet">because of <${DocumentLink} collection=${write.cause.collection} id=${write.cause.id} /></span>`}`;

/**
 * The derived changes of one rule, by document.
 * @param {{ rule: string, rows: import('../../lib/row.js').Row[] }} props
 */
function Rule({ rule, rows }) {
  const [shown, setShown] = useState(FIRST);
  return html`<h2><${Visible} text=${rule} max=${200} />: ${number(rows.length)}</h2>
    <ul>${rows.slice(0, shown).map((row) => html`<${Derived} key=${row.seq} row=${row} />`)}</ul>
    ${rows.length > shown && html`<button type="button" onClick=${() => setShown(shown + FIRST)}>Show ${FIRST} more of ${rule}</button>`}`;
}

/** @param {{ row: import('../../lib/row.js').Row }} props */
const Derived = ({ row }) => useMemo(() => html`<li><${DocumentLink} collection=${row.collection} id=${row.id} /> <${Patch} patch=${row.patch} max=${5} /></li>`, [row]);
