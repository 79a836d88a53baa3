import { html, useRef, useState } from '../lib/html.js';
import { Problem, request } from '../lib/http.js';
import { read } from '../lib/json.js';
import { differences } from '../lib/jsontext.js';
import { useLoad } from '../lib/load.js';
import { useWriting } from '../lib/write.js';
import { Difference } from '../ui/changes.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { PastProblem } from '../ui/past.js';
import { Preview, WriteProblem } from '../ui/preview.js';

/** How many differences are shown at first. */
const STEP = 50;

/**
 * What differs between a document as it was and as it is now.
 * @param {{ collection: string, id: string, at: string }} props
 */
export function Compare({ collection, id, at }) {
  const [max, setMax] = useState(STEP);
  const { value, problem, again } = useLoad(
    async (signal) => differences(...(await Promise.all([load([collection, id], at, signal), load([collection, id], null, signal)]))),
    [at],
  );
  return html`<section aria-label="Compared with now" class="compared">
    <${PastProblem} place=${{ parts: [collection, id], params: new URLSearchParams({ at }) }} problem=${problem} again=${again} />
    ${value?.length === 0 && html`<p role="status">Nothing differs from now.</p>`}
    ${value?.slice(0, max).map((d) => html`<${Difference} ...${d} />`)}
    ${
      value &&
      value.length > max &&
      html`<button type="button" class="small"
      onClick=${() => setMax(max + STEP)}>Show ${STEP} more</button>`
    }
  </section>`;
}

/**
 * Returns the value of a document. Of one that is not there now it is nothing.
 * @param {string[]} path
 * @param {string | null} at
 * @param {AbortSignal} signal
 */
async function load(path, at, signal) {
  try {
    return await read((await request({ path, query: { at }, signal })).text, signal);
  } catch (error) {
    if (at === null && error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * @typedef {object} Reverting
 * @property {(at: string) => void} begin shows what a revert changes
 * @property {boolean} stale the document has become another meanwhile
 * @property {import('../lib/write.js').Writing} writing
 */

/**
 * Reverts a document to a version of it, after a look at what that changes.
 * @param {string[]} path of the document
 * @param {Record<string, string>} condition that it is as its versions say
 * @param {(at: string, written: import('../lib/write.js').Written) => void} onDone
 * @returns {Reverting}
 */
export function useRevert(path, condition, onDone) {
  const [stale, setStale] = useState(false);
  const chosen = useRef('');
  const writing = useWriting({ always: true, onDone: (written) => onDone(chosen.current, written), onStale: () => setStale(true) });
  const begin = (/** @type {string} */ at) => {
    chosen.current = at;
    setStale(false);
    writing.begin({ method: 'POST', path: [...path, '_revert'], headers: condition, body: JSON.stringify({ at }) });
  };
  return { begin, stale, writing };
}

/**
 * Returns the condition that a document is as it is now: this one, or none.
 * @param {string[]} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Record<string, string>>}
 */
export async function conditionOf(path, signal) {
  try {
    return { 'If-Match': (await request({ path, signal })).headers.get('ETag') ?? '' };
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return { 'If-None-Match': '*' };
    throw error;
  }
}

/**
 * The dialog of a revert, and its problems.
 * @param {{ revert: Reverting, again: () => void }} props again loads the versions
 */
export const Revert = ({
  revert: { writing, stale },
  again,
}) => html`<span role="status" class="quiet">${writing.state.phase === 'looking' && 'Looking at what it changes'}</span>
  <${Preview} title="What this revert changes" go="Revert now" keep="Keep it" writing=${writing} careful />
  ${!writing.state.effects && html`<${WriteProblem} state=${writing.state} />`}
  <${ProblemAlert} problem=${
    stale
      ? new Problem(412, {
          title: 'Changed meanwhile',
          detail: 'The document has become another since its versions were listed. Nothing was written.',
        })
      : undefined
  } again=${again} />`;
