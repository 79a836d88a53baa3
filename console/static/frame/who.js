import { html, useEffect } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { forgetKey, key } from '../lib/key.js';
import { me } from '../lib/me.js';
import { Visible } from '../ui/text.js';

/** Whom the server takes the reader for, and how to forget the key. */
export function Who() {
  const of = me.value;
  const used = key.value;
  useEffect(() => {
    const ending = new AbortController();
    const take = (/** @type {any} */ come) => { if (!ending.signal.aborted) me.value = come; };
    ask({ path: ['_me'], signal: ending.signal }).then(take, () => take(null));
    return () => ending.abort();
  }, [used]);
  const forget = () => {
    forgetKey();
    location.reload(); // so that nothing stays on the page that the key has let in
  };
  return html`<span class="who">${of?.name && html`<${Visible} text=${String(of.name)} max=${80} />`}${of?.open && 'open to everybody'}
    ${used !== '' && html` <button type="button" onClick=${forget}>Forget key</button>`}</span>`;
}
