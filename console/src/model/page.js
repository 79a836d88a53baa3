import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js';
import { hasRole } from '../lib/http.js';
import { asProblem } from '../lib/load.js';
import { moved } from '../lib/moving.js';
import { placeHref } from '../lib/place.js';
import { Pending, ProblemAlert } from '../ui/dialogs.js';
import { CopyAs, DocumentLink, Table, Visible, number, shortOrLong } from '../ui/parts.js';
import { OtherDocument } from '../ui/preview.js';
import { Preparation, declaredIn, foundBy, isFailing } from './declared.js';
import { Editor } from './editor.js';
import { Graph } from './graph.js';
import { asked, loadText, useModel } from './load.js';

/**
 * The model: its relations, rules and functions as tables, a graph, and its editor.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function ModelPage({ place }) {
  const { shown, problem, again, cancel } = useModel();
  const { model, status, counts, largest, etag, pending = false } = shown;
  const mayEdit = hasRole('admin');
  const declared = useMemo(() => model && declaredIn(model), [model]);
  const found = useMemo(() => foundBy(status), [status]);
  return html`<${ProblemAlert} problem=${problem} again=${again} />
    <${Pending} of=${{ value: model, problem, cancel }}>${
      declared &&
      html`<${Preparation} pending=${pending} status=${status} mayEdit=${mayEdit} onChanged=${again} />
      <${Relations} relations=${declared.relations} largest=${largest} chosen=${place.params.get('relation')} />
      <${Rules} rules=${declared.rules} found=${found} chosen=${place.params.get('rule')} />
      <${Functions} functions=${declared.functions} />
      <${Graph} place=${place} model=${model} declared=${declared} counts=${counts} largest=${largest} found=${found} />
      ${
        mayEdit &&
        !status?.readOnly &&
        html`<${Editor} etag=${etag} suggest=${place.params.get('suggest')}
        isDrafted=${place.params.has('draft')} pending=${pending} onChanged=${again} />`
      }`
    }<//>
    ${
      moved.value.some(({ phase }) => phase === 'stored') &&
      html`<p><a
      href=${placeHref(['_import'])}>Compare the imported files with the model that applies</a></p>`
    }
    <${CopyAs} asked=${asked} />`;
}

/** @typedef {{ text: string, etag: string }} Base */

/**
 * The text that is edited, and what it was made from. Another model takes its place, unless somebody has typed in it.
 * @param {string} etag of the model that applies
 * @param {{ current: import('../ui/inputs.js').Box | null }} box
 * @param {boolean} applying a text is on its way to become the model
 */
export function useBase(etag, box, applying) {
  const [base, setBase] = useState(/** @type {Base | null} */ (null));
  const [theirs, setTheirs] = useState(/** @type {Base | null} */ (null));
  const [problem, setProblem] = useState(/** @type {import('../lib/http.js').Problem | undefined} */ (undefined));
  const [tries, setTries] = useState(0);
  const now = useRef(base);
  now.current = base;
  useEffect(() => {
    // While a text is being applied, another model may be that one.
    if (applying || etag === '' || now.current?.etag === etag) return undefined;
    const ending = new AbortController();
    loadText(ending.signal)
      .then((come) => {
        if (ending.signal.aborted) return;
        const typed = box.current?.text();
        setProblem(undefined);
        if (now.current === null || typed === undefined || typed === now.current.text || typed === come.text) take(come);
        else setTheirs(come);
      })
      .catch((error) => {
        if (!ending.signal.aborted) setProblem(asProblem(error));
      });
    return () => ending.abort();
  }, [etag, tries, applying]);

  /** Puts a text into the text box, as the one that applies. @param {Base} come */
  const take = (come) => {
    if (box.current && box.current.text() !== come.text) box.current.put(come.text);
    now.current = come;
    setBase(come);
    setTheirs(null);
  };
  return {
    base,
    theirs,
    problem,
    again: () => setTries((n) => n + 1),
    takeTheirs: () => {
      if (theirs) take(theirs);
    },
    /** Says that a text applies, or is to. The next model takes its place. */
    applied: (/** @type {string} */ text) => {
      if (base) setBase({ ...base, text });
      setTheirs(null);
    },
    /** Compares with the model that applies from here on, and returns its entity tag. */
    against: () => {
      if (!theirs) return base?.etag ?? '';
      setBase(theirs);
      setTheirs(null);
      return theirs.etag;
    },
  };
}

/**
 * The functions of the model, and whose triggers they are. It is empty where there is none, as in most models.
 * @param {{ functions: import('./declared.js').Func[] }} props
 */
export function Functions({ functions }) {
  if (functions.length === 0) return null;
  return html`<h2>Functions</h2>
    <${Table} label="Functions" head=${['Function', 'Called by', 'Reads', 'Trigger of', ['Lines']]}>${functions.map(
      (one) => html`<tr key=${one.name}>
      <td><${Visible} text=${one.name} max=${100} /></td>
      <td>${one.call.length === 0 ? 'admin' : one.call.join(', ')}${one.authority && html` <strong>may do everything</strong>`}</td>
      <td><${Links} names=${one.reads} /></td>
      <td><${Links} names=${one.triggers} /></td>
      <td class="number">${number(one.source.trimEnd().split('\n').length)}</td></tr>`,
    )}<//>
    ${functions.map(
      (one) => html`<details key=${one.name}><summary>Source of <${Visible} text=${one.name} max=${100} /></summary><pre>
      <code>${shortOrLong(one.source, one.name, 5000)}</code></pre></details>`,
    )}`;
}

/**
 * Links to collections.
 * @param {{ names: string[] }} props
 */
const Links = ({ names }) => names.map((name, i) => html`${i > 0 && ', '}<${CollectionLink} name=${name} />`);

/**
 * Indexes that come, change or go, with what they take.
 * @param {{ indexes: { collection: string, index: string, change: string, components: string[], entries: number, bytes?: number }[] }}
 * props
 */
export function PreviewedIndexes({ indexes }) {
  if (indexes.length === 0) return null;
  return html`<h4>Indexes</h4><div class="scroll"><table aria-label="Indexes" class="dense">
    <thead><tr><th scope="col">Index</th><th scope="col">Change</th><th scope="col">Order</th><th scope="col" class="number">Entries</th><th
      scope="col" class="number">Bytes</th></tr></thead>
    <tbody>${indexes.map(
      (one) => html`<tr key=${one.collection + '.' + one.index + one.change}>
      <td><code><${Visible} text=${one.collection + '.' + one.index} max=${200} /></code></td><td>${one.change}</td>
      <td><code><${Visible} text=${one.components.join(', ')} max=${300} /></code></td>
      <td class="number">${number(one.entries)}</td><td class="number">${one.bytes !== undefined && number(one.bytes)}</td></tr>`,
    )}</tbody>
  </table></div>`;
}

/**
 * A link to a collection.
 * @param {{ name: string }} props
 */
export const CollectionLink = ({ name }) => html`<a href=${placeHref([name])}><${Visible} text=${name} max=${100} /></a>`;

/**
 * The relations of the model.
 * @param {{ relations: import('./declared.js').Relation[], largest: Map<string, import('./load.js').Largest>,
 *   chosen: string | null }} props
 * chosen is the key of the one that is shown
 */
export function Relations({ relations, largest, chosen }) {
  const shown = useChosen(chosen);
  return html`<h2 id="relations">Relations</h2>
    ${
      relations.length === 0
        ? html`<p class="quiet">The model declares no relation.</p>`
        : html`<div class="scroll"><table aria-label="Relations" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Relation</th><th scope="col">Path</th><th scope="col">To</th><th
        scope="col">On delete</th><th scope="col">Most refer to</th><th scope="col" class="number">Rules</th></tr></thead>
      <tbody>${relations.map(
        (r) => html`<tr key=${r.key} ...${r.key === chosen ? shown : {}}>
        <td><${CollectionLink} name=${r.collection} /></td>
        <td><${Visible} text=${r.name} max=${100} /></td>
        <td><code><${Visible} text=${r.path} max=${200} /></code></td>
        <td><${CollectionLink} name=${r.to} /></td>
        <td>${r.onDelete}${r.strict && ', strict'}</td>
        <td><${MostReferTo} largest=${largest.get(r.key)} /></td>
        <td class="number">${number(r.rules.length)}</td></tr>`,
      )}</tbody>
    </table></div>`
    }`;
}

/**
 * The document to which most others refer by a relation, and how many do.
 * @param {{ largest?: import('./load.js').Largest }} props
 */
const MostReferTo = ({ largest }) =>
  largest?.id !== undefined &&
  html`<${DocumentLink} collection=${largest.to} id=${largest.id} />: ${largest.partial && 'at least '}${number(largest.documents)}`;

/** How many rules are shown at first, and how many more at each step. */
const STEP = 100;

/**
 * The rules of the model, with what the node has found about them where the reader may know it.
 * @param {{ rules: import('./declared.js').Rule[], found?: (rule: string) => import('./declared.js').Found, chosen: string | null }} props
 * chosen is the name of the one that is shown
 */
export function Rules({ rules, found, chosen }) {
  const [most, setMax] = useState(STEP);
  const at = rules.findIndex(({ name }) => name === chosen);
  const max = Math.max(most, Math.ceil((at + 1) / STEP) * STEP);
  const shown = useChosen(chosen);
  const more = Math.min(STEP, rules.length - max);
  return html`<h2>Rules</h2>
    ${
      rules.length === 0
        ? html`<p class="quiet">The model declares no rule.</p>`
        : html`<div class="scroll"><table aria-label="Rules" class="dense">
      <thead><tr><th scope="col">Collection</th><th scope="col">Path</th><th scope="col">Kind</th><th scope="col">From</th><th
        scope="col">Expression</th>
        ${found && html`<th scope="col">Error</th>`}</tr></thead>
      <tbody>${rules.slice(0, max).map(
        (rule) => html`<${Row} key=${rule.name} rule=${rule} found=${found?.(rule.name)}
        shown=${rule.name === chosen && shown} />`,
      )}</tbody>
    </table></div>`
    }
    ${more > 0 && html`<p><button type="button" class="small" onClick=${() => setMax(max + STEP)}>Show ${more} more rules</button></p>`}`;
}

/**
 * Shows the row that a place names: in sight, with the focus.
 * @param {string | null} name
 */
function useChosen(name) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    ref.current?.scrollIntoView({ block: 'center' });
    ref.current?.focus({ preventScroll: true });
  }, [name]);
  return { ref, class: 'chosen', tabindex: -1 };
}

/**
 * @param {{ rule: import('./declared.js').Rule, found?: import('./declared.js').Found, shown: ReturnType<typeof useChosen> | false }} props
 */
function Row({ rule, found, shown }) {
  const kind = found && isFailing(found) ? 'failing' : '';
  return html`<tr class=${kind || undefined} ...${shown && { ...shown, class: `${kind} chosen`.trim() }}>
    <td><${CollectionLink} name=${rule.collection} /></td>
    <td><code><${Visible} text=${rule.path} max=${200} /></code></td>
    <td>${rule.kind}</td>
    <td class="from">${
      rule.by === ''
        ? html`<span class="quiet">itself</span>`
        : html`<${CollectionLink} name=${rule.from} /> <span
      class="quiet">by <${Visible} text=${rule.by.slice(rule.by.indexOf('.') + 1)} max=${60} /></span>`
    }</td>
    <td><code><${Visible} text=${rule.says} max=${200} /></code></td>
    ${found && html`<td><${Failure} found=${found} /></td>`}
  </tr>`;
}

/**
 * A link to a document that the API names in one text.
 * @param {{ document: string }} props as collection/id
 */
function Named({ document }) {
  const at = document.indexOf('/'); // a collection's name has no slash
  return html`<${DocumentLink} collection=${document.slice(0, at)} id=${document.slice(at + 1)} />`;
}

/** @param {{ found: import('./declared.js').Found }} props */
function Failure({ found: { failed, withoutRoom } }) {
  return html`${
    failed &&
    html`<strong class="wrong">${number(failed.count)} failed</strong>, last <${Named} document=${failed.document} />
    <div class="quiet"><${Visible} text=${failed.error} max=${300} /></div>`
  }
    ${withoutRoom !== undefined && html`<div><strong class="wrong">No room</strong> in ${number(withoutRoom)} documents</div>`}`;
}

/**
 * A link to a document that the API names in one text. It opens in a tab of its own, so that the text that is edited stays.
 * @param {{ document: string }} props as collection/id
 */
export function Apart({ document }) {
  const at = document.indexOf('/'); // a collection's name has no slash
  return html`<${OtherDocument} collection=${document.slice(0, at)} id=${document.slice(at + 1)} />`;
}
