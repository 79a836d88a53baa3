import { html } from '../lib/html.js';
import { goTo, placeHref } from '../lib/place.js';
import { tellSaved } from '../lib/saved.js';
import { useWriting } from '../lib/writing.js';
import { Preview, WriteProblem } from './preview.js';

/**
 * What one can do with a document: a link to its editor, and a button that deletes it.
 * @param {{ collection: string, id: string, etag: string }} props etag of what is shown
 */
export function EditActions({ collection, id, etag }) {
  const writing = useWriting({ always: true, onDone: (written, effects) => {
    const href = placeHref([collection]);
    const others = (effects?.writes.length ?? 1) - 1;
    tellSaved({ href, what: `${collection}/${id} is deleted${others > 0 ? `, and ${others} more written` : ''}`, written });
    goTo(href);
  } });
  const { state } = writing;
  return html`<p class="actions"><a class="button" href=${placeHref([collection, id], { edit: '' })}>Edit</a>
      <button type="button" onClick=${() => writing.begin({ method: 'DELETE', path: [collection, id], headers: { 'If-Match': etag } })}>Delete</button>
      <span role="status" class="quiet">${state.phase === 'looking' && 'Looking at what it changes'}</span></p>
    <${Preview} title="What this delete changes" go="Delete now" keep="Keep it" writing=${writing} careful />
    ${state.phase === 'idle' && html`<${WriteProblem} state=${state} />`}`;
}
