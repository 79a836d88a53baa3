import { html, useLayoutEffect } from '../../lib/html.js';

/**
 * The text box of a document. It takes the focus, and Tab leaves it. What is typed stays in it, whatever else the page shows.
 * @param {{ box: { current: HTMLTextAreaElement | null }, initial: string, wrong: boolean, focus: boolean, onInput?: () => void }} props wrong says that a message below is about it
 */
export function TextBox({ box, initial, wrong, focus, onInput }) {
  useLayoutEffect(() => {
    if (!focus) return;
    box.current?.focus();
    box.current?.setSelectionRange(0, 0);
  }, []);
  const rows = Math.min(36, Math.max(12, initial.split('\n', 40).length + 1));
  return html`<textarea class="document" aria-label="Document" ref=${box} defaultValue=${initial} rows=${rows} onInput=${onInput} spellcheck=${false} autocomplete="off" autocapitalize="off"
    aria-invalid=${wrong ? 'true' : undefined} aria-describedby=${wrong ? 'mistakes' : undefined}></textarea>`;
}
