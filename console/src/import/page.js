import { html, useEffect, useId, useRef } from '../lib/html.js';
import { Problem, hasRole, request } from '../lib/http.js';
import { member, readable, textOf } from '../lib/json.js';
import { asProblem, useLoad } from '../lib/load.js';
import {
  compare,
  hasRules,
  isTable,
  leave,
  leftOut,
  look,
  map,
  mayStore,
  moved,
  read,
  store,
  take,
  wasWithoutRules,
} from '../lib/moving.js';
import { draft, goTo, placeHref } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { DropField } from '../ui/inputs.js';
import { DocumentLink, Section, Table, Visible, counted, number, size } from '../ui/parts.js';
import { SEPARATORS, TYPES, convert, firstOf, isID, tableOf, withID } from './csv.js';
import { MAX_CSV, NotCSV } from './rows.js';

/** @typedef {import('../lib/moving.js').Rule} Rule */

/** Files that are moved in: a look at each first, then what became of it, a model that is proposed, and which copies were wrong. */
export function ImportPage() {
  const files = moved.value;
  const stored = files.filter(({ phase }) => phase === 'stored');
  const storing = files.some(({ phase }) => phase === 'storing');
  const waiting = files.filter(({ phase }) => phase === 'looked').length;
  const done = useRef(/** @type {HTMLElement | null} */ (null));
  const all = files.length > 0 && stored.length === files.length;
  const was = useRef(all);
  useEffect(() => {
    if (all && !was.current) done.current?.focus();
    was.current = all;
  }, [all]);
  return html`${files.length === 0 && html`<p>Nothing was dropped yet.</p>`}
    ${leftOut.value && html`<p role="status"><${Visible} text=${leftOut.value} max=${2000} /></p>`}
    ${files.map((one) => html`<${FileToMove} key=${one.number} one=${one} storing=${storing} />`)}
    ${
      !all &&
      files.length > 0 &&
      html`<p class="actions"><button type="button" class="main" disabled=${!mayStore.value || storing} onClick=${store}>
        ${`Import ${counted(waiting || files.length, 'file')}`}</button>
      <span role="status" class="quiet">${storing ? 'Storing. Leave this tab open.' : mayStore.value ? wordsOf(files) : ''}</span>
        </p>`
    }
    ${
      all &&
      html`<p role="status" tabindex="-1" ref=${done}>${sentence(stored)}</p>
      ${
        hasRole('admin')
          ? html`<${Drift} key=${stored.map(({ number }) => number).join()} />
        <${Proposal} />`
          : html`<p>Whoever has the role <code>admin</code> can have a model proposed, and copies compared.</p>`
      }`
    }
    ${!storing && html`<${DropField} title=${files.length > 0 ? 'Drop more files here' : 'Drop your export here'} onFiles=${take} />`}`;
}

/** Says what is stored before all is. @param {import('../lib/moving.js').Moved[]} files */
const wordsOf = (files) => (files.some(({ stored, problem }) => stored || problem) ? 'Not all is stored.' : 'Nothing is stored yet.');

/** Says what became of all files. @param {import('../lib/moving.js').Moved[]} stored */
function sentence(stored) {
  const sum = (/** @type {'written' | 'refused'} */ name) => stored.reduce((n, of) => n + of.stored[name], 0);
  return `${counted(sum('written'), 'document')} stored, ${counted(sum('refused'), 'line')} refused.`;
}

/**
 * How a file is read, for whoever knows better than the server.
 * @param {{ one: import('../lib/moving.js').Moved, formats: Record<string, string> }} props formats are what formats are called
 */
export function HowItIsRead({ one: { number, reading, problem }, formats }) {
  const set = (/** @type {keyof import('../lib/moving.js').Reading} */ name) => (/** @type {any} */ event) =>
    read(number, { [name]: event.target.type === 'checkbox' ? event.target.checked : event.target.value });
  return html`<details open=${problem !== undefined}><summary>How it is read</summary>
    <form class="query" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <label>Format <select value=${reading.from} onChange=${set('from')}><option value="auto">as it looks</option>
        ${Object.entries(formats).map(([name, what]) => html`<option value=${name}>${what}</option>`)}</select></label>
      <label>Member with the list of documents <input value=${reading.list} autocomplete="off" autocapitalize="off" spellcheck=${false}
        onInput=${set('list')} /></label>
      <label class="box"><input type="checkbox" checked=${reading.keepExtended}
        onChange=${set('keepExtended')} /> Keep values without a JSON form</label>
    </form>
    <p><label>Members with another name, as OLD=NEW, one a line <textarea rows="2" value=${reading.rename} autocomplete="off"
      autocapitalize="off" spellcheck=${false} onInput=${set('rename')} /></label></p>
    <p><label>Members to drop, one a line <textarea rows="2" value=${reading.drop} autocomplete="off" autocapitalize="off"
      spellcheck=${false} onInput=${set('drop')} /></label></p>
  </details>`;
}

/** How much of the text is shown. The editor has all. */
const MAX = 20_000;

/** A model that is proposed for what is stored, with the evidence. Nothing applies it but somebody, in the editor. */
export function Proposal() {
  const { value, problem, again, busy } = useLoad((signal) => request({ path: ['_suggest-model'], signal }), []);
  const edit = () => {
    draft.value = value?.text ?? null;
    goTo(placeHref(['_model'], { draft: '' }));
  };
  return html`<${Section} title="Proposed model">
    <${ProblemAlert} problem=${problem} again=${again} />
    ${busy && !value && html`<p role="status">The server looks at a sample of the documents.</p>`}
    ${
      value &&
      html`<p>This is a guess from the values. The comments say how often each line holds. Nothing is applied: read it, change it, preview
        it.</p>
      <p class="actions"><button type="button" class="main" onClick=${edit}>Open it in the editor</button></p>
      <pre aria-label="Model in YAML"><${Visible} text=${value.text} max=${MAX} /></pre>`
    }
  <//>`;
}

/** What the files brought for derived members, beside what the rules give. */
export function Drift() {
  const { value, problem, again, busy } = useLoad(async (signal) => ((await hasRules(signal)) ? compare(signal) : null), []);
  return html`<${Section} title="Which copies were wrong">
    <${ProblemAlert} problem=${problem} again=${again} />
    ${busy && html`<p role="status">What the files brought is compared with what the rules give.</p>`}
    ${
      value === null &&
      html`<p>No model applies that derives members. Apply one, and come back here:
      then the files are compared with what its rules give.</p>`
    }
    ${
      value &&
      html`<p role="status" class="foundOf">${foundOf(value.rules)} ${counted(value.documents, 'document')} compared.</p>
      <${Table} label="Values by rule" head=${['Rule', ['Right'], ['Wrong'], ['Missing'], ['Orphaned'], 'Note']}>${value.rules.map(
        (rule) => html`<tr key=${rule.rule}>
        <td><code><${Visible} text=${rule.rule} max=${200} /></code></td><td class="number">${number(rule.right)}</td><td class="number">
          ${number(rule.wrong)}</td>
        <td class="number">${number(rule.missing)}</td><td class="number">${number(rule.orphaned)}</td><td>${note(rule)}</td></tr>`,
      )}<//>
      ${value.rules
        .filter(({ examples, isNew }) => examples.length > 0 && !isNew)
        .map(
          (rule) => html`<${Examples} key=${rule.rule}
        rule=${rule} />`,
        )}
      <p>The store shows what is right. What was
        brought ${wasWithoutRules.value ? 'stays in the documents as they were written' : 'is dropped'}.
        All differences, not the first 20 of each rule:</p>
      <pre aria-label="All differences">${command()}</pre>`
    }
    ${!busy && html`<p class="actions"><button type="button" onClick=${again}>Compare again</button></p>`}
  <//>`;
}

/** Returns the command that writes all differences. What files brought without a rule is stored with the documents. */
function command() {
  const server = new URL('..', document.baseURI).href.replace(/\/$/, '');
  return wasWithoutRules.value
    ? `fanfold drift --out differences.ndjson --server ${server}`
    : `fanfold import DIRECTORY --drift --dry-run --out differences.ndjson --server ${server}`;
}

/** Says how many values were not right. @param {Rule[]} rules */
function foundOf(rules) {
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
  const shown = (/** @type {import('../lib/json.js').Node | undefined} */ node) =>
    node ? html`<${Visible} text=${readable(node, 2000)} max=${200} />` : html`<span class="quiet">nothing</span>`;
  const text = (/** @type {import('../lib/json.js').Node} */ of, /** @type {string} */ name) => textOf(member(of, name)) ?? '';
  return html`<h3><code><${Visible} text=${rule.rule} max=${200} /></code></h3>
    <${Table} label=${`Examples of ${rule.rule}`} head=${['Kind', 'Document', 'Member', 'Brought', 'Right']}>${rule.examples.map(
      (of) => html`<tr>
      <td>${text(of, 'kind')}</td><td><${DocumentLink} collection=${text(of, 'collection')} id=${text(of, 'id')} /></td>
      <td><code><${Visible} text=${text(of, 'path')} max=${200} /></code></td><td>${shown(member(of, 'brought'))}</td><td>
        ${shown(member(of, 'right'))}</td></tr>`,
    )}<//>`;
}

/** What formats are called. @type {Record<string, string>} */
const FORMATS = {
  json: 'JSON',
  fanfold: 'an export of Fanfold',
  cosmos: 'an export of Cosmos DB',
  mongo: 'an export of MongoDB',
  couch: 'an export of CouchDB',
  firestore: 'documents of Firestore',
};

/**
 * A file that is moved in: what it was taken for, what is asked about it, and what became of it.
 * @param {{ one: import('../lib/moving.js').Moved, storing: boolean }} props storing says that a file is being stored
 */
export function FileToMove({ one, storing }) {
  const { file, phase, found, stored, problem, table, number: of } = one;
  const id = useId();
  const busy = phase === 'looking' || phase === 'storing';
  return html`<section class="moved" aria-labelledby=${id}><h2 id=${id}><${Visible} text=${file.name} max=${200} /></h2>
    ${
      busy &&
      html`<p role="status">
      ${phase === 'looking' ? 'The server looks at it, and stores nothing' : 'The server stores it'}: ${size(file.size)}.</p><progress
        aria-label=${`Progress of ${visible(file.name.slice(0, 200))}`} />`
    }
    <${ProblemAlert} problem=${problem} />
    ${isTable(file) && phase !== 'stored' && !storing && html`<${Mapping} one=${one} />`}
    ${!busy && (stored ?? found) && html`<${Report} report=${stored ?? found} table=${isTable(file)} />`}
    ${
      phase === 'looked' &&
      html`${found && html`<${Questions} one=${one} />`}${!isTable(file) && html`<${HowItIsRead} one=${one} formats=${FORMATS} />`}
      ${
        (!isTable(file) || table) &&
        html`<p class="actions"><button type="button" onClick=${() => look(of)}>Look again</button>
          ${
            table && !found && !problem && html`<span role="status" class="quiet">The mapping changed. Look again before you import.</span>`
          }
        </p>`
      }`
    }
    ${
      phase !== 'stored' &&
      !storing &&
      html`<p><button type="button" class="small"
      aria-label=${`Leave it out: ${visible(file.name.slice(0, 200))}`} onClick=${() => leave(of)}>Leave it out</button></p>`
    }
  </section>`;
}

/** Returns what fn does, whose errors of CSV are problems. @template T @param {() => Promise<T>} fn */
const asTable = (fn) =>
  fn().catch((error) => {
    throw error instanceof NotCSV ? new Problem(0, { title: 'It cannot be read as CSV', detail: error.message }) : error;
  });

/** Maps the columns of a file. @param {number} of @param {File} file @param {import('./csv.js').Table} table */
const mapped = (of, file, table) => map(of, { table, convert: (signal) => asTable(() => convert(file, table, signal)) });

/** Opens a file, and looks at it as it is guessed to be. @param {number} of @param {File} file @param {string} [delimiter] */
async function open(of, file, delimiter) {
  try {
    map(of, { phase: 'looking' }); // nothing is stored as it was mapped before
    mapped(of, file, await asTable(() => tableOf(file, delimiter)));
    await look(of);
  } catch (error) {
    map(of, { problem: asProblem(error) });
  }
}

/**
 * What the columns of a file become, and its first documents as they will be.
 * @param {{ one: import('../lib/moving.js').Moved }} props
 */
function Mapping({ one: { number: of, file, table } }) {
  useEffect(() => {
    if (!table) open(of, file);
  }, []);
  if (!table) return null;
  const { columns, delimiter } = /** @type {import('./csv.js').Table} */ (table);
  const set = (/** @type {import('./csv.js').Column[]} */ columns) => mapped(of, file, { ...table, columns });
  return html`<form class="mapping" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <p class="actions"><label>Separator <select value=${delimiter}
      onChange=${(/** @type {any} */ event) => open(of, file, event.target.value)}>
      ${Object.entries(SEPARATORS).map(([by, name]) => html`<option value=${by}>${name}</option>`)}</select></label>
      <label><input type="radio" name=${`id-${of}`} checked=${!columns.some(isID)} onChange=${() => set(withID(columns, -1))} />
        No column is the id: each document gets a new one</label></p>
    <${Table} label="Mapping" head=${['Column', 'First value', 'Becomes', 'Type', 'Id']}>${columns.map(
      (column, i) => html`<${ColumnRow} key=${i} column=${column} i=${i} of=${of}
        first=${table.rows.find((/** @type {any} */ row) => row.cells[i])?.cells[i] ?? ''}
        onChange=${(/** @type {any} */ to) => set(columns.with(i, { ...column, ...to }))} onID=${() => set(withID(columns, i))} />`,
    )}<//>
    <${FirstDocuments} table=${table} />
  </form>`;
}

/**
 * A column, and what it becomes.
 * @param {{ column: import('./csv.js').Column, i: number, of: number, first: string, onChange: (to: any) => void, onID: () => void }} props
 */
function ColumnRow({ column, i, of, first, onChange, onID }) {
  const { name, path, type } = column;
  const called = visible(name.slice(0, 100)) || `column ${i + 1}`;
  return html`<tr><th scope="row"><${Visible} text=${name} max=${100} /></th>
    <td class="quiet"><${Visible} text=${first} max=${60} /></td>
    <td><input aria-label=${`Path of ${called}`} value=${path} disabled=${type === 'none'} maxlength=${MAX_CSV.path} autocomplete="off"
      autocapitalize="off" spellcheck=${false}
      onInput=${(/** @type {any} */ event) => onChange({ path: event.target.value })} /></td>
    <td><select aria-label=${`Type of ${called}`} value=${type}
      onChange=${(/** @type {any} */ event) => onChange({ type: event.target.value })}>
      ${Object.entries(TYPES).map(([type, what]) => html`<option value=${type}>${what}</option>`)}</select></td>
    <td><input type="radio" name=${`id-${of}`} aria-label=${`${called} is the id`} checked=${isID(column)} onChange=${onID} /></td></tr>`;
}

/** The first documents of a file as they will be, or why there are none. @param {{ table: import('./csv.js').Table }} props */
function FirstDocuments({ table }) {
  try {
    return html`<h3>The first documents</h3><pre aria-label="The first documents" tabindex="0"><${Visible}
      text=${firstOf(table).join('\n')} max=${MAX} /></pre>`;
  } catch (error) {
    if (!(error instanceof NotCSV)) throw error;
    return html`<p role="alert" class="problem"><${Visible} text=${error.message} /></p>`;
  }
}

/**
 * What is asked about a file that was looked at: where its documents go, and what their ids are.
 * @param {{ one: import('../lib/moving.js').Moved }} props
 */
function Questions({ one: { number: of, file, found, reading } }) {
  return html`<form class="query" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${
      (found.proposed || reading.collection) &&
      html`<label>Collection <input required value=${reading.collection}
      pattern="[a-zA-Z][a-zA-Z0-9_\\-]*" maxlength="64" autocapitalize="off" autocomplete="off" spellcheck=${false}
        onInput=${(/** @type {any} */ event) => read(of, { collection: event.target.value.trim() })} /></label>`
    }
    ${
      found.withoutId > 0 &&
      !isTable(file) &&
      html`<label>Id of the documents <select value=${reading.id}
        onChange=${(/** @type {any} */ event) => read(of, { id: event.target.value })}>
      <option value="">a new one each</option>${(found.ids ?? []).map(
        (/** @type {string} */ name) => html`<option value=${name}>
        ${visible(name)}</option>`,
      )}</select></label>`
    }
  </form>
  ${
    found.withoutId > 0 &&
    !reading.id &&
    html`<p>
    ${counted(found.withoutId, 'document')} without an id: loaded twice, they are there twice.</p>`
  }`;
}

/**
 * What a file has, or what became of it.
 * @param {{ report: any, table: boolean }} props report is as the server tells it; table says that its columns are mapped here
 */
function Report({ report, table }) {
  const collections = Object.entries(report.collections ?? {});
  const counts = (/** @type {any} */ of) =>
    Object.entries(of)
      .map(([name, n]) => `${name} ${number(/** @type {number} */ (n))}`)
      .join(', ');
  return html`<dl>
      <dt>Taken for</dt><dd>${FORMATS[report.from] ?? report.from}</dd>
      <dt>Documents</dt><dd>${number(report.documents)}
        ${
          collections.length > 0 &&
          html`: ${collections.map(
            ([name, n], i) =>
              html`${i > 0 && ', '}${
                report.dryRun
                  ? html`<${Visible}
          text=${name} />`
                  : html`<a href=${placeHref([name])}><${Visible} text=${name} /></a>`
              } ${number(/** @type {number} */ (n))}`,
          )}`
        }
            </dd>
      ${!report.dryRun && html`<dt>Stored</dt><dd>${number(report.written)}</dd>`}
      ${report.dropped && html`<dt>Dropped members</dt><dd><${Visible} text=${counts(report.dropped)} max=${2000} /></dd>`}
      ${report.left && html`<dt>Left out</dt><dd><${Visible} text=${counts(report.left)} max=${2000} /></dd>`}
      <dt>Refused lines</dt><dd>${number(report.refused)}</dd>
      ${report.repeated && html`<dt>Lines with an earlier id</dt><dd>${report.repeated}</dd>`}
    </dl>
    ${
      report.refusals &&
      html`<ul aria-label="Refused lines" class="mistakes">
        ${report.refusals.map(
          (/** @type {any} */ one) => html`<li>Line ${number(one.line)}: <${Visible} text=${one.detail} max=${500} /></li>`,
        )}
      ${
        report.refused > report.refusals.length &&
        html`<li
        class="quiet">and ${number(report.refused - report.refusals.length)} more: <code>fanfold import --errors FILE</code> has all${
          table && html`. It takes the mapping as a file, by <code>--mapping</code>`
        }</li>`
      }</ul>`
    }
    ${
      !report.done &&
      html`<div role="alert" class="problem"><strong>It was not read to the end</strong><p><${Visible}
      text=${report.detail ?? ''} max=${1000} /></p></div>`
    }
    ${report.done && report.folded === false && html`<p><${Visible} text=${report.detail ?? ''} max=${1000} /></p>`}`;
}
