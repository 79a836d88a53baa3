import { html, useId, useState } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { member, plain, textOf } from '../../json/value.js';
import { DocumentLink } from '../../ui/link.js';
import { Patch } from '../../ui/patch.js';
import { Visible } from '../../ui/text.js';
import { Time } from '../../ui/time.js';
import { Compare } from './compare.js';

/** @typedef {import('../../json/scan.js').Node} Node */

/**
 * A version of a document, as its history has it.
 * @typedef {object} VersionRow
 * @property {string} seq
 * @property {string} collection
 * @property {string} id
 * @property {string} op
 * @property {string} time
 * @property {string} rev
 * @property {string} actor
 * @property {any} cause of a derived change, or of one that another delete brought
 * @property {Node | undefined} patch
 */

/** @param {Node} node @returns {VersionRow} */
export function versionOf(node) {
  const text = (/** @type {string} */ name) => textOf(member(node, name)) ?? '';
  const cause = member(node, 'cause');
  return { seq: text('seq'), collection: text('collection'), id: text('id'), op: text('op'), time: text('time'), rev: member(node, 'rev')?.raw ?? '', actor: text('actor'), cause: cause && plain(cause), patch: member(node, 'patch') };
}

/**
 * One version: what it changed, and by whom; a link to it, what differs from now, and a way back.
 * @param {{ version: VersionRow, newest: boolean, revert: import('./revert.js').Reverting }} props
 */
export function Version({ version, newest, revert }) {
  const [compared, setCompared] = useState(false);
  const about = useId();
  const { seq, collection, id, op, time, actor, cause, patch } = version;
  const isThere = op !== 'delete' && op !== 'erase';
  return html`<li><header id=${about}><strong>${op}</strong> <code>${seq}</code> <span class="quiet"><${Time} text=${time} /></span>
      ${cause && html` <span>by <${DocumentLink} collection=${cause.collection} id=${cause.id} />${cause.rule && html` <span class="quiet">(<${Visible} text=${(cause.rules ?? [cause.rule]).join(', ')} max=${300} />)</span>`}</span>`}
      ${actor && html` <span>by <${Visible} text=${actor} max=${80} /></span>`}</header>
    ${patch ? html`<${Patch} patch=${patch} />` : isThere && html`<p class="quiet">What it changed is too long to be shown.</p>`}
    ${isThere && html`<p class="actions"><a href=${placeHref([collection, id], { at: seq })} aria-describedby=${about}>Show</a>
      ${!newest && html`<button type="button" class="small" aria-describedby=${about} aria-expanded=${compared} onClick=${() => setCompared(!compared)}>Compare with now</button>
        <button type="button" class="small" aria-describedby=${about} onClick=${() => revert.begin(seq)}>Revert</button>`}</p>
      ${compared && html`<${Compare} collection=${collection} id=${id} at=${seq} />`}`}
  </li>`;
}
