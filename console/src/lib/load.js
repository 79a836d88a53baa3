import { follow } from './feed.js';
import { effect, signal, useEffect, useLayoutEffect, useRef, useState } from './html.js';
import { Problem, ask, isLater, readers, request } from './http.js';
import { plain, scan } from './json.js';

/**
 * What a component has asked for: the value once it is there, or the problem. A value stays until the next one has come. It is stale
 * while it answers another question than the one that is asked now. cancel gives the question up.
 * @template T
 * @typedef {{ value?: T, problem?: Problem, busy: boolean, stale: boolean, again: () => void, cancel: () => void }} Loaded
 */

/** The first and the longest pause before what has failed for now is asked for again, in milliseconds. */
const PAUSES = { first: 1000, longest: 10_000 };

/**
 * Asks for something whenever deps change, and gives up what was asked before. A problem that passes is tried again by itself,
 * while the tab is seen. Where cancel was called, the question that the value answers is not asked once more.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} fn
 * @param {any[]} deps
 * @returns {Loaded<T>}
 */
export function useLoad(fn, deps) {
  const [tries, setTries] = useState(0);
  const [state, setState] = useState(/** @type {{ value?: T, of?: any[], problem?: Problem, busy: boolean }} */ ({ busy: true }));
  const pause = useRef(PAUSES.first);
  const asking = useRef(/** @type {AbortController | null} */ (null));
  const cancelled = useRef(false);
  const isOf = (/** @type {any[] | undefined} */ of) => of !== undefined && of.every((value, i) => Object.is(value, deps[i]));
  useLayoutEffect(() => {
    // an effect would ask only once the page is painted without it
    const ending = new AbortController();
    const isKnown = cancelled.current && isOf(state.of);
    cancelled.current = false;
    if (isKnown) {
      setState((now) => ({ value: now.value, of: now.of, busy: false }));
      return undefined;
    }
    asking.current = ending;
    // A problem that passes stays until something else is known, or a screen reader would tell it with each try.
    setState((now) => ({ ...now, problem: now.problem?.passing ? now.problem : undefined, busy: true }));
    fn(ending.signal).then(
      (value) => {
        if (ending.signal.aborted) return;
        pause.current = PAUSES.first;
        setState({ value, of: deps, busy: false });
      },
      (error) => {
        if (ending.signal.aborted) return;
        const problem = asProblem(error);
        setState((now) => ({ ...now, problem, busy: false }));
        if (!problem.passing) return;
        whenSeen(pause.current, ending.signal, () => setTries((n) => n + 1));
        pause.current = Math.min(2 * pause.current, PAUSES.longest);
      },
    );
    return () => ending.abort();
  }, [...deps, tries]);
  const again = () => {
    cancelled.current = false;
    setTries((n) => n + 1);
  };
  const cancel = () => {
    asking.current?.abort();
    cancelled.current = true;
    setState((now) => ({ ...now, busy: false, problem: isOf(now.of) ? undefined : givenUp() }));
  };
  const { value, problem, busy } = state;
  return { value, problem, busy, stale: state.of !== undefined && !isOf(state.of), again, cancel };
}

/** What stands in the place of an answer that the reader does not wait for. */
export const givenUp = () => new Problem(0, { title: 'Cancelled', detail: 'The answer was not waited for.' });

/**
 * Calls a function after a while, and once the tab is seen.
 * @param {number} ms
 * @param {AbortSignal} signal ends it
 * @param {() => void} then
 */
function whenSeen(ms, signal, then) {
  const timer = setTimeout(() => {
    if (!document.hidden) then();
    else document.addEventListener('visibilitychange', then, { once: true, signal });
  }, ms);
  signal.addEventListener('abort', () => clearTimeout(timer));
}

/**
 * Returns an error as a problem. Errors of the console itself are shown, too, and written to the browser's log.
 * @param {any} error
 */
export function asProblem(error) {
  if (error instanceof Problem) return error;
  console.error(error);
  return new Problem(0, { title: 'The console failed', detail: String(error?.message ?? error) });
}

/** How long until something is asked again after a problem that passes, in milliseconds. */
const AFTER_PROBLEM = 5000;

/**
 * What is asked for again and again: the newest value, and the problem of the last try.
 * @template T
 * @typedef {{ value?: T, problem?: Problem, again: () => void, cancel: () => void }} Polled
 */

/**
 * Asks for something now, and again after a pause, one request at a time. A hidden tab asks for nothing.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} fn
 * @param {any[]} deps begin anew
 * @param {(value: T) => number} pauseOf returns milliseconds, Infinity where it ends
 * @returns {Polled<T>}
 */
export function usePolled(fn, deps, pauseOf) {
  const [state, setState] = useState(/** @type {{ value?: T, problem?: Problem }} */ ({}));
  const latest = useRef({ fn, pauseOf });
  latest.current = { fn, pauseOf };
  const now = useRef(() => {});
  useEffect(() => {
    const ending = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let due = 0;
    let busy = false;
    const plan = (/** @type {number} */ pause) => {
      clearTimeout(timer);
      due = performance.now() + pause;
      if (!document.hidden && !busy && pause !== Infinity) timer = setTimeout(look, pause);
    };
    const look = async () => {
      busy = true;
      due = Infinity;
      let pause = Infinity;
      try {
        const value = await latest.current.fn(ending.signal);
        if (ending.signal.aborted) return;
        setState({ value });
        pause = latest.current.pauseOf(value);
      } catch (error) {
        if (ending.signal.aborted) return;
        const problem = asProblem(error);
        setState((before) => ({ value: before.value, problem }));
        if (problem.passing) pause = AFTER_PROBLEM;
      }
      busy = false;
      plan(Math.min(pause, Math.max(0, due - performance.now())));
    };
    now.current = () => plan(0);
    const seen = () => plan(Math.max(0, due - performance.now()));
    document.addEventListener('visibilitychange', seen);
    setState({});
    plan(0);
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, deps);
  // The answer is taken where it comes after all: nothing else is asked in its stead.
  const cancel = () => setState((before) => ({ ...before, problem: givenUp() }));
  return { ...state, again: () => now.current(), cancel };
}

// Work that takes long: it goes on in the background, and is asked for until it is done.

/** After so many seconds the work goes on in the background, and so often it is asked for, in milliseconds. */
const WAIT = 2;
const EVERY = 500;

/** @typedef {{ phase: string, done: number, total: number }} Work */

/**
 * @typedef {object} Done
 * @property {number} status
 * @property {(name: string) => string} header returns a header of the answer, empty where it has none
 * @property {any} body
 */

/**
 * Sends a request for work that may take long, and returns its answer.
 * @param {import('./http.js').Asked} asked
 * @param {{ signal: AbortSignal, onWork: (work: Work) => void, ends: boolean }} of onWork is told how far it is; ends says that the
 *   work ends with the signal
 * @returns {Promise<Done>}
 * @throws {Problem}
 */
export async function runWork(asked, { signal, onWork, ends }) {
  const { status, headers, text } = await request({
    ...asked,
    headers: { ...asked.headers, Prefer: `respond-async, wait=${WAIT}` },
    signal,
  });
  const location = headers.get('Location') ?? '';
  if (status !== 202 || !location.includes('/_work/'))
    return { status, header: (name) => headers.get(name) ?? '', body: text === '' ? null : plain(scan(text)) };
  const path = ['_work', location.slice(location.lastIndexOf('/') + 1)];
  try {
    for (;;) {
      const work = await ask({ path, signal });
      if (work.status >= 400) throw new Problem(work.status, work.result ?? {}, new Headers(work.headers ?? {}));
      if (work.status !== undefined) return { status: work.status, header: (name) => headerOf(work.headers, name), body: work.result };
      onWork(work);
      await new Promise((resolve) => setTimeout(resolve, EVERY));
      signal.throwIfAborted();
    }
  } catch (error) {
    if (signal.aborted && ends) request({ method: 'DELETE', path }).catch(() => {}); // it ended, or ends by itself
    throw error;
  }
}

/**
 * @param {Record<string, string> | undefined} headers
 * @param {string} name
 */
const headerOf = (headers, name) => Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1] ?? '';

// One feed a tab, over the collections that are on the page. A hidden tab has none, and goes on by position when it is seen again.

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
