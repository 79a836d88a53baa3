import { html } from '../../lib/html.js';
import { useLoad } from '../../lib/load.js';
import { compare, hasRules, wasWithoutRules } from '../../lib/moving.js';
import { member, textOf, tokens } from '../../json/value.js';
import { counted, number } from '../../ui/amounts.js';
import { DocumentLink } from '../../ui/link.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Section } from '../../ui/section.js';
import { Table } from '../../ui/table.js';
import { Visible } from '../../ui/text.js';

/** @typedef {import('../../lib/moving.js').Rule} Rule */

/** What the files brought for derived members, beside what the rules give. */
export function Drift() {
  const { value, problem, again, busy } = useLoad(async (signal) => (await hasRules(signal) ? compare(signal) : null), []);
  return html`<${Section} title="Which copies were wrong">
    <${ProblemAlert} problem=${problem} again=${again} />
    ${busy && html`<p role="status">What the files brought is compared with what the rules give.</p>`}
    ${value === null && html`<p>No model applies that derives members. Apply one, and come back here: then the files are compared with what its rules give.</p>`}
    ${value && html`<p role="status" class="sentence">${sentence(value.rules)} ${counted(value.documents, 'document')} compared.</p>
      <${Table} label="Values by rule" head=${['Rule', ['Right'], ['Wrong'], ['Missing'], ['Orphaned'], 'Note']}>${value.rules.map((rule) => html`<tr key=${rule.rule}>
        <td><code><${Visible} text=${rule.rule} max=${200} /></code></td><td class="number">${number(rule.right)}</td><td class="number">${number(rule.wrong)}</td>
        <td class="number">${number(rule.missing)}</td><td class="number">${number(rule.orphaned)}</td><td>${note(rule)}</td></tr>`)}<//>
      ${value.rules.filter(({ examples, isNew }) => examples.length > 0 && !isNew).map((rule) => html`<${Examples} key=${rule.rule} rule=${rule} />`)}
      <p>The store shows what is right. What was brought ${wasWithoutRules.value ? 'stays in the documents as they were written' : 'is dropped'}. All differences, not the first 20 of each rule:</p>
      <pre aria-label="All differences">${command()}</pre>`}
    ${!busy && html`<p class="actions"><button type="button" onClick=${again}>Compare again</button></p>`}
  <//>`;
}

/** Returns the command that writes all differences. What files brought without a rule is stored with the documents. */
function command() {
  const server = new URL('..', document.baseURI).href.replace(/\/$/, '');
  return wasWithoutRules.value ? `fanfold drift --out differences.ndjson --server ${server}` : `fanfold import DIRECTORY --drift --dry-run --out differences.ndjson --server ${server}`;
}

/** Says how many values were not right. @param {Rule[]} rules */
function sentence(rules) {
  const wrong = rules.reduce((sum, { wrong, orphaned, missing, isNew }) => sum + wrong + orphaned + (isNew ? 0 : missing), 0);
  return wrong === 0 ? 'Every value that was brought is right.' : `${counted(wrong, 'value')} ${wrong === 1 ? 'was' : 'were'} not right.`;
}

/** Says why a rule has no counts. @param {Rule} rule */
const note = ({ frozen, isNew }) => (frozen ? 'frozen: not compared' : isNew ? 'new: no document brought a value' : '');

/**
 * Examples of values that were not right.
 * @param {{ rule: Rule }} props
 */
function Examples({ rule }) {
  const shown = (/** @type {import('../../json/scan.js').Node | undefined} */ node) => (node ? html`<${Visible} text=${tokens(node)} max=${200} />` : html`<span class="quiet">nothing</span>`);
  const text = (/** @type {import('../../json/scan.js').Node} */ of, /** @type {string} */ name) => textOf(member(of, name)) ?? '';
  return html`<h3><code><${Visible} text=${rule.rule} max=${200} /></code></h3>
    <${Table} label=${`Examples of ${rule.rule}`} head=${['Kind', 'Document', 'Member', 'Brought', 'Right']}>${rule.examples.map((of) => html`<tr>
      <td>${text(of, 'kind')}</td><td><${DocumentLink} collection=${text(of, 'collection')} id=${text(of, 'id')} /></td>
      <td><code><${Visible} text=${text(of, 'path')} max=${200} /></code></td><td>${shown(member(of, 'brought'))}</td><td>${shown(member(of, 'right'))}</td></tr>`)}<//>`;
}
