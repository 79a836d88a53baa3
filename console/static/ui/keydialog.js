import { html, useRef } from '../lib/html.js';
import { question, takeKey } from '../lib/key.js';
import { Dialog } from './dialog.js';

/** The dialog that asks for a key, while a request waits for one. */
export function KeyDialog() {
  const text = useRef(/** @type {HTMLInputElement | null} */ (null));
  const keep = useRef(/** @type {HTMLInputElement | null} */ (null));
  const asked = question.value;
  if (!asked) return null;
  const use = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!text.current?.value) return;
    takeKey(text.current.value.trim(), keep.current?.checked ?? false);
    asked.answer(true);
  };
  return html`<${Dialog} title="Key needed" onClose=${() => asked.answer(false)}>
    <form onSubmit=${use}>
      <p>${asked.refused ? 'The server does not take this key.' : 'The server lets nobody in without a key.'}</p>
      <p><label>Key <input ref=${text} type="password" autocomplete="off" spellcheck=${false} required pattern="\\s*[!-~]+\\s*" title="Keys have no blanks, and no characters beyond ASCII." /></label></p>
      <p><label><input ref=${keep} type="checkbox" /> Keep in this tab</label></p>
      <p class="actions"><button type="submit">Use key</button></p>
    </form>
  <//>`;
}
