import { html, useEffect, useId, useRef } from '../lib/html.js';

/**
 * A modal dialog. It takes the focus, keeps it, and gives it back to where it was. Escape closes it.
 * @param {{ title: string, onClose: () => void, children: any, closable?: boolean }} props closable is false where Escape does nothing
 */
export function Dialog({ title, onClose, children, closable = true }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    ref.current?.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (closable) onClose();
  };
  return html`<dialog ref=${ref} aria-labelledby=${id} onCancel=${cancel}><h2 id=${id}>${title}</h2>${children}</dialog>`;
}
