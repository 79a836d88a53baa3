import { html, signal, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { addressOf, ask, askReady, forgetKey, hasRole, key, keyHeaders, me, readers } from '../lib/http.js';
import { forgetSavedByOthers, mayLeave, settled } from '../lib/place.js';
import { Visible } from '../ui/parts.js';

/** How long until the node is asked again, in milliseconds. A hidden tab does not ask. */
const EVERY = 10_000;

/**
 * How the node stands.
 * @typedef {object} Standing
 * @property {string} word ready or not, and why not
 * @property {string} [position]
 * @property {string} [lag]
 * @property {Need[]} [needs] for whoever may know it
 * @property {boolean} [unreachable]
 */

/** What of a store needs somebody's attention, as its status has it. @typedef {{ what: string, detail: string, place?: string }} Need */

/**
 * What needs attention, null where the reader may not know it, or nobody knows yet.
 * @type {import('@preact/signals').Signal<Need[] | null>}
 */
export const needs = signal(null);

/** How often somebody has come who wants to know now what needs attention. */
export const looks = signal(0);

/** The line that says whether the node is ready, and why not. Whoever may know it sees its position and its lag. */
export function NodeLine() {
  const [of, setOf] = useState(/** @type {Standing} */ ({ word: 'asking the node' }));
  const used = key.value;
  const known = me.value;
  useLayoutEffect(() => {
    const ending = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const look = async () => {
      clearTimeout(timer);
      if (document.hidden) return;
      const now = await standing(ending.signal);
      if (ending.signal.aborted) return;
      setOf(now);
      if (!now.unreachable) needs.value = now.needs ?? null;
      else needs.value = [UNREACHABLE, ...(needs.value ?? []).filter((one) => one !== UNREACHABLE)];
      clearTimeout(timer);
      timer = setTimeout(look, EVERY);
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [used, known, looks.value]);
  // Positions change all the time: a screen reader tells whether the node is ready, and no more.
  return html`<p role="status" aria-label="Node" aria-live="off" title=${of.position && 'at ' + of.position}><span
    aria-live="polite"><${Visible} text=${of.word} max=${400} /></span>${of.lag && ', ' + of.lag}</p>`;
}

/** @type {Need} */
const UNREACHABLE = { what: 'The server cannot be reached', detail: '' };

/**
 * Asks the node how it stands. A key that is refused here is not asked for: the page does that.
 * @param {AbortSignal} ending
 * @returns {Promise<Standing>}
 */
async function standing(ending) {
  const signal = AbortSignal.any([ending, AbortSignal.timeout(EVERY)]);
  /** @type {Need[] | undefined} */
  let needs;
  try {
    if (hasRole('monitor')) {
      const response = await fetch(addressOf({ path: ['_status'] }), { headers: keyHeaders(), cache: 'no-store', signal });
      const of = await response.json();
      if (response.ok) needs = of.needs ?? [];
      if (response.ok && of.nodes.find((/** @type {any} */ n) => n.self)?.ready)
        return { word: 'ready', position: of.position, lag: lagOf(of), needs };
    }
    const { ok, of, status } = await askReady(signal);
    const why = Array.isArray(of.problems) ? of.problems.map((/** @type {any} */ p) => p.detail ?? p).join('; ') : '';
    return { word: ok ? 'ready' : 'not ready: ' + (why || of.detail || of.title || status), needs };
  } catch {
    return { word: 'the server cannot be reached', unreachable: true };
  }
}

/** Says how much of the log is yet to be read. @param {any} of */
function lagOf({ lag, lagSeconds }) {
  if (typeof lag !== 'number') return 'lag unknown';
  const seconds = typeof lagSeconds === 'number' && lagSeconds > 0 ? `, ${lagSeconds.toFixed(1)} s` : '';
  return lag === 0 && seconds === '' ? 'no lag' : `lag ${lag.toLocaleString('en')} event${lag === 1 ? '' : 's'}${seconds}`;
}

/** Whom the server takes the reader for, and how to forget the key. */
export function Who() {
  const of = me.value;
  const used = key.value;
  const last = useRef(/** @type {any} */ (null));
  // What the page shows follows from it, so it is asked together with the page's own question, and not after the paint.
  useLayoutEffect(() => {
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
  return html`<p class="who">${of?.name && html`<${Visible} text=${String(of.name)} max=${80} />`}${of?.open && 'nobody needs a key'}
    ${used !== '' && html` <button type="button" class="small" onClick=${forget}>Forget key</button>`}</p>`;
}
