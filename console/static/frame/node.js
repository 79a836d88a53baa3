import { html, useEffect, useState } from '../lib/html.js';
import { key } from '../lib/key.js';
import { askReady } from '../lib/ready.js';

/** How long until the node is asked again, in milliseconds. A hidden tab does not ask. */
const EVERY = 10_000;

/** The line that says whether the node is ready, and why not. */
export function NodeLine() {
  const [said, setSaid] = useState('asking the node');
  const used = key.value;
  useEffect(() => {
    let ended = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const look = async () => {
      clearTimeout(timer);
      if (!document.hidden) {
        const text = await stateOf();
        if (!ended) setSaid(text);
      }
      if (!ended) timer = setTimeout(look, EVERY);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => { ended = true; clearTimeout(timer); document.removeEventListener('visibilitychange', look); };
  }, [used]);
  return html`<p role="status" aria-label="Node">${said}</p>`;
}

/** Asks the node how it stands, in words. */
async function stateOf() {
  try {
    const { ok, status, of } = await askReady();
    return ok ? 'ready' + more(of) : 'not ready: ' + String(of.detail ?? of.title ?? status);
  } catch {
    return 'the server cannot be reached';
  }
}

/** @param {any} of */
const more = (of) => (of.position ? `, at ${of.position}` : '') + (typeof of.lag === 'number' ? `, ${of.lag} events behind` : '');
