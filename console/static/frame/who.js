import { html, useEffect, useRef } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { forgetKey, key } from '../lib/key.js';
import { mayLeave, settled } from '../lib/leave.js';
import { me, readers } from '../lib/me.js';
import { forgetSavedByOthers } from '../lib/saved.js';
import { Visible } from '../ui/text.js';

/** Whom the server takes the reader for, and how to forget the key. */
export function Who() {
  const of = me.value;
  const used = key.value;
  const last = useRef(/** @type {any} */ (null));
  useEffect(() => {
    const ending = new AbortController();
    const take = async (/** @type {any} */ come) => {
      if (ending.signal.aborted) return;
      const before = last.current;
      last.current = come ?? before;
      me.value = come;
      if (!before || !come || before.name === come.name) return;
      await settled();
      if (!mayLeave()) return;
      forgetSavedByOthers();
      readers.value++;
    };
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
