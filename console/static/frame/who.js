import { html, useEffect, useState } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { forgetKey, key } from '../lib/key.js';
import { Visible } from '../ui/text.js';

/** Whom the server takes the reader for, and how to forget the key. */
export function Who() {
  const [me, setMe] = useState(/** @type {any} */ (null));
  const used = key.value;
  useEffect(() => {
    const ending = new AbortController();
    ask({ path: ['_me'], signal: ending.signal }).then(setMe, () => setMe(null));
    return () => ending.abort();
  }, [used]);
  const forget = () => {
    forgetKey();
    location.reload(); // so that nothing stays on the page that the key has let in
  };
  return html`<span class="who">${me?.name && html`<${Visible} text=${String(me.name)} max=${80} />`}${me?.open && 'open to everybody'}
    ${used !== '' && html` <button type="button" onClick=${forget}>Forget key</button>`}</span>`;
}
