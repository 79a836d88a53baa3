// What a model declares, as rows: its relations, rules and functions, and what the node has found about them.
import { html, useRef, useState } from '../lib/html.js';
import { request } from '../lib/http.js';
import { asProblem } from '../lib/load.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { Visible, number } from '../ui/parts.js';
import { CHANGES, accessOf, detailOf, removalsOf, subjectOf } from './load.js';

/**
 * @typedef {object} Relation
 * @property {string} key collection.name
 * @property {string} collection whose documents hold the ids
 * @property {string} name
 * @property {string} path
 * @property {string} to
 * @property {string} onDelete
 * @property {boolean} strict
 * @property {Rule[]} rules that use it
 */

/**
 * @typedef {object} Rule
 * @property {string} name such as books.authors[].name
 * @property {string} collection
 * @property {string} path
 * @property {string} kind
 * @property {string} from the collection whose documents it reads
 * @property {string} by the key of its relation, empty for a value of the document's own
 * @property {string} says its expressions and paths, in the model's words
 */

/**
 * @typedef {object} Func
 * @property {string} name
 * @property {string[]} call the roles that call it; none for admin alone
 * @property {string[]} reads collections
 * @property {string[]} triggers the collections whose trigger it is
 * @property {boolean} authority it may do everything, whoever calls it
 * @property {string} source
 */

/** @typedef {{ relations: Relation[], rules: Rule[], functions: Func[] }} Declared */

/** What goes with a relation to a target's own value. */
const AGGREGATES = ['count', 'sum', 'min', 'avg', 'ids'];

/** @param {any} object @returns {[string, any][]} */
const entries = (object) => Object.entries(object ?? {});

/**
 * Returns the relations, the rules and the functions of a model, in its order.
 * @param {any} model as the API gives it
 * @returns {Declared}
 */
export function declaredIn(model) {
  const collections = entries(model?.collections);
  const relations = collections.flatMap(([collection, of]) =>
    entries(of?.relations).map(([name, r]) => ({
      key: collection + '.' + name,
      collection,
      name,
      path: String(r.path),
      to: String(r.to),
      onDelete: String(r.onDelete ?? 'clear'),
      strict: r.strict === true,
      rules: /** @type {Rule[]} */ ([]),
    })),
  );
  const byKey = new Map(relations.map((r) => [r.key, r]));
  const rules = collections.flatMap(([collection, of]) => entries(of?.derive).map(([path, rule]) => ruleOf(collection, path, rule, byKey)));
  for (const rule of rules) byKey.get(rule.by)?.rules.push(rule);
  return { relations, rules, functions: functionsOf(model, collections) };
}

/**
 * @param {any} model
 * @param {[string, any][]} collections
 * @returns {Func[]}
 */
const functionsOf = (model, collections) =>
  entries(model?.functions).map(([name, f]) => ({
    name,
    call: f.call ?? ['write'],
    reads: f.reads ?? [],
    triggers: collections.filter(([, of]) => of?.trigger === name).map(([collection]) => collection),
    authority: f.authority === 'model',
    source: String(f.source),
  }));

/**
 * @param {string} collection
 * @param {string} path
 * @param {any} rule
 * @param {Map<string, Relation>} relations
 * @returns {Rule}
 */
function ruleOf(collection, path, rule, relations) {
  const name = collection + '.' + path;
  if (rule.copy !== undefined) {
    const by = collection + '.' + rule.copy;
    return {
      name,
      collection,
      path,
      kind: rule.frozen ? 'frozen copy' : 'copy',
      from: relations.get(by)?.to ?? '',
      by,
      says: String(rule.value),
    };
  }
  const kind =
    rule.recent !== undefined ? 'recent' : (AGGREGATES.find((word) => rule[word] !== undefined) ?? (rule.max !== undefined ? 'max' : ''));
  if (kind === '') return { name, collection, path, kind: 'computed', from: collection, by: '', says: String(rule.value) };
  const by = String(rule[kind]);
  const order = typeof rule.orderBy === 'object' ? '_meta.' + rule.orderBy?._meta : rule.orderBy;
  const says = [rule.of, rule.fields?.join(', '), order && 'order by ' + order, rule.where && 'where ' + rule.where]
    .filter(Boolean)
    .join('; ');
  if (by.includes('[]')) return { name, collection, path, kind, from: collection, by: '', says: [by, says].filter(Boolean).join('; ') };
  return { name, collection, path, kind, from: by.slice(0, by.indexOf('.')), by, says };
}

/**
 * What the node has found about a rule. What is undefined is not known.
 * @typedef {object} Found
 * @property {{ count: number, document: string, error: string }} [failed] since the start of the node
 * @property {number} [withoutRoom] documents that have no room for its value
 */

/**
 * Returns what a status tells of each rule, undefined where there is no status.
 * @param {any} status
 * @returns {((rule: string) => Found) | undefined}
 */
export function foundBy(status) {
  if (!status) return undefined;
  const errors = new Map((status.ruleErrors ?? []).map((/** @type {any} */ e) => [e.rule, e]));
  const rooms = new Map((status.omitted ?? []).map((/** @type {any} */ o) => [o.rule, o.documents]));
  return (rule) => ({ failed: errors.get(rule), withoutRoom: rooms.get(rule) });
}

/**
 * Tells whether a rule fails: its expression has an error, or its values have no room.
 * @param {Found} found
 */
export const isFailing = ({ failed, withoutRoom }) => failed !== undefined || withoutRoom !== undefined;

/** How many differences are shown at first. */
const FIRST = 50;

/**
 * What a model declares otherwise, and what its access opens and closes.
 * @param {{ differences: import('./load.js').Difference[] }} props
 */
export function Differences({ differences }) {
  const [all, setAll] = useState(false);
  const access = accessOf(differences);
  const shown = all ? differences : differences.slice(0, FIRST);
  return html`${
    differences.length > 0 &&
    html`<h4>Differences</h4><ul aria-label="Differences" class="documents">${shown.map(
      (one) => html`<li>
      <strong>${CHANGES[one.change] ?? one.change}</strong>: <${Visible} text=${subjectOf(one)} max=${200} />${
        one.detail &&
        html` <span
        class="detail"><${Visible} text=${detailOf(one)} max=${500} /></span>`
      }</li>`,
    )}</ul>`
  }
    ${
      shown.length < differences.length &&
      html`<button type="button" class="small"
      onClick=${() => setAll(true)}>Show ${differences.length - FIRST} more differences</button>`
    }
    ${
      access.length > 0 &&
      html`<h4>Access</h4><ul aria-label="Access" class="documents">${access.map(
        (one) => html`<li>
      <strong>${one.opens ? 'Opens' : 'Closes'}</strong> <${Visible} text=${one.collection} max=${100} />: <${Visible} text=${one.text}
        max=${300} /></li>`,
      )}</ul>`
    }`;
}

/**
 * Names what a model takes away, with the box that says that it is meant. The header If-Match says it to the server.
 * @param {{ differences: import('./load.js').Difference[], sure: boolean, onSure: (sure: boolean) => void }} props
 */
export function Removals({ differences, sure, onSure }) {
  const { removals, count } = removalsOf(differences);
  if (removals.length === 0) return null;
  return html`<div class="removals"><label class="box"><input type="checkbox" checked=${sure}
    onChange=${(/** @type {any} */ event) => onSure(event.target.checked)} />
    ${' '}Remove ${count === '1' ? '1 rule or guard' : `${count} rules and guards`}</label>
    <ul aria-label="What goes" class="documents">${removals.map(
      (one) => html`<li><${Visible} text=${subjectOf(one)} max=${200} />
      ${one.change === 'changed' && html` <span class="quiet"><${Visible} text=${detailOf(one)} max=${200} /></span>`}</li>`,
    )}</ul></div>`;
}

/** What the phases of a preparation are called. @type {Record<string, string>} */
const PHASES = {
  waiting: 'Waiting',
  copying: 'Copying pages',
  computing: 'Computing documents',
  following: 'Following what was written meanwhile',
  ready: 'Ready to apply',
  failed: 'It failed',
};

/**
 * How far a model is that is being prepared, and a button that withdraws it.
 * @param {{ pending: boolean, status: any, mayEdit: boolean, onChanged: () => void }} props
 */
export function Preparation({ pending, status, mayEdit, onChanged }) {
  const last = useRef(0);
  const [problem, setProblem] = useState(/** @type {import('../lib/http.js').Problem | undefined} */ (undefined));
  const of = status?.preparing;
  if (of) last.current = of.model;
  const gone = !pending && last.current > 0 && status?.withdrawn?.model === last.current ? status.withdrawn.reason : '';
  const withdraw = async () => {
    try {
      await request({ method: 'DELETE', path: ['_model', '_pending'] });
      setProblem(undefined);
    } catch (error) {
      setProblem(asProblem(error));
    }
    onChanged();
  };
  return html`<div role="status">${
    gone &&
    html`<p>The model that was being prepared does not come: <${Visible} text=${gone} max=${500} />
    </p>`
  }</div>
    ${
      pending &&
      html`<section aria-label="Preparation" class="origin"><h2>A model is being prepared</h2>
      ${
        of
          ? html`<p>${PHASES[of.phase] ?? of.phase}${
              of.total > 0 &&
              html`: ${number(of.done)} of ${number(of.total)} <progress
            aria-label="Preparation" max=${of.total} value=${of.done}></progress>`
            }</p>
        <p class="quiet">${number(of.changes)} documents change, as far as is
          known.${of.waitingFor?.length > 0 && html` It waits for <${Visible} text=${of.waitingFor.join(', ')} max=${300} />.`}</p>
        ${of.error && html`<p class="wrong"><${Visible} text=${of.error} max=${1000} /></p>`}`
          : html`<p class="quiet">It applies once all nodes have prepared it.</p>`
      }
      ${mayEdit && html`<p class="actions"><button type="button" onClick=${withdraw}>Withdraw</button></p>`}
    </section>`
    }
    <${ProblemAlert} problem=${problem} />`;
}
