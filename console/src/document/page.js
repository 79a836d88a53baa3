import { html, useEffect, useMemo, useRef, useState } from '../lib/html.js';
import { ask, hasRole, loadShape, may, request } from '../lib/http.js';
import { member, read, stepsOf, textOf } from '../lib/json.js';
import { useLoad } from '../lib/load.js';
import { goTo, placeHref, tellSaved } from '../lib/place.js';
import { useWriting } from '../lib/write.js';
import { ChangesSeen, PastBanner, PastProblem, useSeen } from '../ui/changes.js';
import { Pending, ProblemAlert, StepsDialog } from '../ui/dialogs.js';
import { JsonView, named } from '../ui/json.js';
import { CopyAs, LongText, Time, Visible, counted, number } from '../ui/parts.js';
import { Preview, WriteProblem } from '../ui/preview.js';
import { Absent, Carried, Kind, Origin, Referred, Refers, loadLineage } from './links.js';
import { idOf, isAt, kindOf, linksOf, relationsOf } from './model.js';

/** How many places are marked as changed. */
const MAX_MARKED = 200;

/**
 * A document: its embedded view, where its values come from, and what it is tied to.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function DocumentPage({ place }) {
  const { parts } = place;
  const asked = askedOf(place);
  const askedAt = place.params.get('at');
  const loaded = useLoad(async (signal) => ({ ...(await load({ ...asked, signal })), at: askedAt }), [askedAt]);
  const { problem, busy, stale, again } = loaded;
  // One of another time stays until the answer comes, and all that is told of it is of that time.
  const doc = stale && problem ? undefined : loaded.value;
  const at = doc ? doc.at : askedAt;
  const now = at === null;
  // The document is shown before anything else is asked for.
  const model = useLoad(async (signal) => (doc ? loadShape(signal) : undefined), [doc]);
  const lineage = useLoad(async (signal) => (doc ? loadLineage(parts, doc.position, signal, at) : undefined), [doc, at]);
  // Another try would take as long.
  const tooLong = !now && lineage.problem?.kind === 'takes-long';
  const wrong = tooLong ? undefined : lineage.problem;
  const { rows, changed } = useFollowed(parts, now && !stale ? (doc?.position ?? '') : '', busy, again);
  return html`<${PastBanner} place=${place} position=${stale ? '' : (doc?.position ?? '')} />
    <${PastProblem} place=${place} problem=${problem} again=${again}>${
      problem?.status === 404 &&
      html`<p>See its <a href=${placeHref([...parts, '_history'])}>history</a>, which a deleted document has, too, or the <a
      href=${placeHref([parts[0]], { at: askedAt })}>collection</a>.</p>`
    }<//>
    ${!doc && problem && html`<${CopyAs} asked=${asked} />`}
    <${Pending} of=${loaded} shape="text">${
      doc &&
      html`<div class="facts"><p class="quiet">Revision <${Visible} text=${doc.revision} />, written <${Time} text=${doc.written}
        position=${now ? doc.position : undefined} />.
      ${' '}<a href=${placeHref([...parts, '_history'])}>History</a></p>
      ${now && html`<${EditActions} collection=${parts[0]} id=${parts[1]} etag=${doc.etag} model=${model.value} />`}</div>
    <div class="beside"><div>
      <${DocumentRegion} doc=${doc} parts=${parts} at=${at} lineage=${lineage.value} model=${model.value}
        changed=${changed} />
      ${now && html`<${ChangesSeen} rows=${rows} />`}
      <${CopyAs} asked=${asked} />
    </div><div>
      <${ProblemAlert} problem=${wrong ?? model.problem} again=${wrong ? lineage.again : model.again} />
      ${
        tooLong &&
        html`<p class="quiet" role="status">Where its values came from, and who carried them, takes too long to tell as of then. Its
          history tells what changed.</p>`
      }
      <${Absent} lineage=${lineage.value} model=${model.value} at=${at} />
      <${Refers} doc=${doc} collection=${parts[0]} at=${at} model=${model.value} />
      ${now && html`<${Referred} parts=${parts} position=${doc.position} model=${model.value} />`}
      <${Carried} lineage=${lineage.value} at=${at} />
    </div></div>`
    }<//>`;
}

/**
 * What one can do with a document: a link to its editor, and a button that deletes it.
 * @param {{ collection: string, id: string, etag: string, model: any }} props etag of what is shown; model is null for who may not read it
 */
export function EditActions({ collection, id, etag, model }) {
  const writing = useWriting({
    always: true,
    onDone: (written, effects) => {
      const href = placeHref([collection]);
      const others = (effects?.writes.length ?? 1) - 1;
      tellSaved({ href, what: `${collection}/${id} is deleted${others > 0 ? `, and ${others} more written` : ''}`, written });
      goTo(href);
    },
  });
  const { state } = writing;
  const gone = (/** @type {import('../ui/dialogs.js').Steps} */ { deleted, changed, position }) => {
    const href = placeHref([collection]);
    const what = `${collection}/${id} is deleted, and ${number(deleted + changed - 1)} more written, step by step`;
    tellSaved({ href, what, written: { position, derived: undefined, visible: true, took: 0, location: '' } });
    goTo(href);
  };
  const remove = () => writing.begin({ method: 'DELETE', path: [collection, id], headers: { 'If-Match': etag } });
  return html`<p class="actions">
      ${may(collection, 'update') && html`<a class="button" href=${placeHref([collection, id], { edit: '' })}>Edit</a>`}
      ${may(collection, 'create') && html`<a class="button" href=${placeHref([collection], { new: '', from: id })}>Clone</a>`}
      ${may(collection, 'delete') && html`<button type="button" class="loss" onClick=${remove}>Delete</button>`}
      ${hasRole('admin') && html`<a class="button loss" href=${placeHref([collection, id], { erase: '' })}>Erase…</a>`}
      <span role="status" class="quiet">${state.phase === 'looking' && 'Looking at what it changes'}</span></p>
    <${Preview} title="What this delete changes" go="Delete now" keep="Keep it" writing=${writing} careful loses>
      <${Holders} collection=${collection} id=${id} model=${model} /><//>
    ${
      state.phase === 'idle' &&
      (state.problem?.of.steps
        ? html`<${StepsDialog} collection=${collection} large=${[{ ...state.problem.of, id }]} onDone=${gone} onClose=${writing.stop} />`
        : html`<${WriteProblem} state=${state} />`)
    }`;
}

/** What becomes of those who refer to a deleted document, by the relation's onDelete. @type {Record<string, string>} */
const FATES = {
  clear: 'their reference stays, and what they copied goes',
  keep: 'their reference and what they copied stay',
};

/**
 * Says what becomes of documents that refer to one that is deleted, and that are not written with it.
 * @param {{ collection: string, id: string, model: any }} props
 */
function Holders({ collection, id, model }) {
  const { value } = useLoad(
    async (signal) => {
      const staying = relationsOf(model).filter((r) => r.to === collection && FATES[r.onDelete]);
      const query = (/** @type {string} */ relation) => ({ relation, fields: 'id', count: true, limit: 1 });
      const counts = staying.map((r) =>
        ask({ path: [collection, id, r.collection], query: query(r.name), signal }).then(
          ({ count }) => ({ ...r, count: Number(count) }),
          () => ({ ...r, count: 0 }), // who may not read them is told nothing of them
        ),
      );
      return (await Promise.all(counts)).filter((r) => r.count > 0);
    },
    [model],
  );
  if (!value?.length) return null;
  return html`<ul aria-label="Refer to it" class="documents">${value.map(
    (
      r,
    ) => html`<li key=${r.collection + ' ' + r.name}>${counted(r.count, 'document')} of <${Visible} text=${r.collection} max=${100} />${' '}
      ${r.count === 1 ? 'refers' : 'refer'} to it by <${Visible} text=${r.name} max=${100} />: ${FATES[r.onDelete]}.</li>`,
  )}</ul>`;
}

/**
 * Follows the changes of a document: it is asked for anew, one request at a time. It returns them, and where they were.
 * @param {string[]} parts
 * @param {string} position of the document, empty where it is not to be followed
 * @param {boolean} busy whether it is being asked for
 * @param {() => void} again asks for it
 */
function useFollowed([collection, id], position, busy, again) {
  const first = useRef('');
  if (first.current === '' || position === '') first.current = position;
  const [stale, setStale] = useState(false);
  const [changed, setChanged] = useState(new Set());
  const rows = useSeen(
    [collection],
    first.current,
    (row) => row.id === id,
    (come) => {
      setChanged(
        new Set(come.flatMap((row) => (row.patch?.elements ?? []).map((op) => textOf(member(op, 'path')) ?? '')).slice(0, MAX_MARKED)),
      );
      setStale(true);
    },
  );
  useEffect(() => {
    if (!stale || busy) return;
    setStale(false);
    again();
  }, [stale, busy]);
  return { rows, changed };
}

/**
 * A document that is too long for a view, as text in pieces and as a file.
 * @param {{ text: string, name: string }} props name is that of the file
 */
export function WholeText({ text, name }) {
  const download = () => {
    const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  };
  return html`<p>The document has ${text.length.toLocaleString('en')} characters, and is shown as text. <button type="button"
    onClick=${download}>Download</button></p>
    <div class="json whole"><${LongText} text=${text} of="the document" first=${10_000} /></div>`;
}

/**
 * The region with the document itself. Derived values are marked once it is known which they are.
 * @param {{ doc: Document, parts: string[], at: string | null, lineage: any, model: any, changed?: Set<string> }} props
 */
export function DocumentRegion({ doc, parts, at, lineage, model, changed }) {
  const [opened, setOpened] = useState('');
  const marks = useMemo(() => marksOf(lineage), [lineage]);
  const links = useMemo(() => linksOf(model, parts[0]), [model]);
  const opener = useRef(/** @type {HTMLElement | null} */ (null));
  const close = () => {
    opener.current?.focus();
    setOpened('');
  };
  const open = (/** @type {string} */ pointer, /** @type {Event} */ event) => {
    opener.current = /** @type {HTMLElement} */ (event.currentTarget);
    setOpened(pointer);
  };
  const adds = {
    marked: (/** @type {string} */ pointer) => marks.values.has(pointer),
    inside: (/** @type {string} */ pointer) => marks.inside.get(pointer) ?? 0,
    beside: (/** @type {string} */ pointer) => {
      const value = marks.values.get(pointer);
      return (
        value &&
        html` <${Kind} kind=${kindOf(value, model)} state=${value.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${named(pointer)}`} aria-expanded=${opened === pointer}
          onClick=${(/** @type {Event} */ event) => (opened === pointer ? close() : open(pointer, event))}>Origin</button>`
      );
    },
    under: (/** @type {string} */ pointer) =>
      opened === pointer &&
      marks.values.has(pointer) &&
      html`<${Origin} key=${pointer} value=${marks.values.get(pointer)} parts=${parts} model=${model}
        position=${doc.position} at=${at} onClose=${close} />`,
    href: (/** @type {string} */ pointer, /** @type {import('../lib/json.js').Node} */ node) => {
      const steps = links.length ? stepsOf(pointer) : [];
      const link = links.find((l) => isAt(steps, l.path));
      const id = link && idOf(node);
      return link && id !== undefined ? placeHref([link.to, id], { at }) : undefined;
    },
    changed,
  };
  return html`<section aria-label="Document">${
    doc.root
      ? html`<${JsonView} root=${doc.root} adds=${adds} />`
      : html`<${WholeText} text=${doc.text} name=${parts.join('-') + '.json'} />`
  }</section>`;
}

/**
 * Returns the derived values of a lineage by their pointers, and for each object or array how many are within it.
 * @param {any} lineage
 */
function marksOf(lineage) {
  const values = new Map();
  const inside = new Map();
  for (const value of lineage?.derived ?? []) {
    if (!value.path || value.state === 'no value') continue;
    values.set(value.path, value);
    for (let at = value.path.lastIndexOf('/'); at > 0; at = value.path.lastIndexOf('/', at - 1)) {
      const outer = value.path.slice(0, at);
      inside.set(outer, (inside.get(outer) ?? 0) + 1);
    }
  }
  return { values, inside };
}

/** Texts of more bytes are shown as they are. */
const MAX_TREE = 4 << 20;

/**
 * A document as it came.
 * @typedef {object} Document
 * @property {string} text
 * @property {import('../lib/json.js').Node | undefined} root of a text that is not too long
 * @property {string} revision
 * @property {string} etag
 * @property {string} position
 * @property {string} written the time of its last own write
 */

/**
 * Returns what asks for a document.
 * @param {import('../lib/place.js').Place} place
 */
export const askedOf = ({ parts, params }) => ({ path: parts, query: { at: params.get('at') } });

/**
 * Asks for a document, and reads it in turns.
 * @param {import('../lib/http.js').Asked} asked
 * @returns {Promise<Document>}
 */
export async function load(asked) {
  const { text, headers } = await request(asked);
  const isShort = text.length <= MAX_TREE && new Blob([text]).size <= MAX_TREE;
  return {
    text,
    root: isShort ? await read(text, asked.signal) : undefined,
    revision: headers.get('Fanfold-Revision') ?? '',
    etag: headers.get('ETag') ?? '',
    position: headers.get('Fanfold-Position') ?? '',
    written: headers.get('Last-Modified') ?? '',
  };
}
