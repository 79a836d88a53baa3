import { html } from '../../lib/html.js';
import { DocumentLink } from '../../ui/link.js';
import { MoreList } from '../../ui/morelist.js';
import { Visible } from '../../ui/text.js';
import { Kind } from './kind.js';
import { kindOf } from './model.js';

/**
 * The derived values that the document does not have, each with its reason. There is nothing where it has all.
 * @param {{ lineage: any, model: any }} props
 */
export function Absent({ lineage, model }) {
  const absent = (lineage?.derived ?? []).filter((/** @type {any} */ v) => v.state === 'no value');
  const unguarded = lineage?.unguarded ?? [];
  return html`${absent.length > 0 && html`<section aria-label="Absent values"><h2>Without a value</h2>
      <${MoreList} label="Without a value" items=${absent} item=${(/** @type {any} */ v) => html`<code><${Visible} text=${v.path || v.rule} max=${300} /></code> <${Kind} kind=${kindOf(v, model)} />
        <div class="quiet">${v.hidden ? 'You may not read the collection that it would come from.' : html`<${Visible} text=${v.reason || 'No reason is known.'} max=${1000} />`}</div>
        ${(v.sources ?? []).slice(0, 3).map((/** @type {any} */ s) => html`<${DocumentLink} collection=${s.collection} id=${s.id} /> `)}`} /></section>`}
    ${unguarded.length > 0 && html`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${MoreList} label="Not compared as unique" items=${unguarded} item=${(/** @type {any} */ u) => html`<code><${Visible} text=${u.unique} max=${300} /></code> <div class="quiet"><${Visible} text=${u.reason} max=${1000} /></div>`} /></section>`}
    ${lineage?.more > 0 && html`<p class="quiet">${Number(lineage.more).toLocaleString('en')} more derived values are not listed.</p>`}`;
}
