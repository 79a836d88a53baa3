// One feed a tab, over the collections that are on the page. A hidden tab has none, and goes on by position when it is seen again.
import { follow } from './feed.js';
import { effect, signal, useEffect, useRef } from './html.js';
import { isLater, readers } from './http.js';

/** @typedef {import('./feed.js').Row} Row */

/**
 * @typedef {object} Watcher
 * @property {string[]} collections
 * @property {string} at what it has been told of
 * @property {(rows: Row[]) => void} take
 */

/**
 * How the feed stands: off, open, cut, or ended by a problem.
 * @typedef {{ state: 'off' | 'open' | 'cut' | 'ended', problem?: import('./http.js').Problem }} State
 */

/** @type {import('@preact/signals').Signal<State>} */
export const liveState = signal(/** @type {State} */ ({ state: 'off' }));

/** @type {Set<Watcher>} */
const watchers = new Set();

/** The connection, and how far it has read. @type {{ names: string, at: string, ending: AbortController } | null} */
let running = null;

let settling = false;

/**
 * Tells a component of the changes of collections after the position of what it shows, while it is on the page.
 * @param {string[]} collections
 * @param {string} since the position of the answer that is shown, empty as long as there is none
 * @param {(rows: Row[]) => void} take is given each row once, in order
 */
export function useLive(collections, since, take) {
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    if (since === '' || collections.length === 0) return undefined;
    const watcher = { collections, at: since, take: (/** @type {Row[]} */ rows) => latest.current(rows) };
    watchers.add(watcher);
    settle();
    return () => {
      watchers.delete(watcher);
      settle();
    };
  }, [collections.join(','), since]);
}

/** Ends the connection, and begins another where somebody watches. */
export function followAgain() {
  end();
  settle();
}

/** Looks at what is watched, once all components have said so: the connection stays where it serves them. */
function settle() {
  if (settling) return;
  settling = true;
  queueMicrotask(() => {
    settling = false;
    if (watchers.size === 0 || document.hidden) {
      end();
      liveState.value = { state: 'off' };
      return;
    }
    const names = [...new Set([...watchers].flatMap((w) => w.collections))].sort().join(',');
    const since = [...watchers].map((w) => w.at).reduce((a, b) => (isLater(a, b) ? b : a));
    if (running && running.names === names && !isLater(running.at, since)) return;
    end();
    begin(names, since);
  });
}

function end() {
  running?.ending.abort();
  running = null;
}

/**
 * @param {string} names
 * @param {string} since
 */
function begin(names, since) {
  const mine = { names, at: since, ending: new AbortController() };
  running = mine;
  follow({
    query: { collections: names, mode: 'all' },
    since,
    onRows: (rows) => {
      for (const w of watchers) tell(w, rows);
    },
    onPosition: (at) => {
      mine.at = at;
      for (const w of watchers) if (isLater(at, w.at)) w.at = at;
    },
    onState: (state, problem) => {
      liveState.value = { state, problem };
    },
    signal: mine.ending.signal,
  }).then((problem) => {
    if (!problem || running !== mine) return;
    running = null;
    liveState.value = { state: 'ended', problem };
  });
}

/**
 * @param {Watcher} watcher
 * @param {Row[]} rows
 */
function tell(watcher, rows) {
  const fresh = rows.filter((row) => watcher.collections.includes(row.collection) && isLater(row.seq, watcher.at));
  if (fresh.length) watcher.take(fresh);
}

document.addEventListener('visibilitychange', settle);
effect(() => {
  if (readers.value > 0) followAgain();
}); // the connection has the rights of the key that began it
