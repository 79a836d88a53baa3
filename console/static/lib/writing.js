import { useEffect, useRef, useState } from './html.js';
import { Problem } from './http.js';
import { onItsWay } from './leave.js';
import { asProblem } from './load.js';
import { effectsOf, fanoutLimit, isUnknown, mayRepeat, newKey, write } from './write.js';

/** @typedef {import('./http.js').Asked} Asked */

/**
 * How a write stands: nothing is going on; its effects are asked for; they are shown, and wait for an answer; it is being sent.
 * @typedef {object} State
 * @property {'idle' | 'looking' | 'asking' | 'sending'} phase
 * @property {import('./write.js').Effects} [effects] that are shown
 * @property {boolean} [past] they are more than the model lets one write cause
 * @property {Problem} [problem] of what was done last
 * @property {boolean} [unknown] nobody knows whether it was written
 * @property {() => void} [again] does it once more
 */

/**
 * @typedef {object} Writing
 * @property {State} state
 * @property {(asked: Asked) => void} begin asks for the effects of a write
 * @property {(allowFanout: boolean) => void} go sends it
 * @property {() => void} stop gives it up, and what was shown of it
 */

/** Above so many derived changes nobody writes by a key that was pressed too fast. */
export const MANY = 10_000;

/**
 * Writes after a look at the effects.
 * @param {{ always?: boolean, onDone: (written: import('./write.js').Written, effects?: import('./write.js').Effects) => void, onStale?: (problem: Problem) => void }} props
 *   always asks even where nothing derived would change, and shows who restricts a delete; onDone is given what was written, and what was
 *   told of it before; onStale is called where the document is at another revision
 * @returns {Writing}
 */
export function useWriting({ always = false, onDone, onStale }) {
  const [state, setState] = useState(/** @type {State} */ ({ phase: 'idle' }));
  const current = useRef({ ending: new AbortController(), asked: /** @type {Asked} */ ({ path: [] }), key: '', sending: false });
  const calls = useRef({ onDone, onStale });
  calls.current = { onDone, onStale };
  useEffect(() => () => current.current.ending.abort(), []);

  /** @param {Asked} asked */
  const begin = (asked) => { onItsWay(look(asked)); };

  /** @param {Asked} asked */
  const look = async (asked) => {
    if (current.current.sending) return; // a second click must not be a second write
    current.current.ending.abort();
    const ending = new AbortController();
    current.current = { ending, asked, key: newKey(), sending: false };
    setState({ phase: 'looking' });
    try {
      const effects = await effectsOf(asked, ending.signal);
      const limit = effects.derived > 0 ? await fanoutLimit(ending.signal) : undefined;
      if (ending.signal.aborted) return;
      if (always || effects.derived > 0 || effects.writes.length > 1) setState({ phase: 'asking', effects, past: limit !== undefined && effects.derived > limit });
      else await send(undefined, false);
    } catch (error) {
      if (!ending.signal.aborted) refused(asProblem(error), { phase: 'idle' }, () => begin(asked));
    }
  };

  /**
   * @param {State | undefined} shown the dialog it comes from
   * @param {boolean} allowFanout
   */
  const send = async (shown, allowFanout) => {
    if (current.current.sending) return;
    current.current.sending = true;
    const { asked, key } = current.current;
    setState({ ...shown, phase: 'sending', problem: undefined });
    try {
      const written = await write(asked, key, allowFanout);
      setState({ phase: 'idle' });
      calls.current.onDone({ ...written, derived: written.derived ?? shown?.effects?.derived }, shown?.effects); // the look ahead counted what the reader may see
    } catch (error) {
      const problem = asProblem(error);
      const back = shown ? { ...shown, phase: /** @type {const} */ ('asking') } : { phase: /** @type {const} */ ('idle') };
      if (problem.kind === 'fanout-limit' && shown) setState({ ...back, past: true, problem });
      else refused(problem, back, () => { onItsWay(send(shown, allowFanout)); }, isUnknown(problem));
    } finally {
      current.current.sending = false;
    }
  };

  /**
   * @param {Problem} problem
   * @param {State} back
   * @param {() => void} again
   */
  const refused = (problem, back, again, unknown = false) => {
    if (problem.status === 412 && calls.current.onStale) {
      setState({ phase: 'idle' });
      calls.current.onStale(problem);
      return;
    }
    const phase = always && problem.kind === 'restricted' ? 'asking' : back.phase;
    setState({ ...back, phase, problem, again: mayRepeat(problem) ? again : undefined, unknown });
  };

  return {
    state,
    begin,
    go: (allowFanout) => { onItsWay(send(state, allowFanout)); },
    stop: () => { current.current.ending.abort(); setState({ phase: 'idle' }); },
  };
}
