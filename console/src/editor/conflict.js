import { html, useEffect, useId, useMemo, useState } from '../lib/html.js';
import { scan } from '../lib/json.js';
import { differences } from '../lib/jsontext.js';
import { useLive } from '../lib/live.js';
import { asProblem } from '../lib/load.js';
import { Difference } from '../ui/changes.js';
import { readIfThere } from './page.js';

/** @typedef {import('./page.js').Read} Read */

/**
 * What was met: the document as it is now, or why that is not known.
 * @typedef {object} Met
 * @property {boolean} known
 * @property {Read} [theirs] undefined where it was deleted
 * @property {import('../lib/http.js').Problem} [problem]
 * @property {string} typed what stands in the text box
 */

/**
 * Follows the document that is edited, and reads it anew where somebody else wrote it. Derived changes are no conflict.
 * @param {{ collection: string, id: string, base: Read | undefined, text: () => string, writing: import('../lib/write.js').Writing, done: {
 * current: boolean } }} props
 *   base is what is edited; done says that it is saved
 */
export function useMeanwhile({ collection, id, base, text, writing, done }) {
  const [met, setMet] = useState(/** @type {Met | null} */ (null));
  useEffect(() => setMet(null), [collection, id]); // of a new document another id may be typed
  const meet = async () => {
    try {
      const theirs = await readIfThere(collection, id);
      setMet({ known: true, theirs, typed: text() });
    } catch (error) {
      const problem = asProblem(error);
      setMet((now) => ({ known: false, typed: text(), ...now, problem }));
    }
  };
  useLive([collection], base ? (met?.theirs ?? base).position : '', (rows) => {
    if (done.current || writing.state.phase === 'sending' || writing.state.unknown) return; // it may be the save itself
    const seen = Math.max(base?.revision ?? 0, met?.theirs?.revision ?? 0);
    if (!rows.some((row) => row.id === id && row.op !== 'derive' && row.rev > seen)) return;
    writing.stop();
    meet();
  });
  return { met, meet, retype: () => setMet((now) => now && { ...now, typed: text() }), forget: () => setMet(null) };
}

/** How many differences are shown. */
const SHOWN = 50;

/**
 * Says that the document is another one than was read: what changed there, what was changed here, and what to do.
 * @param {{ base: string | undefined, theirs: string | undefined, mine: string, onMine: () => void, onTheirs: () => void }} props
 *   texts: as it was read, as it is now, and as it was typed, which may be no JSON yet; undefined where there is no document
 */
export function Conflict({ base, theirs, mine, onMine, onTheirs }) {
  const id = useId();
  return html`<div role="alert" aria-labelledby=${id} class="problem conflict">
    <strong id=${id}>Changed meanwhile</strong>
    <p>${told(base, theirs)} What you typed is still in the text box.</p>
    <div class="columns">
      <${Differences} title="Their change" before=${base} after=${theirs} />
      <${Differences} title="Your change" before=${base} after=${mine} />
    </div>
    <p class="actions"><button type="button" onClick=${onMine}>Save mine</button> <button type="button"
      onClick=${onTheirs}>Take theirs</button></p>
  </div>`;
}

/**
 * @param {string | undefined} base
 * @param {string | undefined} theirs
 */
function told(base, theirs) {
  if (theirs === undefined) return 'The document was deleted while it was edited here.';
  return base === undefined ? 'There is a document of this id already.' : 'Somebody saved this document while it was edited here.';
}

/**
 * @param {{ title: string, before: string | undefined, after: string | undefined }} props
 */
function Differences({ title, before, after }) {
  const found = useMemo(() => differencesOf(before, after), [before, after]);
  return html`<section aria-label=${title}><h3>${title}</h3>
    ${
      typeof found === 'string'
        ? html`<p class="quiet">${found}</p>`
        : html`<ul class="differences">${found.slice(0, SHOWN).map((one) => html`<li><${Difference} ...${one} /></li>`)}
      ${found.length > SHOWN && html`<li class="quiet">${found.length - SHOWN} more</li>`}</ul>`
    }</section>`;
}

/**
 * @param {string | undefined} before
 * @param {string | undefined} after
 */
function differencesOf(before, after) {
  try {
    const found = differences(before === undefined ? undefined : scan(before), after === undefined ? undefined : scan(after));
    return found.length ? found : 'No value differs.';
  } catch {
    return 'It is not JSON yet.';
  }
}
