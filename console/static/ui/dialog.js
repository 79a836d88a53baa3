import { html, useId, useLayoutEffect, useRef } from '../lib/html.js';

/**
 * A modal dialog. It takes the focus, which goes to what is marked by data-focus, keeps it, and gives it back to where it was. Escape closes it.
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
