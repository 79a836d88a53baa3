import { html, useEffect, useId, useMemo, useState } from '../lib/html.js';
import { readable, scan } from '../lib/json.js';
import { differences, mustBeTaken, splice } from '../lib/jsontext.js';
import { asProblem, useLive } from '../lib/load.js';
import { merge } from '../lib/merge.js';
import { Difference } from '../ui/changes.js';
import { Visible, counted } from '../ui/parts.js';
import { readIfThere } from './page.js';

/** @typedef {import('./page.js').Read} Read */
/** @typedef {import('../lib/merge.js').Side} Side */
/** @typedef {import('../lib/merge.js').Asked} Asked */

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
 * Says that the document is another one than was read: what changed there, what was changed here, and what becomes of both.
 * @param {{ opened: string | undefined, theirs: string | undefined, mine: string, onSave: (text: string) => void,
 *   onTheirs: () => void }} props
 *   texts: as it was read, as it is now, and as it was edited here, which may be no JSON yet; undefined where there is no document;
 *   onSave is given the text to save
 */
export function Conflict({ opened, theirs, mine, onSave, onTheirs }) {
  const id = useId();
  const [chosen, setChosen] = useState(/** @type {Map<string, Side>} */ (new Map()));
  const together = useMemo(() => mergedOf(opened, theirs, mine, chosen), [opened, theirs, mine, chosen]);
  const open = together?.asked.filter((one) => !chosen.has(one.key)) ?? [];
  const choose = (/** @type {Side} */ side, /** @type {Asked[]} */ places) =>
    setChosen(new Map([...chosen, ...places.map((one) => /** @type {[string, Side]} */ ([one.key, side]))]));
  return html`<div role="alert" aria-labelledby=${id} class="problem conflict">
    <strong id=${id}>Changed meanwhile</strong>
    <p>${told(opened, theirs)} What you typed is still in the text box.</p>
    <div class="columns">
      <${Differences} title="Their change" before=${opened} after=${theirs} />
      <${Differences} title="Your change" before=${opened} after=${mine} />
    </div>
    ${together && together.asked.length > 0 && html`<${Choices} asked=${together.asked} chosen=${chosen} choose=${choose} />`}
    <p class="actions"><button type="button" class="main" disabled=${!together || open.length > 0}
        onClick=${() => together && onSave(together.text)}>${theirs === undefined ? 'Save it anew' : 'Save both'}</button>
      <button type="button" onClick=${onTheirs}>Take theirs</button>
      <span class="quiet">${saidOf(together, open.length, theirs !== undefined)}</span></p>
  </div>`;
}

/**
 * Says what the buttons wait for, and what they do.
 * @param {{ asked: Asked[] } | undefined} together
 * @param {number} open
 * @param {boolean} isThere whether there is a document
 */
function saidOf(together, open, isThere) {
  if (!together) return 'What you typed is no document yet.';
  if (open > 0) return `${counted(open, 'value')} to choose first.`;
  return isThere ? 'Both changes are shown once more before anything is written.' : '';
}

/**
 * Merges three texts. It returns undefined where the edited one is no document.
 * @param {string | undefined} opened
 * @param {string | undefined} theirs
 * @param {string} mine
 * @param {Map<string, Side>} chosen
 */
function mergedOf(opened, theirs, mine, chosen) {
  try {
    mustBeTaken(scan(mine));
    const edited = opened === undefined ? mine : splice(opened, mine);
    if (theirs === undefined) return { text: edited, asked: [] };
    return merge(opened === undefined ? undefined : scan(opened), scan(theirs), scan(edited), chosen);
  } catch {
    return undefined;
  }
}

/**
 * The places that both have changed, value beside value.
 * @param {{ asked: Asked[], chosen: Map<string, Side>, choose: (side: Side, places: Asked[]) => void }} props
 */
function Choices({ asked, chosen, choose }) {
  const name = useId();
  const value = (/** @type {Asked} */ one, /** @type {Side} */ side, /** @type {string} */ word) => html`<label class="choice"><input
      type="radio" name=${name + one.key} checked=${chosen.get(one.key) === side} onChange=${() => choose(side, [one])} />
      <span><span class="quiet">${word}: </span>${
        one[side]
          ? html`<code><${Visible} text=${readable(one[side], 2000)} max=${300} /></code>`
          : html`<span class="quiet">nothing</span>`
      }</span></label>`;
  return html`<section aria-label="Changed by both"><h3>Changed by both: ${asked.length}</h3>
    ${asked.slice(0, SHOWN).map(
      (
        one,
      ) => html`<fieldset key=${one.key} class="choices"><legend><code><${Visible} text=${one.path || 'the document'} max=${200} /></code>
        ${one.opened && html` <span class="quiet">was <code><${Visible} text=${readable(one.opened, 2000)} max=${100} /></code></span>`}
        </legend>${value(one, 'theirs', 'Theirs')}${value(one, 'mine', 'Yours')}</fieldset>`,
    )}
    ${asked.length > SHOWN && html`<p class="quiet">${asked.length - SHOWN} more</p>`}
    ${
      asked.length > 1 &&
      html`<p class="actions"><button type="button" class="small" onClick=${() => choose('theirs', asked)}>Theirs everywhere</button>
      <button type="button" class="small" onClick=${() => choose('mine', asked)}>Yours everywhere</button></p>`
    }</section>`;
}

/**
 * @param {string | undefined} opened
 * @param {string | undefined} theirs
 */
function told(opened, theirs) {
  if (theirs === undefined) return 'The document was deleted while it was edited here.';
  return opened === undefined ? 'There is a document of this id already.' : 'Somebody saved this document while it was edited here.';
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
