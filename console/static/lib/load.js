import { useEffect, useState } from './html.js';
import { Problem } from './http.js';

/**
 * What a component has asked for: the value once it is there, or the problem. A value stays until the next one has come.
 * @template T
 * @typedef {{ value?: T, problem?: Problem, busy: boolean, again: () => void }} Loaded
 */

/**
 * Asks for something whenever deps change, and gives up what was asked before.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} fn
 * @param {any[]} deps
 * @returns {Loaded<T>}
 */
export function useLoad(fn, deps) {
  const [tries, setTries] = useState(0);
  const [state, setState] = useState(/** @type {{ value?: T, problem?: Problem, busy: boolean }} */ ({ busy: true }));
  useEffect(() => {
    const ending = new AbortController();
    setState((now) => ({ value: now.value, busy: true }));
    fn(ending.signal).then(
      (value) => { if (!ending.signal.aborted) setState({ value, busy: false }); },
      (error) => { if (!ending.signal.aborted) setState((now) => ({ value: now.value, problem: asProblem(error), busy: false })); },
    );
    return () => ending.abort();
  }, [...deps, tries]);
  return { ...state, again: () => setTries((n) => n + 1) };
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
