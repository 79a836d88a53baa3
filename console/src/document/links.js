import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { Problem, ask, request } from '../lib/http.js';
import { member, scan, textOf } from '../lib/json.js';
import { asProblem, useLoad } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { DocumentLink, MoreList, Time, Visible, number } from '../ui/parts.js';
import { filterOf, idOf, idsAt, kindOf, relationsOf, ruleOf } from './model.js';

/** @typedef {import('./model.js').Relation} Relation */

/** How many documents are asked for at a time. */
const PAGE = 20;

/** How many documents refer by a relation, or why that is not known. @typedef {{ count?: number, problem?: Problem }} Counted */

/** @param {Relation} relation */
const nameOf = (relation) => relation.collection + '.' + relation.name;

/**
 * Returns what asks for the documents that refer to one by a relation.
 * @param {string[]} parts
 * @param {string} position that the answer shows at least
 * @param {Relation} relation
 * @param {Record<string, any>} query
 */
const askedOf = (parts, position, relation, query) => ({
  path: [...parts, relation.collection],
  query: { relation: relation.name, fields: 'id', ...query },
  headers: { 'Fanfold-Min-Position': position },
});

/**
 * How many documents refer to the document, by collection and relation. The documents themselves are asked for on demand.
 * @param {{ parts: string[], position: string, model: any }} props
 */
export function Referred({ parts, position, model }) {
  const [counts, setCounts] = useState(/** @type {Record<string, Counted>} */ ({}));
  const [tries, setTries] = useState(0);
  const relations = relationsOf(model).filter((r) => r.to === parts[0]);
  useEffect(() => {
    const ending = new AbortController();
    // One after the other, so that what the reader asks for meanwhile does not wait for many counts.
    (async () => {
      for (const r of relations) {
        const counted = await ask({ ...askedOf(parts, position, r, { count: true, limit: 1 }), signal: ending.signal }).then(
          ({ count }) => ({ count }),
          (error) => ({ problem: ending.signal.aborted ? undefined : asProblem(error) }),
        );
        if (ending.signal.aborted) return;
        setCounts((now) => ({ ...now, [nameOf(r)]: counted }));
      }
    })();
    return () => ending.abort();
  }, [model, position, tries]);
  if (relations.length === 0) return null;
  return html`<section aria-label="Referred to by"><h2>Referred to by</h2>
    ${relations.map(
      (r) => html`<${Holders} key=${nameOf(r)} parts=${parts} position=${position} relation=${r}
      counted=${counts[nameOf(r)] ?? {}} again=${() => setTries(tries + 1)} />`,
    )}</section>`;
}

/**
 * The documents that refer to the document by a relation.
 * @param {{ parts: string[], position: string, relation: Relation, counted: Counted, again: () => void }} props
 */
function Holders({ parts, position, relation, counted, again }) {
  const [shown, setShown] = useState(/** @type {{ ids: string[], next?: string, busy: boolean, problem?: Problem } | null} */ (null));
  const more = async () => {
    const before = shown ?? { ids: [], busy: false };
    setShown({ ...before, busy: true, problem: undefined });
    try {
      const page = scan((await request(askedOf(parts, position, relation, { limit: PAGE, cursor: before.next }))).text);
      const ids = (member(page, 'items')?.elements ?? []).map((item) => idOf(member(item, 'id')) ?? '');
      setShown({ ids: [...before.ids, ...ids], next: textOf(member(page, 'next')), busy: false });
    } catch (error) {
      setShown({ ...before, busy: false, problem: asProblem(error) });
    }
  };
  const label = `${relation.collection} by ${relation.name}`;
  const count = Number(counted.count ?? 0);
  return html`<div class="tie"><header><h3><${Visible} text=${relation.collection} max=${200} /> <span class="quiet">by <${Visible}
    text=${relation.name} max=${200} />${counted.count !== undefined && ': ' + count.toLocaleString('en')}</span></h3>
      ${
        count > 0 &&
        html`<button type="button" class="small" aria-expanded=${shown !== null} aria-label=${`Show ${label}`}
        onClick=${() => (shown === null ? more() : setShown(null))}>Show</button>
        <a href=${placeHref([relation.collection], { filter: filterOf(relation.path, parts[1]) })}
          aria-label=${`List ${label}`}>List</a>`
      }</header>
    ${
      [401, 403].includes(counted.problem?.status ?? 0)
        ? html`<p class="quiet">You may not read them.</p>`
        : html`<${ProblemAlert}
      problem=${counted.problem} again=${again} />`
    }
    ${
      shown &&
      html`<${MoreList} ids label=${label} items=${shown.ids} busy=${shown.busy} more=${shown.next && more}
        item=${(/** @type {string} */ id) => html`<${DocumentLink} collection=${relation.collection} id=${id} short />`} />
      <${ProblemAlert} problem=${shown.problem} again=${more} asked />`
    }</div>`;
}

/**
 * The documents that the document refers to, by relation.
 * @param {{ doc: import('./page.js').Document, collection: string, at: string | null, model: any }} props
 */
export function Refers({ doc, collection, at, model }) {
  const root = doc.root;
  const relations = useMemo(
    () =>
      root
        ? relationsOf(model)
            .filter((r) => r.collection === collection)
            .map((r) => ({ ...r, ids: idsAt(root, r.path) }))
        : [],
    [root, model],
  );
  if (relations.length === 0) return null;
  return html`<section aria-label="Refers to"><h2>Refers to</h2>
    ${at !== null && html`<p class="quiet">By the relations that the model has now.</p>`}${relations.map(
      (r) => html`<div key=${r.name} class="tie">
    <h3><${Visible} text=${r.name} max=${200} /> <span class="quiet">in <${Visible} text=${r.to}
      max=${200} />: ${r.ids.length.toLocaleString('en')}</span></h3>
    ${
      r.ids.length > 0 &&
      html`<${MoreList} ids label=${`To ${r.to} by ${r.name}`} items=${r.ids}
      item=${(/** @type {string} */ id) => html`<${DocumentLink} collection=${r.to} id=${id} at=${at} short />`} />`
    }
  </div>`,
    )}</section>`;
}

/**
 * Which documents carry something of the document, by rule.
 * @param {{ lineage: any, at: string | null }} props
 */
export function Carried({ lineage, at }) {
  if (!lineage) return null;
  const rules = lineage.copies.filter((/** @type {any} */ c) => Number(c.documents) > 0 || c.first.length > 0 || c.more || c.reason);
  const verb = at === null ? 'carries' : 'carried';
  return html`<section aria-label="Carried by"><h2>Carried by</h2>
    ${rules.length === 0 && html`<p class="quiet">No document that you may read ${verb} anything of this one.</p>`}
    ${rules.map((/** @type {any} */ c) => html`<${Carriers} key=${c.rule} of=${c} at=${at} />`)}</section>`;
}

/** @param {{ of: any, at: string | null }} props */
function Carriers({ of, at }) {
  const [open, setOpen] = useState(false);
  const collection = of.rule.slice(0, of.rule.indexOf('.'));
  const documents = Number(of.documents); // none is told where some may not be read
  return html`<div class="tie"><header><h3><code><${Visible} text=${of.rule} max=${300} /></code><span
    class="quiet">: ${of.hidden ? 'those that you may read' : documents.toLocaleString('en')}</span></h3>
      ${
        of.first.length > 0 &&
        html`<button type="button" class="small" aria-expanded=${open} aria-label=${`Show carriers by ${of.rule}`}
        onClick=${() => setOpen(!open)}>Show</button>`
      }</header>
    ${of.reason && html`<p class="quiet"><${Visible} text=${of.reason} max=${1000} /></p>`}
    ${of.more > 0 && html`<p class="quiet">${Number(of.more).toLocaleString('en')} more ids were not looked for.</p>`}
    ${
      open &&
      html`<${MoreList} ids label=${`Carriers by ${of.rule}`} items=${of.first} item=${(/** @type {string} */ id) => html`<${DocumentLink}
        collection=${collection} id=${id} at=${at} short />`} />
      ${
        documents > of.first.length &&
        html`<p
        class="quiet">The first ${of.first.length} of ${documents.toLocaleString('en')} are listed.</p>`
      }`
    }</div>`;
}

/**
 * The derived values that the document does not have, each with its reason. There is nothing where it has all.
 * @param {{ lineage: any, model: any, at: string | null }} props
 */
export function Absent({ lineage, model, at }) {
  const absent = (lineage?.derived ?? []).filter((/** @type {any} */ v) => v.state === 'no value');
  const unguarded = lineage?.unguarded ?? [];
  return html`${
    absent.length > 0 &&
    html`<section aria-label="Absent values"><h2>Without a value</h2>
      <${MoreList} label="Without a value" items=${absent} item=${(
        /** @type {any} */ v,
      ) => html`<code><${Visible} text=${v.path || v.rule} max=${300} /></code> <${Kind} kind=${kindOf(v, model)} />
        <div class="quiet">${
          v.hidden
            ? 'You may not read the collection that it would come from.'
            : html`<${Visible}
          text=${v.reason || 'No reason is known.'} max=${1000} />`
        }</div>
        ${(v.sources ?? []).slice(0, 3).map(
          (/** @type {any} */ s) => html`<${DocumentLink} collection=${s.collection}
          id=${s.id} at=${at} /> `,
        )}`} /></section>`
  }
    ${
      unguarded.length > 0 &&
      html`<section aria-label="Not unique"><h2>Not compared as unique</h2>
      <${MoreList} label="Not compared as unique" items=${unguarded} item=${(/** @type {any} */ u) => html`<code><${Visible}
        text=${u.unique} max=${300} /></code> <div class="quiet"><${Visible} text=${u.reason} max=${1000} /></div>`} /></section>`
    }
    ${lineage?.more > 0 && html`<p class="quiet">${Number(lineage.more).toLocaleString('en')} more derived values are not listed.</p>`}`;
}

/**
 * The region that says where a derived value comes from. It takes the focus.
 * @param {{ value: any, parts: string[], model: any, position: string, at: string | null, onClose: () => void }} props value is one
 * of a lineage at a position
 */
export function Origin({ value, parts, model, position, at, onClose }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => heading.current?.focus(), []);
  const rule = ruleOf(model, value.rule);
  const leave = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') onClose();
  };
  return html`<section aria-label="Origin" class="origin" onKeyDown=${leave}>
    <h2 tabindex="-1" ref=${heading}>Origin of <code><${Visible} text=${value.path} max=${500} /></code></h2>
    <dl>
      <dt>Kind</dt><dd>${kindOf(value, model)}</dd>
      ${value.state && html`<dt>State</dt><dd><${Visible} text=${stateOf(value.state)} /></dd>`}
      <dt>Rule</dt><dd><code><${Visible} text=${value.rule} max=${500} /></code>${
        rule &&
        html`<br /><span class="quiet">${at !== null && 'now '}<code><${Visible}
        text=${textOfRule(rule)} max=${2000} /></code></span>`
      }</dd>
      <dt>Sources</dt><dd><${Sources} value=${value} at=${at} /></dd>
      <${Chain} value=${value} parts=${parts} position=${position} at=${at} />
      ${value.reason && html`<dt>Reason</dt><dd><${Visible} text=${value.reason} max=${2000} /></dd>`}
      <dt>Event</dt><dd><${Event} event=${value.event} parts=${parts} /></dd>
    </dl>
    <button type="button" onClick=${onClose}>Close</button>
  </section>`;
}

/** @param {string} state */
const stateOf = (state) =>
  ({
    frozen: 'frozen: the value of the moment when the document began to refer to the source',
    kept: 'kept: the source is deleted, and the value stays',
  })[state] ?? state;

/** @param {Record<string, any>} rule as the model declares it */
const textOfRule = (rule) =>
  Object.entries(rule)
    .map(([name, of]) => `${name}: ${typeof of === 'string' ? of : JSON.stringify(of)}`)
    .join(', ');

/** @param {{ value: any, at: string | null }} props */
function Sources({ value, at }) {
  const list = value.sources ?? [];
  if (value.hidden && list.length === 0) return 'You may not read the collection that it comes from.';
  if (list.length === 0) return Number(value.documents) > 0 ? `${number(Number(value.documents))} documents` : 'no document';
  return html`<${MoreList} ids label="Sources" items=${list} item=${(/** @type {any} */ s) => html`<${DocumentLink}
    collection=${s.collection} id=${s.id} at=${at} />${s.rev === undefined && html` <span class="quiet">is gone</span>`}`} />
    ${
      Number(value.documents) > list.length &&
      html`<p
      class="quiet">The first ${list.length} of ${number(Number(value.documents))} documents.</p>`
    }${value.hidden && html`<p class="quiet">Those that you may not read are left out.</p>`}`;
}

/** @param {{ event: any, parts: string[] }} props */
function Event({ event, parts }) {
  if (!event) return 'further back in the history than is looked';
  if (!event.seq) return html`<${Visible} text=${event.reason ?? 'not known'} max=${1000} />`;
  return html`<a href=${placeHref(parts, { at: event.seq })}>${
    event.time ? html`<${Time} text=${event.time} position=${event.seq} />` : html`<code><${Visible} text=${event.seq} /></code>`
  }</a>${event.op && html`, <${Visible} text=${event.op} />`}${
    event.collection ? html` by <${DocumentLink} collection=${event.collection} id=${event.id} />` : event.op === 'derive' && ''
  }${event.reason && html`. <${Visible} text=${event.reason} max=${1000} />`}`;
}

/**
 * The mark of a derived value: what its rule does, and whether it stays as it is.
 * @param {{ kind: string, state?: string }} props
 */
export const Kind = ({ kind, state }) =>
  html`<span class="kind"><${Visible} text=${kind} max=${40} />${
    state &&
    state !== 'no value' &&
    html`, <${Visible} text=${state}
    max=${80} />`
  }</span>`;

// Values that were copied more than once.

/**
 * A place where a value stood before it was copied.
 * @typedef {object} Link
 * @property {string} collection
 * @property {string} id
 * @property {string} path empty where the rule computes it of more than one member
 * @property {string} rule that took it from here
 * @property {string | null} at when it stood there; null for now
 */

/** How far back a value is followed. */
const LONGEST = 8;

/**
 * Where a value comes from, as a chain of documents: the value's own first, and at the end the one in which somebody wrote it.
 * @param {{ value: any, parts: string[], position: string, at: string | null }} props value is one of a lineage: of then, or of the
 * position or later
 */
export function Chain({ value, parts, position, at }) {
  const { value: links } = useLoad((signal) => chainOf(value, position, at, signal), [value, at]);
  if (!links || links.length < 2) return null;
  return html`<dt>Chain</dt><dd><ol class="chain" aria-label="Chain">
    <li><${Stand} collection=${parts[0]} id=${parts[1]} path=${value.path} at=${at} /></li>
    ${links.map(
      (link) => html`<li key=${link.collection + '/' + link.id}><span class="by" title=${link.rule}><span class="unseen">copied by${' '}
        <${Visible} text=${link.rule} max=${200} /> from</span></span><${Stand} ...${link} /></li>`,
    )}</ol></dd>`;
}

/** @param {{ collection: string, id: string, path: string, at: string | null }} props */
const Stand = ({ collection, id, path, at }) =>
  html`<span class="stand"><${DocumentLink} collection=${collection} id=${id} at=${at} />${
    path && html`<code class="quiet"><${Visible} text=${path} max=${80} /></code>`
  }</span>`;

/**
 * Follows a value that was copied from document to document.
 * @param {any} value
 * @param {string} position
 * @param {string | null} at
 * @param {AbortSignal} signal
 * @returns {Promise<Link[]>}
 */
async function chainOf(value, position, at, signal) {
  /** @type {Link[]} */
  const links = [];
  for (let of = value; links.length < LONGEST;) {
    const [source, ...others] = of.sources ?? [];
    if (!source || others.length > 0 || Number(of.documents ?? 1) > 1 || of.kind !== 'copy') return links;
    const path = String(of.sourcePath ?? '');
    // One that follows its source no more came from what the source was then.
    if (of.state) at = of.event?.seq ?? null;
    links.push({ collection: source.collection, id: source.id, path, rule: String(of.rule), at });
    if (path === '' || (of.state && at === null)) return links;
    const lineage = await loadLineage([source.collection, source.id], position, signal, at).catch(() => null);
    of = lineage?.derived?.find((/** @type {any} */ one) => one.path === path && one.state !== 'no value');
    if (!of) return links;
  }
  return links;
}

/**
 * Asks where the derived values of a document come from, at its position or later.
 * @param {string[]} parts
 * @param {string} position
 * @param {AbortSignal} signal
 * @param {string | null} [at] the time or position of a past version
 */
export const loadLineage = (parts, position, signal, at) =>
  ask({ path: [...parts, '_lineage'], query: { at }, headers: { 'Fanfold-Min-Position': position }, signal });
