import { html, useState } from '../lib/html.js';
import { Dialog } from './dialog.js';

/**
 * A dialog that does something once its name is typed. Escape does nothing of it.
 * @param {{ name: string, title?: string, onGo: () => void, onClose: () => void, children?: any }} props name is that of the button, too
 */
export function Confirm({ name, title = name, onGo, onClose, children }) {
  const [typed, setTyped] = useState('');
  const sure = typed.trim().toLowerCase() === name.toLowerCase();
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (sure) onGo();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      ${children}
      <p><label>Type <b>${name}</b> to confirm <input data-focus autocomplete="off" autocapitalize="off" spellcheck=${false} size="12" value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label></p>
      <p class="actions"><button type="submit" class="main" disabled=${!sure}>${name}</button> <button type="button" onClick=${onClose}>Cancel</button></p>
    </form>
  <//>`;
}
