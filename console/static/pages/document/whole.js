import { html } from '../../lib/html.js';
import { LongText } from '../../ui/longtext.js';

/**
 * A document that is too long for a view, as text in pieces and as a file.
 * @param {{ text: string, name: string }} props name is that of the file
 */
export function WholeText({ text, name }) {
  const download = () => {
    const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  };
  return html`<p>The document has ${text.length.toLocaleString('en')} characters, and is shown as text. <button type="button" onClick=${download}>Download</button></p>
    <div class="json whole"><${LongText} text=${text} of="the document" first=${10_000} /></div>`;
}
