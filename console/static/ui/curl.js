import { html, useState } from '../lib/html.js';
import { curlOf } from '../lib/http.js';
import { Visible } from './text.js';

/**
 * A button that copies the command that sends the request behind a page. Where the clipboard is not to be had, the command is shown.
 * @param {{ asked: import('../lib/http.js').Asked }} props
 */
export function CopyAsCurl({ asked }) {
  const [said, setSaid] = useState('');
  const text = curlOf(asked);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied.');
    } catch {
      setSaid(text);
    }
  };
  return html`<p class="curl"><button type="button" onClick=${copy}>Copy as curl</button> <span role="status">${said && html`<code><${Visible} text=${said} /></code>`}</span></p>`;
}
