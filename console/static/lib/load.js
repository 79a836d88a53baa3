import { useLayoutEffect, useRef, useState } from './html.js';
import { Problem } from './http.js';

/**
 * What a component has asked for: the value once it is there, or the problem. A value stays until the next one has come.
 * @template T
 * @typedef {{ value?: T, problem?: Problem, busy: boolean, again: () => void }} Loaded
 */

/** The first and the longest pause before what has failed for now is asked for again, in milliseconds. */
const PAUSES = { first: 1000, longest: 10_000 };

/**
 * Asks for something whenever deps change, and gives up what was asked before. A problem that passes is tried again by itself,
 * while the tab is seen.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} fn
 * @param {any[]} deps
 * @returns {Loaded<T>}
 */
export function useLoad(fn, deps) {
  const [tries, setTries] = useState(0);
  const [state, setState] = useState(/** @type {{ value?: T, problem?: Problem, busy: boolean }} */ ({ busy: true }));
  const pause = useRef(PAUSES.first);
  useLayoutEffect(() => { // an effect would ask only once the page is painted without it
    const ending = new AbortController();
    // A problem that passes stays until something else is known, or a screen reader would tell it with each try.
    setState((now) => ({ value: now.value, problem: now.problem?.passing ? now.problem : undefined, busy: true }));
    fn(ending.signal).then(
      (value) => {
        if (ending.signal.aborted) return;
        pause.current = PAUSES.first;
        setState({ value, busy: false });
      },
      (error) => {
        if (ending.signal.aborted) return;
        const problem = asProblem(error);
        setState((now) => ({ value: now.value, problem, busy: false }));
        if (!problem.passing) return;
        whenSeen(pause.current, ending.signal, () => setTries((n) => n + 1));
        pause.current = Math.min(2 * pause.current, PAUSES.longest);
      },
    );
    return () => ending.abort();
  }, [...deps, tries]);
  return { ...state, again: () => setTries((n) => n + 1) };
}

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
