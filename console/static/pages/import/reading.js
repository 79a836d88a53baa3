import { html } from '../../lib/html.js';
import { read } from '../../lib/moving.js';

/**
 * How a file is read, for whoever knows better than the server.
 * @param {{ one: import('../../lib/moving.js').Moved, formats: Record<string, string> }} props formats are what formats are called
 */
export function HowItIsRead({ one: { number, reading, problem }, formats }) {
  const set = (/** @type {keyof import('../../lib/moving.js').Reading} */ name) => (/** @type {any} */ event) => read(number, { [name]: event.target.type === 'checkbox' ? event.target.checked : event.target.value });
  return html`<details open=${problem !== undefined}><summary>How it is read</summary>
    <form class="query" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <label>Format <select value=${reading.from} onChange=${set('from')}><option value="auto">as it looks</option>${Object.entries(formats).map(([name, what]) => html`<option value=${name}>${what}</option>`)}</select></label>
      <label>Member with the list of documents <input value=${reading.list} autocomplete="off" autocapitalize="off" spellcheck=${false} onInput=${set('list')} /></label>
      <label class="box"><input type="checkbox" checked=${reading.keepExtended} onChange=${set('keepExtended')} /> Keep values without a JSON form</label>
    </form>
    <p><label>Members with another name, as OLD=NEW, one a line <textarea rows="2" value=${reading.rename} autocomplete="off" autocapitalize="off" spellcheck=${false} onInput=${set('rename')} /></label></p>
    <p><label>Members to drop, one a line <textarea rows="2" value=${reading.drop} autocomplete="off" autocapitalize="off" spellcheck=${false} onInput=${set('drop')} /></label></p>
  </details>`;
}
