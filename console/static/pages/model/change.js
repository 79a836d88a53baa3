import { useEffect, useRef, useState } from '../../lib/html.js';
import { asProblem } from '../../lib/load.js';
import { runWork } from '../../lib/work.js';

/** @typedef {import('../../lib/work.js').Work} Work */

/**
 * What was previewed: the text of a model against the model of an entity tag, and what it would do.
 * @typedef {{ text: string, etag: string, preview: any }} Previewed
 */

/**
 * How a change of the model stands.
 * @typedef {object} State
 * @property {'idle' | 'merging' | 'previewing' | 'applying'} phase
 * @property {Work} [work] how far it is, where it takes long
 * @property {Previewed} [previewed]
 * @property {import('../../lib/http.js').Problem} [problem] of what was done last
 * @property {string} [text] that the problem is about
 * @property {any} [applied] the summary of what was applied
 */

/**
 * Previews texts and parts of a model, and applies the text that was previewed.
 * @param {{ onApplied: (text: string) => void, onStale: () => void }} props onApplied is called where the text applies, or is being
 *   prepared; onStale where another model applies than was named
 */
export function useChange({ onApplied, onStale }) {
  const [state, setState] = useState(/** @type {State} */ ({ phase: 'idle' }));
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);

  /**
   * @param {'merging' | 'previewing' | 'applying'} phase
   * @param {Previewed} of its text is a patch where it is to be merged
   * @param {(done: import('../../lib/work.js').Done) => void} take
   */
  const run = async (phase, { text, etag, preview }, take) => {
    ending.current.abort();
    const mine = new AbortController();
    ending.current = mine;
    const kept = phase === 'applying' ? { text, etag, preview } : undefined;
    setState({ phase, previewed: kept });
    try {
      const [method, type] = phase === 'merging' ? ['PATCH', 'application/merge-patch+json'] : ['PUT', 'application/yaml'];
      const asked = { method, path: ['_model'], query: kept ? {} : { dryRun: true }, headers: { 'Content-Type': type, 'If-Match': etag }, body: text };
      const onWork = (/** @type {Work} */ work) => { if (!mine.signal.aborted) setState((now) => ({ ...now, work })); };
      const done = await runWork(asked, { signal: mine.signal, onWork, ends: !kept });
      if (!mine.signal.aborted) take(done);
    } catch (error) {
      if (mine.signal.aborted) return;
      const problem = asProblem(error);
      setState({ phase: 'idle', problem, text, previewed: problem.status === 412 ? undefined : kept });
      if (problem.status === 412) onStale();
    }
  };

  return {
    state,
    preview: (/** @type {string} */ text, /** @type {string} */ etag) => run('previewing', { text, etag, preview: null }, ({ body }) => setState({ phase: 'idle', previewed: { text, etag, preview: body } })),
    /** Has the API put a patch into the model, and previews the text that comes of it. */
    merge: (/** @type {string} */ patch, /** @type {string} */ etag, /** @type {(text: string) => void} */ take) => run('merging', { text: patch, etag, preview: null }, ({ body }) => {
      setState({ phase: 'idle', previewed: { text: body.merged, etag, preview: body } });
      take(body.merged);
    }),
    apply: () => state.previewed && run('applying', state.previewed, ({ body }) => {
      setState({ phase: 'idle', applied: body ?? {} });
      if (state.previewed) onApplied(state.previewed.text);
    }),
    stop: () => { ending.current.abort(); setState({ phase: 'idle' }); },
    forget: () => setState((now) => (now.phase === 'idle' && (now.previewed || now.problem) ? { phase: 'idle' } : now)),
  };
}
