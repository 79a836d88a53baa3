import { html, useState } from '../../lib/html.js';
import { Problem, request } from '../../lib/http.js';
import { useLoad } from '../../lib/load.js';
import { differences } from '../../json/differ.js';
import { read } from '../../json/read.js';
import { Difference } from '../../ui/patch.js';
import { PastProblem } from '../../ui/past.js';

/** How many differences are shown at first. */
const STEP = 50;

/**
 * What differs between a document as it was and as it is now.
 * @param {{ collection: string, id: string, at: string }} props
 */
export function Compare({ collection, id, at }) {
  const [max, setMax] = useState(STEP);
  const { value, problem, again } = useLoad(async (signal) => differences(...await Promise.all([load([collection, id], at, signal), load([collection, id], null, signal)])), [at]);
  return html`<section aria-label="Compared with now" class="compared">
    <${PastProblem} place=${{ parts: [collection, id], params: new URLSearchParams({ at }) }} problem=${problem} again=${again} />
    ${value?.length === 0 && html`<p role="status">Nothing differs from now.</p>`}
    ${value?.slice(0, max).map((d) => html`<${Difference} ...${d} />`)}
    ${value && value.length > max && html`<button type="button" class="small" onClick=${() => setMax(max + STEP)}>Show ${STEP} more</button>`}
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
