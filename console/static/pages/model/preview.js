import { html } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { Visible } from '../../ui/text.js';
import { Differences } from './differences.js';
import { PreviewedIndexes } from './indexes.js';
import { Misfits } from './misfits.js';
import { Removals } from './removals.js';
import { PreviewedRules } from './previewedrules.js';

/**
 * What a model would do.
 * @param {{ preview: any, isSame: boolean, sure: boolean, onSure: (sure: boolean) => void }} props isSame says that the text is still the one
 *   that was previewed; sure that what goes is meant to go
 */
export function ModelPreview({ preview, isSame, sure, onSure }) {
  const { differences, rules, unique = [], indexes = [], changes, problems = [], misfits = [], kept = [], warnings = [] } = preview;
  return html`<section aria-label="What this model changes" class="model-preview">
    <h3>What this model changes</h3>
    <p class="sentence">${differences.length === 0 ? 'Nothing: the model that applies says the same.' : `${counted(differences.length, 'difference')}; ${counted(changes, 'document')} of other values`}</p>
    ${problems.length > 0 && html`<div role="alert" class="problem"><strong>It cannot be applied</strong><ul aria-label="What stands in its way">${problems.map((/** @type {any} */ one) => html`<${Item} of=${one} />`)}</ul></div>`}
    <${Removals} differences=${differences} sure=${sure} onSure=${onSure} />
    <${Misfits} misfits=${misfits} />
    ${warnings.length > 0 && html`<h4>Warnings</h4><ul aria-label="Warnings" class="documents">${warnings.slice(0, 100).map((/** @type {any} */ one) => html`<${Item} of=${one} />`)}</ul>`}
    <${Differences} differences=${differences} />
    <${PreviewedRules} rules=${rules ?? []} unique=${unique} />
    <${PreviewedIndexes} indexes=${indexes} />
    <${Kept} kept=${kept} />
  </section>`;
}

/** @param {number} n @param {string} what */
export const counted = (n, what) => `${number(n)} ${what}${n === 1 ? '' : 's'}`;

/** @param {{ of: { path: string, detail: string } }} props */
const Item = ({ of: { path, detail } }) => html`<li>${path && html`<code><${Visible} text=${path} max=${200} /></code>: `}<${Visible} text=${detail} max=${1000} /></li>`;

/** What becomes of values that nobody can compute again. @type {Record<string, string>} */
const OUTCOMES = { lost: 'are lost for good', reserved: 'stay stored, and do not show', restored: 'show again' };

/** @param {{ kept: { rule: string, values: number, kind: string, outcome: string }[] }} props */
function Kept({ kept }) {
  if (kept.length === 0) return null;
  return html`<h4>Values that nobody can compute again</h4><ul aria-label="Values that nobody can compute again" class="documents">${kept.slice(0, 100).map((one) => html`<li>
    ${counted(one.values, one.kind + ' value')} of <code><${Visible} text=${one.rule} max=${200} /></code> ${OUTCOMES[one.outcome] ?? one.outcome}</li>`)}</ul>`;
}
