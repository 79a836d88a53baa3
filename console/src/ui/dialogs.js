import { html, useId, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { question, takeKey } from '../lib/http.js';
import { Visible } from './parts.js';

/** @typedef {import('../lib/http.js').Problem} Problem */

/**
 * A modal dialog. It takes the focus, which goes to what is marked by data-focus, keeps it, and gives it back to where it was. Escape
 * closes it.
 * @param {{ title: string, onClose: () => void, children: any, closable?: boolean }} props closable is false where Escape does nothing
 */
export function Dialog({ title, onClose, children, closable = true }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  // At once, and not after the paint: whoever sees that the dialog has gone finds the focus where it was.
  useLayoutEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    const dialog = /** @type {HTMLDialogElement} */ (ref.current);
    dialog.showModal();
    /** @type {HTMLElement | null} */ (dialog.querySelector('[data-focus]'))?.focus();
    return () => {
      dialog.close(); // nothing outside of it takes the focus before
      if (before?.isConnected) before.focus();
    };
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (closable) onClose();
  };
  // A browser closes a dialog without a question when Escape comes twice.
  const closed = () => {
    if (!ref.current) return; // it has gone
    if (closable) onClose();
    else ref.current.showModal();
  };
  return html`<dialog ref=${ref} aria-labelledby=${id} onCancel=${cancel} onClose=${closed}><h2 id=${id}>${title}</h2>${children}</dialog>`;
}

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
      <p><label>Type <b>${name}</b> to confirm <input data-focus autocomplete="off" autocapitalize="off" spellcheck=${false} size="12"
        value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label></p>
      <p class="actions"><button type="submit" class="main" disabled=${!sure}>${name}</button> <button type="button"
        onClick=${onClose}>Cancel</button></p>
    </form>
  <//>`;
}

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
      <p><label>Key <input ref=${text} type="password" autocomplete="off" spellcheck=${false} required pattern="\\s*[!-~]+\\s*"
        title="Keys have no blanks, and no characters beyond ASCII." /></label></p>
      <p><label><input ref=${keep} type="checkbox" /> Keep in this tab</label></p>
      <p class="actions"><button type="submit">Use key</button></p>
    </form>
  <//>`;
}

/**
 * A problem as an alert: what is wrong, what to do, and a button to try again. One that passes is told in a line.
 * @param {{ problem: Problem | undefined, again?: () => void, asked?: boolean, children?: any }} props again of a problem that passes is
 * called without the
 *   button, too, unless asked says that nobody but the reader calls it
 */
export function ProblemAlert({ problem, again, asked = false, children }) {
  if (!problem) return null;
  if (problem.passing && again && !asked) {
    return html`<div role="alert" class="problem"><strong><${Visible} text=${problem.title} /></strong>
      ${problem.detail && html`: <${Visible} text=${problem.detail} max=${300} />`}
      ${' '}It is tried again by itself, and what is shown stays. <button type="button" onClick=${again}>Try again</button>${children}
        </div>`;
  }
  const list = /** @type {any[]} */ (Array.isArray(problem.of.problems) ? problem.of.problems : []).slice(0, 100);
  return html`<div role="alert" class="problem">
    <strong><${Visible} text=${problem.title} /></strong>
    ${problem.detail && html`<p><${Visible} text=${problem.detail} max=${4000} /></p>`}
    ${
      list.length > 0 &&
      html`<ul>${list.map(
        (p) =>
          html`<li>${
            p.path &&
            html`<code><${Visible} text=${String(p.path)} max=${200} />
      </code> `
          }<${Visible} text=${String(p.detail ?? '')} max=${1000} /></li>`,
      )}</ul>`
    }
    ${children}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}
