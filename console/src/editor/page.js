import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { Problem, ask, request } from '../lib/http.js';
import { NotJSON, member, nodeAt, read, readable, scan, textOf } from '../lib/json.js';
import { indent, lineAndColumn, mustBeTaken } from '../lib/jsontext.js';
import { useLoad } from '../lib/load.js';
import { goTo, placeHref, saved, tellSaved } from '../lib/place.js';
import { Code } from '../ui/inputs.js';
import { Pending, ProblemAlert } from '../ui/dialogs.js';
import { CopyAs, Visible } from '../ui/parts.js';
import { Arrival, Draft } from './draft.js';
import { fieldsOf } from './fields.js';

/** The longest document that the editor takes, in UTF-16 code units. */
const LONGEST = 4 * 1024 * 1024;

/**
 * The editor of a document.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function EditPage({ place }) {
  const [collection, id] = place.parts;
  const { value: read, problem, again, cancel } = useLoad((signal) => readDocument(collection, id, signal), []);
  const href = placeHref(place.parts);
  const done = (/** @type {import('../lib/write.js').Written} */ written) => {
    tellSaved({ href, what: collection + '/' + id + ' is saved', written });
    goTo(href);
  };
  const initial = useMemo(() => (read && read.text.length <= LONGEST ? indent(read.text) : undefined), [read]);
  const long = read !== undefined && initial === undefined;
  return html`<${ProblemAlert} problem=${problem} again=${again}>${
    problem?.status === 404 &&
    html`<p>See the <a
    href=${placeHref([collection])}>collection</a>.</p>`
  }<//>
    <${Pending} of=${{ value: read, problem, cancel }} shape="text" />
    ${long && html`<p>The document is too long for the editor. Write it by the API, or by the command <code>fanfold put</code>.</p>`}
    ${
      read &&
      !long &&
      html`<p class="quiet">As it is written, at revision ${read.revision}: what the store derives is not in it.</p>
      <${Draft} collection=${collection} id=${id} read=${read} initial=${initial} onSaved=${done}><a href=${href}>Back to the document</a>
        <//>`
    }
    <${CopyAs} asked=${askedFor(collection, id)} />`;
}

/**
 * The page of a document that is yet to be.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function NewPage({ place }) {
  const [collection] = place.parts;
  const from = place.params.get('from');
  const [id, setId] = useState('');
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => field.current?.focus(), []);
  const { value, problem, again } = useLoad(async (signal) => (from === null ? '' : cloned(collection, from, signal)), [collection, from]);
  const done = (/** @type {import('../lib/write.js').Written} */ written) => {
    const made = id === '' ? decodeURIComponent(written.location.split('/').pop() ?? '') : id;
    const href = placeHref([collection, made]);
    tellSaved({ href, what: collection + '/' + made + ' is saved', written });
    goTo(href);
  };
  return html`<p>In <a href=${placeHref([collection])}><${Visible} text=${collection} /></a>${
    from !== null && html`, as <a href=${placeHref([collection, from])}><${Visible} text=${from} max=${200} /></a> is written`
  }.</p>
    <${ProblemAlert} problem=${problem} again=${again} />
    <p><label>Id <input ref=${field} value=${id} onInput=${(/** @type {any} */ event) => setId(event.target.value)} autocomplete="off"
      autocapitalize="off" spellcheck=${false} size="40" aria-describedby="about-id" /></label>
      <span id="about-id" class="quiet">Empty for one that the store makes.</span></p>
    ${
      value !== undefined &&
      html`<${Draft} collection=${collection} id=${id} initial=${value || undefined} onSaved=${done}><a
      href=${placeHref([collection])}>Back to the collection</a><//>`
    }`;
}

/**
 * Returns a document as it is written, for another one to be made of it: without its id.
 * @param {string} collection
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function cloned(collection, id, signal) {
  const { text } = await readDocument(collection, id, signal);
  const own = fieldsOf(scan(text)).find((field) => field.path === '/id');
  return indent(own ? text.slice(0, own.gone.from) + text.slice(own.gone.to) : text);
}

/** @typedef {import('../ui/inputs.js').Box} Box */

/**
 * The text box of a document. It takes the focus, and Tab leaves it. What is typed stays in it, whatever else the page shows.
 * @param {{ box: { current: Box | null }, collection: string, initial: string, wrong: boolean, focus: boolean, onInput?: () => void,
 *   onSave?: () => void }} props wrong says that a message below is about it
 */
export function TextBox({ box, collection, initial, wrong, focus, onInput, onSave }) {
  const complete = useMemo(() => completing(collection), [collection]);
  const rows = Math.min(30, Math.max(12, initial.split('\n', 40).length + 1));
  return html`<${Code} box=${box} label="Document" language="json" initial=${initial} rows=${rows} wrong=${wrong} about="mistakes"
    focus=${focus} onInput=${onInput} onSave=${onSave} check=${check} complete=${complete} />`;
}

/**
 * Looks for what makes a text no document.
 * @param {string} text
 * @param {AbortSignal} signal
 */
async function check(text, signal) {
  try {
    mustBeTaken(await read(text, signal));
    return [];
  } catch (error) {
    if (!(error instanceof NotJSON)) throw error;
    return [mistakeOf(error)];
  }
}

/** @typedef {import('../ui/inputs.js').Mistake} Mistake */

/**
 * Returns what is wrong with a text that is not JSON, or no document.
 * @param {NotJSON} error
 * @returns {Mistake}
 */
export const mistakeOf = (error) => ({ what: error.message, from: error.at, to: error.at + 1 });

/**
 * Returns the places in a text that a refusal is about. A member that is not there is looked for in what is around it.
 * @param {string} text JSON
 * @param {import('../lib/http.js').Problem} problem
 * @returns {Mistake[]}
 */
export function mistakesOf(text, problem) {
  const list = /** @type {any[]} */ (Array.isArray(problem.of.problems) ? problem.of.problems : []);
  const root = scan(text);
  return list
    .filter((one) => typeof one.path === 'string' && /^(?:\/|$)/.test(one.path))
    .slice(0, 100)
    .map((one) => {
      let path = String(one.path);
      while (path !== '' && !nodeAt(root, path)) path = path.slice(0, path.lastIndexOf('/'));
      const node = nodeAt(root, path) ?? root;
      return {
        what: String(one.path) + ' ' + String(one.detail ?? ''),
        from: node.start,
        to: node.members || node.elements ? node.start + 1 : node.end,
      };
    });
}

/**
 * Mistakes by line and column, each with a button that goes there.
 * @param {{ text: string, mistakes: Mistake[], box: { current: Box | null } }} props text in which they are
 */
export const Mistakes = ({ text, mistakes, box }) =>
  html`<ul class="mistakes">${mistakes.map(({ what, from, to }) => {
    const { line, column } = lineAndColumn(text, from);
    return html`<li><button type="button" class="plain"
      onClick=${() => box.current?.select(from, to)}>line ${line}, column ${column}</button>: <${Visible} text=${what}
        max=${1000} /></li>`;
  })}</ul>`;

/**
 * What was saved last, on the page to which the save has led, until another place is shown.
 * @param {{ place: import('../lib/place.js').Place }} props
 */
export function SavedHere({ place }) {
  const here = placeHref(place.parts, place.params);
  const of = saved.value;
  useEffect(
    () => () => {
      if (saved.value?.href === here) saved.value = null;
    },
    [here],
  );
  if (of?.href !== here) return null;
  return html`<p role="status" class="quiet"><${Visible} text=${of.what} max=${300} />, at <code>${of.written.position}</code>.</p>
    ${
      (of.written.derived ?? 0) > 0 &&
      html`<${Arrival} position=${of.written.position} derived=${of.written.derived}
      took=${of.written.took} visible=${of.written.visible} />`
    }`;
}

/**
 * A document as it is written.
 * @typedef {object} Read
 * @property {string} text its bytes
 * @property {string} etag
 * @property {number} revision
 * @property {string} position that the answer shows
 */

/**
 * The request for a document as it is written.
 * @param {string} collection
 * @param {string} id
 */
export const askedFor = (collection, id) => ({ path: [collection, id], query: { view: 'referenced' } });

/**
 * Reads a document as it is written.
 * @param {string} collection
 * @param {string} id
 * @param {AbortSignal} [signal]
 * @returns {Promise<Read>}
 * @throws {Problem}
 */
export async function readDocument(collection, id, signal) {
  const { text, headers } = await request({ ...askedFor(collection, id), signal });
  return {
    text,
    etag: headers.get('ETag') ?? '',
    revision: Number(headers.get('Fanfold-Revision')),
    position: headers.get('Fanfold-Position') ?? '',
  };
}

/**
 * Reads a document that may be gone.
 * @param {string} collection
 * @param {string} id
 * @returns {Promise<Read | undefined>} undefined where there is none
 * @throws {Problem}
 */
export async function readIfThere(collection, id) {
  try {
    return await readDocument(collection, id);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Returns the request that saves a document: over what was read, as a new one of an id, or as one whose id the store makes.
 * @param {string} collection
 * @param {string} id empty where the store makes it
 * @param {Read | undefined} over
 * @param {string} body
 * @returns {import('../lib/http.js').Asked}
 */
export function saving(collection, id, over, body) {
  const headers = { Prefer: 'handling=strict' }; // members that the store derives are told, not dropped
  if (id === '') return { method: 'POST', path: [collection], headers, body };
  return {
    method: 'PUT',
    path: [collection, id],
    headers: { ...headers, ...(over ? { 'If-Match': over.etag } : { 'If-None-Match': '*' }) },
    body,
  };
}

// What may be written at a place of a document: what others of its collection have there, and the ids that its relations lead to.

/** @typedef {import('../lib/json.js').Node} Node */
/** @typedef {import('../ui/inputs.js').Spot} Spot */
/** @typedef {import('../ui/inputs.js').Choice} Choice */

/** How many documents are looked at, how many ids are asked for, and how many values of a place are offered. */
const SAMPLE = 20;
const IDS = 50;
const VALUES = 12;

/** What documents have at a place. @typedef {{ names: Map<string, string>, values: Set<string> }} Seen */

/**
 * Returns what completes documents of a collection. It asks for what it needs when it is called first.
 * @param {string} collection
 * @returns {(spot: Spot) => Promise<Choice[]>}
 */
export function completing(collection) {
  /** @type {Promise<{ seen: Map<string, Seen>, targets: Map<string, string> }> | undefined} */
  let known;
  /** @type {Map<string, Promise<Choice[]>>} */
  const ids = new Map();
  return async ({ path, isName, taken }) => {
    known ??= look(collection);
    const { seen, targets } = await known;
    const at = seen.get(keyOf(path));
    if (isName)
      return [...(at?.names ?? [])]
        .filter(([name]) => !taken.includes(name))
        .map(([label, kind]) => {
          const to = targets.get(keyOf([...path, label])) ?? targets.get(keyOf([...path, label, '']));
          return { label, detail: to ? 'id of ' + to : kind };
        });
    const to = targets.get(keyOf(path));
    if (to === undefined) return [...(at?.values ?? [])].slice(0, VALUES).map((label) => ({ label }));
    if (!ids.has(to)) ids.set(to, idsOf(to));
    return ids.get(to) ?? [];
  };
}

/** @param {string[]} path */
const keyOf = (path) => JSON.stringify(path);

/**
 * Looks at some documents of a collection, and at its relations. Whoever may not read them is offered nothing.
 * @param {string} collection
 */
async function look(collection) {
  const [page, model] = await Promise.all([
    request({ path: [collection], query: { limit: SAMPLE, view: 'referenced' } }).then(
      ({ text }) => read(text),
      () => undefined,
    ),
    ask({ path: ['_model'] }).catch(() => null),
  ]);
  /** @type {Map<string, Seen>} */
  const seen = new Map();
  for (const document of member(page, 'items')?.elements ?? []) note(document, [], seen);
  const relations = Object.values(model?.collections?.[collection]?.relations ?? {});
  const targets = new Map(relations.map((/** @type {any} */ r) => [keyOf(stepsOf(String(r.path))), String(r.to)]));
  return { seen, targets };
}

/** Returns the steps of a path of the model, such as authors[].id. @param {string} path */
const stepsOf = (path) => path.split('.').flatMap((part) => part.split('[]'));

/**
 * Notes what a value has, and what is in it.
 * @param {Node} node
 * @param {string[]} path
 * @param {Map<string, Seen>} seen
 */
function note(node, path, seen) {
  const key = keyOf(path);
  const at = seen.get(key) ?? { names: new Map(), values: new Set() };
  seen.set(key, at);
  for (const m of node.members ?? []) {
    if (path.length === 0 && m.name === '_meta') continue; // it is the API's
    at.names.set(m.name, m.value.kind === 'string' ? 'text' : m.value.kind);
    note(m.value, [...path, m.name], seen);
  }
  for (const element of node.elements ?? []) note(element, [...path, ''], seen);
  if (!node.members && !node.elements && node.raw.length <= 80 && at.values.size < VALUES) at.values.add(readable(node));
}

/**
 * Returns the ids of some documents, as JSON.
 * @param {string} collection
 * @returns {Promise<Choice[]>}
 */
async function idsOf(collection) {
  try {
    const page = await read((await request({ path: [collection], query: { limit: IDS, fields: 'id' } })).text);
    return (member(page, 'items')?.elements ?? []).flatMap((item) => {
      const id = textOf(member(item, 'id'));
      return id === undefined ? [] : [{ label: JSON.stringify(id), detail: collection }];
    });
  } catch {
    return []; // who may not read them is offered none
  }
}
