// One feed a tab, over the collections that are on the page. A hidden tab has none, and goes on by position when it is seen again.
import { signal, useEffect, useRef } from './html.js';
import { follow } from './feed.js';

/** @typedef {import('./feed.js').Row} Row */

/**
 * @typedef {object} Watcher
 * @property {string[]} collections
 * @property {string} since
 * @property {(rows: Row[]) => void} take
 */

/** How the feed stands: off, open, cut, or ended by a problem. @type {import('@preact/signals').Signal<{ state: 'off' | 'open' | 'cut' | 'ended', problem?: import('./http.js').Problem }>} */
export const liveState = signal({ state: /** @type {'off'} */ ('off') });

/** @type {Set<Watcher>} */
const watchers = new Set();

/** @type {AbortController | null} */
let running = null;
let position = '';

/**
 * Tells a component of the changes of collections after the position of what it shows, while it is on the page.
 * @param {string[]} collections
 * @param {string} since the position of the answer that is shown, empty as long as there is none
 * @param {(rows: Row[]) => void} take is given each row once, in order, as long as since stays the same
 */
export function useLive(collections, since, take) {
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    if (since === '' || collections.length === 0) return undefined;
    const seen = new Set();
    const watcher = { collections, since, take: (/** @type {Row[]} */ rows) => {
      const fresh = rows.filter((row) => collections.includes(row.collection) && !seen.has(row.seq));
      for (const row of fresh) seen.add(row.seq);
      for (const seq of seen) { if (seen.size <= 2000) break; seen.delete(seq); }
      if (fresh.length) latest.current(fresh);
    } };
    watchers.add(watcher);
    position = since;
    restart();
    return () => { watchers.delete(watcher); restart(); };
  }, [collections.join(','), since]);
}

/** Begins anew with the collections of now, where somebody watches and the tab is seen. */
function restart() {
  running?.abort();
  running = null;
  if (watchers.size === 0 || document.hidden) {
    liveState.value = { state: 'off' };
    return;
  }
  const ending = new AbortController();
  running = ending;
  const names = [...new Set([...watchers].flatMap((w) => w.collections))].sort();
  follow({
    query: { collections: names.join(','), mode: 'all' },
    since: position,
    onRows: (rows) => { for (const w of watchers) w.take(rows); },
    onPosition: (at) => { if (running === ending) position = at; },
    onState: (state, problem) => { if (running === ending) liveState.value = { state, problem }; },
    signal: ending.signal,
  }).then((problem) => { if (problem && running === ending) liveState.value = { state: 'ended', problem }; });
}

document.addEventListener('visibilitychange', restart);
