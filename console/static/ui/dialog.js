import { html, useEffect, useId, useRef } from '../lib/html.js';

/**
 * A modal dialog. It takes the focus, which goes to what is marked by data-focus, keeps it, and gives it back to where it was. Escape closes it.
 * @param {{ title: string, onClose: () => void, children: any, closable?: boolean }} props closable is false where Escape does nothing
 */
export function Dialog({ title, onClose, children, closable = true }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    ref.current?.showModal();
    /** @type {HTMLElement | null | undefined} */ (ref.current?.querySelector('[data-focus]'))?.focus();
    return () => before?.isConnected && before.focus();
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (closable) onClose();
  };
  // A browser closes a dialog without a question when Escape comes twice.
  const closed = () => {
    if (closable) onClose();
    else ref.current?.showModal();
  };
  return html`<dialog ref=${ref} aria-labelledby=${id} onCancel=${cancel} onClose=${closed}><h2 id=${id}>${title}</h2>${children}</dialog>`;
}
