import { html, useRef, useState } from '../lib/html.js';
import { Problem, ask, hasRole } from '../lib/http.js';
import { NotJSON, plain, scan } from '../lib/json.js';
import { asProblem } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { isUnknown, newKey, write } from '../lib/write.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { DocumentLink, Visible } from '../ui/parts.js';
import { collections } from './sidebar.js';

/**
 * A member that looks like a reference: its path, and a document that its value names.
 * @typedef {{ path: string, to: string, id: string }} Reference
 */

/**
 * A new collection: its name, its first document, and then which members look like references to other documents.
 */
export function NewCollectionPage() {
  const [made, setMade] = useState(/** @type {{ name: string, id: string, found: Reference[] } | null} */ (null));
  const [problem, setProblem] = useState(/** @type {import('../lib/http.js').Problem | undefined} */ (undefined));
  const [busy, setBusy] = useState(false);
  const sent = useRef({ text: '', key: '' });
  const create = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const text = (/** @type {string} */ name) => String(given.get(name) ?? '').trim();
    const [name, id, body] = [text('name'), text('id'), text('document')];
    if (collections.value?.all.some((one) => one.name === name && one.documents !== 0)) {
      setProblem(new Problem(409, { title: 'There is a collection of this name', detail: 'Open it, and write the document there.' }));
      return;
    }
    const all = name + '\n' + id + '\n' + body;
    if (sent.current.text !== all) sent.current = { text: all, key: newKey() }; // the same once more is one write
    setBusy(true);
    setProblem(undefined);
    try {
      const root = scan(body);
      const to = id === '' ? { method: 'POST', path: [name] } : { method: 'PUT', path: [name, id], headers: { 'If-None-Match': '*' } };
      const { location } = await write({ ...to, body }, sent.current.key, false);
      const ending = location.slice(location.lastIndexOf('/') + 1);
      setMade({ name, id: id || decodeURIComponent(ending), found: hasRole('admin') ? await referencesOf(plain(root)) : [] });
    } catch (error) {
      const wrong =
        error instanceof NotJSON ? new Problem(0, { title: 'The document is not JSON', detail: error.message }) : asProblem(error);
      if (error instanceof NotJSON || !isUnknown(wrong)) sent.current = { text: '', key: '' };
      setProblem(wrong);
    }
    setBusy(false);
  };
  if (made) return html`<${Made} ...${made} />`;
  return html`<form class="begin" aria-label="New collection" onSubmit=${create}>
    <p><label>Name <input name="name" required pattern="[a-zA-Z][a-zA-Z0-9_\\-]*" maxlength="64" autocomplete="off" autocapitalize="off"
      spellcheck=${false} title="A letter, then letters, digits, _ and -" /></label></p>
    <p><label>Id of the first document <input name="id" autocomplete="off" autocapitalize="off" spellcheck=${false}
      placeholder="empty: the server makes one" /></label></p>
    <p><label>First document <textarea name="document" class="document" rows="12" required spellcheck=${false}
      autocapitalize="off">{\n  \n}</textarea></label></p>
    <${ProblemAlert} problem=${problem} />
    <p class="actions"><button type="submit" class="main" disabled=${busy}>Create</button>
      <span role="status" class="quiet">${busy && 'Writing it'}</span></p>
  </form>`;
}

/**
 * What was made, and the relations that can be proposed for it.
 * @param {{ name: string, id: string, found: Reference[] }} props
 */
function Made({ name, id, found }) {
  const [left, setLeft] = useState(/** @type {Set<string>} */ (new Set()));
  const chosen = found.filter(({ path }) => !left.has(path));
  const toggle = (/** @type {string} */ path) => {
    const next = new Set(left);
    if (!next.delete(path)) next.add(path);
    setLeft(next);
  };
  const relations = Object.fromEntries(chosen.map(({ path, to }) => [nameOf(path), { path, to }]));
  const suggest = JSON.stringify({ collections: { [name]: { relations } } });
  return html`<p role="status"><${DocumentLink} collection=${name} id=${id} /> is written, and the collection is there.</p>
    ${
      found.length === 0
        ? html`<p class="quiet">No member of it names a document of another collection.</p>`
        : html`<h2>Members that look like references</h2>
      <p>Each names a document that is there. A relation keeps such names right, and lets values follow them.</p>
      <ul aria-label="Members that look like references" class="documents">${found.map(
        ({ path, to, id: target }) => html`<li key=${path}>
        <label class="box"><input type="checkbox" checked=${!left.has(path)} onChange=${() => toggle(path)} />
          ${' '}<code><${Visible} text=${path} max=${200} /></code></label> names <${DocumentLink} collection=${to} id=${target} /></li>`,
      )}</ul>
      <p class="actions">${
        chosen.length > 0 &&
        html`<a class="button main" href=${placeHref(['_model'], { suggest })}>Propose ${
          chosen.length === 1 ? 'the relation' : chosen.length + ' relations'
        }</a>`
      }</p>`
    }
    <p class="actions"><a href=${placeHref([name])}>Open <${Visible} text=${name} /></a></p>`;
}

/**
 * Returns the name of a relation at a path.
 * @param {string} path
 */
const nameOf = (path) =>
  path
    .replace(/\[\]/g, '')
    .replace(/\.id$/, '')
    .replace(/[^A-Za-z0-9_]+/g, '_');

/** So many texts of a document are looked up, in so many collections. */
const MOST = { texts: 50, collections: 60 };

/**
 * Returns the members whose texts are ids of documents: the server is asked for documents with these ids.
 * @param {any} doc
 * @returns {Promise<Reference[]>}
 */
async function referencesOf(doc) {
  const texts = textsOf(doc, '').slice(0, MOST.texts);
  const ids = [...new Set(texts.map(({ text }) => text))];
  /** @type {Reference[]} */
  const found = [];
  if (ids.length === 0) return found;
  for (const { name } of (collections.value?.all ?? []).filter(({ documents }) => documents !== 0).slice(0, MOST.collections)) {
    const query = new URLSearchParams([...ids.map((id) => ['id', id]), ['fields', 'id']]);
    const of = await ask({ path: [name], query }).catch(() => null);
    const there = new Set((of?.items ?? []).map((/** @type {any} */ one) => one.id));
    for (const { path, text } of texts)
      if (there.has(text) && !found.some((one) => one.path === path)) found.push({ path, to: name, id: text });
  }
  return found;
}

/**
 * Returns the texts of a document that may be ids, with their paths as a model has them.
 * @param {any} value
 * @param {string} path
 * @returns {{ path: string, text: string }[]}
 */
function textsOf(value, path) {
  if (typeof value === 'string') {
    const isOne = value !== '' && value.length <= 255 && path !== '' && path !== 'id';
    return isOne ? [{ path, text: value }] : [];
  }
  if (Array.isArray(value)) return path.includes('[]') ? [] : value.flatMap((one) => textsOf(one, path + '[]'));
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, one]) =>
    /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) ? textsOf(one, path === '' ? name : path + '.' + name) : [],
  );
}
