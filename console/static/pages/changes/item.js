import { html, useState } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { Patch } from '../../ui/patch.js';
import { Visible } from '../../ui/text.js';
import { byRule } from './kept.js';

/** How many documents of a rule are shown at first. */
const FIRST = 50;

/**
 * What one event did: the write, and its derived changes on demand.
 * @param {{ item: import('./kept.js').Item, version: number }} props version tells that the item has changed
 */
export function ChangeItem({ item }) {
  const [open, setOpen] = useState(false);
  const { write, cause, derived } = item;
  const collection = write?.collection ?? cause?.collection;
  const id = write?.id ?? cause?.id;
  const seq = write?.seq ?? cause?.seq ?? item.rows[0]?.seq ?? item.event;
  const name = `${derived.toLocaleString('en')} derived change${derived === 1 ? '' : 's'}`;
  return html`<li>
    ${collection !== undefined ? html`<a href=${placeHref([collection, id])}><${Visible} text=${collection + '/' + id} max=${200} /></a>` : `event ${item.event}`}
    ${' '}<strong>${write?.op ?? ''}</strong> <code>${seq}</code> <time class="quiet" datetime=${item.time}>${item.time}</time>
    ${write?.actor && html` by <${Visible} text=${write.actor} max=${80} />`}${write?.cause && html` <span class="quiet">because of <a href=${placeHref([write.cause.collection, write.cause.id])}><${Visible} text=${write.cause.collection + '/' + write.cause.id} max=${200} /></a></span>`}
    ${derived > 0 && html` <button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${name}</button>`}
    ${open && html`<div class="derived">
      ${derived > item.rows.length && html`<p class="quiet">${(derived - item.rows.length).toLocaleString('en')} of them are not kept here.</p>`}
      ${byRule(item.rows).map(([rule, rows]) => html`<${Rule} key=${rule} rule=${rule} rows=${rows} />`)}</div>`}
  </li>`;
}

/**
 * The derived changes of one rule, by document.
 * @param {{ rule: string, rows: import('../../lib/feed.js').Row[] }} props
 */
function Rule({ rule, rows }) {
  const [shown, setShown] = useState(FIRST);
  return html`<h3><${Visible} text=${rule} max=${200} />: ${rows.length.toLocaleString('en')}</h3>
    <ul>${rows.slice(0, shown).map((row) => html`<li key=${row.seq}><a href=${placeHref([row.collection, row.id])}><${Visible} text=${row.collection + '/' + row.id} max=${200} /></a> <${Patch} patch=${row.patch} max=${5} /></li>`)}</ul>
    ${rows.length > shown && html`<button type="button" onClick=${() => setShown(shown + FIRST)}>Show ${FIRST} more</button>`}`;
}
