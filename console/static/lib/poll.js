import { useEffect, useRef, useState } from './html.js';
import { asProblem } from './load.js';

/** @typedef {import('./http.js').Problem} Problem */

/** How long until something is asked again after a problem that passes, in milliseconds. */
const AFTER_PROBLEM = 5000;

/**
 * What is asked for again and again: the newest value, and the problem of the last try.
 * @template T
 * @typedef {{ value?: T, problem?: Problem, again: () => void }} Polled
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
    return () => { ending.abort(); clearTimeout(timer); document.removeEventListener('visibilitychange', seen); };
  }, deps);
  return { ...state, again: () => now.current() };
}
