import { html, useId, useMemo } from '../../lib/html.js';
import { differences } from '../../json/differ.js';
import { scan } from '../../json/scan.js';
import { Difference } from '../../ui/patch.js';

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
    <p class="actions"><button type="button" onClick=${onMine}>Save mine</button> <button type="button" onClick=${onTheirs}>Take theirs</button></p>
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
    ${typeof found === 'string' ? html`<p class="quiet">${found}</p>` : html`<ul class="differences">${found.slice(0, SHOWN).map((one) => html`<li><${Difference} ...${one} /></li>`)}
      ${found.length > SHOWN && html`<li class="quiet">${found.length - SHOWN} more</li>`}</ul>`}</section>`;
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
