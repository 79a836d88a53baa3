import { html, useEffect, useState } from '../lib/html.js';
import { addressOf } from '../lib/http.js';
import { key, keyHeaders } from '../lib/key.js';
import { hasRole, me } from '../lib/me.js';
import { askReady } from '../lib/ready.js';
import { Visible } from '../ui/text.js';

/** How long until the node is asked again, in milliseconds. A hidden tab does not ask. */
const EVERY = 10_000;

/**
 * How the node stands.
 * @typedef {object} Standing
 * @property {string} word ready or not, and why not
 * @property {string} [position]
 * @property {string} [lag]
 */

/** The line that says whether the node is ready, and why not. Whoever may know it sees its position and its lag. */
export function NodeLine() {
  const [of, setOf] = useState(/** @type {Standing} */ ({ word: 'asking the node' }));
  const used = key.value;
  const known = me.value;
  useEffect(() => {
    const ending = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const look = async () => {
      clearTimeout(timer);
      if (document.hidden) return;
      const now = await standing(ending.signal);
      if (ending.signal.aborted) return;
      setOf(now);
      clearTimeout(timer);
      timer = setTimeout(look, EVERY);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => { ending.abort(); clearTimeout(timer); document.removeEventListener('visibilitychange', look); };
  }, [used, known]);
  // Positions change all the time: a screen reader tells whether the node is ready, and no more.
  return html`<p role="status" aria-label="Node" aria-live="off"><span aria-live="polite"><${Visible} text=${of.word} max=${400} /></span>${of.position && html`, at <code>${of.position}</code>`}${of.lag && ', ' + of.lag}</p>`;
}

/**
 * Asks the node how it stands. A key that is refused here is not asked for: the page does that.
 * @param {AbortSignal} ending
 * @returns {Promise<Standing>}
 */
async function standing(ending) {
  const signal = AbortSignal.any([ending, AbortSignal.timeout(EVERY)]);
  try {
    if (hasRole('monitor')) {
      const response = await fetch(addressOf({ path: ['_status'] }), { headers: keyHeaders(), cache: 'no-store', signal });
      const of = await response.json();
      if (response.ok && of.nodes.find((/** @type {any} */ n) => n.self)?.ready) return { word: 'ready', position: of.position, lag: lagOf(of) };
    }
    const { ok, of, status } = await askReady(signal);
    const why = Array.isArray(of.problems) ? of.problems.map((/** @type {any} */ p) => p.detail ?? p).join('; ') : '';
    return { word: ok ? 'ready' : 'not ready: ' + (why || of.detail || of.title || status) };
  } catch {
    return { word: 'the server cannot be reached' };
  }
}

/** Says how much of the log is yet to be read. @param {any} of */
function lagOf({ lag, lagSeconds }) {
  if (typeof lag !== 'number') return 'lag unknown';
  const seconds = typeof lagSeconds === 'number' && lagSeconds > 0 ? `, ${lagSeconds.toFixed(1)} s` : '';
  return lag === 0 && seconds === '' ? 'no lag' : `lag ${lag.toLocaleString('en')} event${lag === 1 ? '' : 's'}${seconds}`;
}
