import { html, useEffect, useRef } from '../../lib/html.js';
import { hasRole } from '../../lib/me.js';
import { leftOut, mayStore, moved, store, take } from '../../lib/moving.js';
import { counted } from '../../ui/amounts.js';
import { DropField } from '../../ui/dropfield.js';
import { Visible } from '../../ui/text.js';
import { Drift } from './drift.js';
import { FileToMove } from './file.js';
import { Proposal } from './proposal.js';

/** Files that are moved in: a look at each first, then what became of it, a model that is proposed, and which copies were wrong. */
export function ImportPage() {
  const files = moved.value;
  const stored = files.filter(({ phase }) => phase === 'stored');
  const storing = files.some(({ phase }) => phase === 'storing');
  const waiting = files.filter(({ phase }) => phase === 'looked').length;
  const done = useRef(/** @type {HTMLElement | null} */ (null));
  const all = files.length > 0 && stored.length === files.length;
  const was = useRef(all);
  useEffect(() => {
    if (all && !was.current) done.current?.focus();
    was.current = all;
  }, [all]);
  return html`${files.length === 0 && html`<p>Nothing was dropped yet.</p>`}
    ${leftOut.value && html`<p role="status"><${Visible} text=${leftOut.value} max=${2000} /></p>`}
    ${files.map((one) => html`<${FileToMove} key=${one.number} one=${one} storing=${storing} />`)}
    ${!all && files.length > 0 && html`<p class="actions"><button type="button" class="main" disabled=${!mayStore.value || storing} onClick=${store}>${`Import ${counted(waiting || files.length, 'file')}`}</button>
      <span role="status" class="quiet">${storing ? 'Storing. Leave this tab open.' : mayStore.value ? 'Nothing is stored yet.' : ''}</span></p>`}
    ${all && html`<p role="status" tabindex="-1" ref=${done}>${sentence(stored)}</p>
      ${hasRole('admin') ? html`<${Drift} key=${stored.map(({ number }) => number).join()} /><${Proposal} />` : html`<p>Whoever has the role <code>admin</code> can have a model proposed, and copies compared.</p>`}`}
    ${!storing && html`<${DropField} title=${files.length > 0 ? 'Drop more files here' : 'Drop your export here'} onFiles=${take} />`}`;
}

/** Says what became of all files. @param {import('../../lib/moving.js').Moved[]} stored */
const sentence = (stored) => `${counted(stored.reduce((sum, of) => sum + of.stored.written, 0), 'document')} stored, ${counted(stored.reduce((sum, of) => sum + of.stored.refused, 0), 'line')} refused.`;
