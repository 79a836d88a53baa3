import { html, signal, useEffect, useId, useMemo, useRef, useState } from '../lib/html.js';
import { ask } from '../lib/http.js';
import { goTo, place, placeHref, visited } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { Dialog } from '../ui/dialogs.js';
import { counted } from '../ui/parts.js';
import { routeOf } from './app.js';
import { collections, pages } from './sidebar.js';

/** Whether the dialog that goes anywhere is open. */
export const going = signal(false);

/**
 * Where one can go.
 * @typedef {{ kind: string, name: string, about?: string, href: string }} Goal
 */

/** Opens the dialog by Ctrl+K or Cmd+K, wherever the focus is. Another dialog must be answered first. */
export function GoTo() {
  useEffect(() => {
    const open = (/** @type {KeyboardEvent} */ event) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      if (!document.querySelector('dialog[open]')) going.value = true;
    };
    document.addEventListener('keydown', open, { capture: true });
    return () => document.removeEventListener('keydown', open, { capture: true });
  }, []);
  return going.value ? html`<${GoToDialog} />` : null;
}

/** How many goals of a kind are listed. */
const MOST = 8;

/** The dialog: a box to type in, and the goals that have what is typed in their names. */
function GoToDialog() {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const declared = useDeclared();
  const { found, busy } = useDocuments(typed.trim());
  const goals = useMemo(() => [...goalsOf(typed, declared), ...found], [typed, declared, found, collections.value]);
  const active = Math.min(at, goals.length - 1);
  const close = () => {
    going.value = false;
  };
  const isSure = useRef(false); // somebody has pressed Enter before anything was found
  const go = (/** @type {Goal | undefined} */ goal) => {
    isSure.current = !goal;
    if (!goal) return;
    close();
    goTo(goal.href);
  };
  useEffect(() => {
    if (isSure.current) go(goals[0]);
  }, [goals]);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }), [active, goals]);
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && goals.length > 0) setAt((active + step + goals.length) % goals.length);
    else if (event.key === 'Enter') go(goals[active]);
    else return;
    event.preventDefault();
  };
  const type = (/** @type {any} */ event) => {
    isSure.current = false;
    setTyped(event.target.value);
    setAt(0);
  };
  const kinds = [...new Set(goals.map(({ kind }) => kind))];
  return html`<${Dialog} title="Go to" onClose=${close}><div class="goto">
    <input data-focus role="combobox" aria-label="Go to" aria-autocomplete="list" aria-expanded=${goals.length > 0} aria-controls=${id}
      aria-activedescendant=${goals.length > 0 ? id + active : undefined} placeholder="An id, a collection, a rule, a page"
      autocomplete="off" autocapitalize="off" spellcheck=${false} value=${typed} onInput=${type} onKeyDown=${keys} />
    <div id=${id} ref=${list} role="listbox" aria-label="Places" tabindex="-1">${kinds.map(
      (kind) => html`<div role="group" key=${kind} aria-label=${kind}><div class="kindof" aria-hidden="true">${kind}</div>
      ${goals.map(
        (goal, i) =>
          goal.kind === kind &&
          html`<div role="option" key=${goal.href} id=${id + i} aria-selected=${i === active} onMouseMove=${() => setAt(i)}
          onClick=${() => go(goal)}><span>${visible(goal.name)}</span>${goal.about && html`<span>${visible(goal.about)}</span>`}</div>`,
      )}</div>`,
    )}</div>
    <p role="status">${saidOf(typed.trim(), goals.length, busy)}</p>
  </div><//>`;
}

/**
 * Says what was found.
 * @param {string} typed
 * @param {number} count
 * @param {boolean} busy
 */
function saidOf(typed, count, busy) {
  if (busy) return 'Looking for a document with this id';
  if (count === 0) return typed === '' ? 'Type a name or an id.' : 'Nothing that you may read has this name or id.';
  return counted(count, 'place');
}

/**
 * Returns the goals that have all words of what is typed, those that begin with it first.
 * @param {string} typed
 * @param {Goal[]} declared what the model declares
 * @returns {Goal[]}
 */
function goalsOf(typed, declared) {
  const words = typed.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const here = location.hash || '#/';
  /** @type {Goal[]} */
  const all = [
    ...visited.value.filter(({ href }) => href !== here).map(({ href, parts, params }) => recent(href, parts, params)),
    ...(collections.value?.all ?? []).map(({ name, documents }) => ({
      kind: 'Collections',
      name,
      about: documents === undefined ? undefined : counted(documents, 'document'),
      href: placeHref([name]),
    })),
    ...pages().map(({ name, parts }) => ({ kind: 'Pages', name, href: placeHref(parts) })),
    ...declared,
  ];
  const isIn = (/** @type {Goal} */ { name }) => words.every((word) => name.toLowerCase().includes(word));
  const order = (/** @type {Goal} */ { name }) => (name.toLowerCase().startsWith(words[0] ?? '') ? 0 : 1);
  const kinds = words.length > 0 ? ['Collections', 'Pages', 'Rules', 'Relations', 'Recent'] : ['Recent', 'Pages', 'Collections'];
  return kinds.flatMap((kind) =>
    all
      .filter((goal) => goal.kind === kind && isIn(goal))
      .sort((a, b) => order(a) - order(b))
      .slice(0, MOST),
  );
}

/**
 * Returns a place of this tab as a goal.
 * @param {string} href
 * @param {string[]} parts
 * @param {URLSearchParams} params
 * @returns {Goal}
 */
function recent(href, parts, params) {
  const about = ['filter', 'sort', 'at'].map((name) => params.get(name)).filter(Boolean);
  return { kind: 'Recent', name: routeOf({ parts, params }).title, about: about.join(' · ') || undefined, href };
}

/** Returns the rules and relations of the model, none where the reader may not read it. @returns {Goal[]} */
function useDeclared() {
  const [goals, setGoals] = useState(/** @type {Goal[]} */ ([]));
  useEffect(() => {
    const ending = new AbortController();
    const take = (/** @type {any} */ model) => {
      const of = Object.entries(model.collections ?? {});
      const each = (/** @type {string} */ part) =>
        of.flatMap(([name, one]) => Object.keys(one?.[part] ?? {}).map((key) => name + '.' + key));
      setGoals([
        ...each('derive').map((name) => ({ kind: 'Rules', name, href: placeHref(['_model'], { rule: name }) })),
        ...each('relations').map((name) => ({ kind: 'Relations', name, href: placeHref(['_model'], { relation: name }) })),
      ]);
    };
    if (pages().some(({ parts }) => parts[0] === '_model')) ask({ path: ['_model'], signal: ending.signal }).then(take, () => {});
    return () => ending.abort();
  }, []);
  return goals;
}

/** In so many collections an id is looked for, so many at a time, once nothing was typed for so many milliseconds; so many are shown. */
const LOOK = { collections: 60, atOnce: 4, rest: 150, shown: 4 };

/**
 * Looks for documents whose ids begin with what is typed, in all collections, or in the one that stands before a slash.
 * @param {string} typed
 * @returns {{ found: Goal[], busy: boolean }}
 */
function useDocuments(typed) {
  const [state, setState] = useState({ typed: '', found: /** @type {Goal[]} */ ([]), busy: false });
  useEffect(() => {
    if (typed === '' || new TextEncoder().encode(typed).length > 400) return undefined;
    const ending = new AbortController();
    const timer = setTimeout(async () => {
      setState({ typed, found: [], busy: true });
      await lookFor(typed, ending.signal, (goals) => setState((now) => ({ ...now, found: [...now.found, ...goals] })));
      if (!ending.signal.aborted) setState((now) => ({ ...now, busy: false }));
    }, LOOK.rest);
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [typed]);
  return state.typed === typed ? state : { found: NONE, busy: typed !== '' };
}

/** @type {Goal[]} */
const NONE = [];

/**
 * Asks collections for documents by their ids, or by what these begin with.
 * @param {string} typed
 * @param {AbortSignal} signal
 * @param {(goals: Goal[]) => void} take
 */
async function lookFor(typed, signal, take) {
  const all = collections.value?.all ?? [];
  const slash = typed.indexOf('/');
  const named = slash > 0 ? typed.slice(0, slash) : '';
  const waiting = all
    .filter(({ documents }) => documents !== 0)
    .sort((a, b) => (b.documents ?? 0) - (a.documents ?? 0))
    .slice(0, LOOK.collections)
    .map(({ name }) => ({ name, id: typed }));
  if (all.some(({ name }) => name === named)) waiting.unshift({ name: named, id: typed.slice(slash + 1) });
  const next = async () => {
    for (let one = waiting.shift(); one && !signal.aborted; one = waiting.shift()) {
      const { name, id } = one;
      const ids = await idsOf(name, id, signal);
      if (!signal.aborted && ids.length > 0)
        take(ids.map((found) => ({ kind: 'Documents', name: `${name}/${found}`, href: placeHref([name, found]) })));
    }
  };
  await Promise.all(Array.from({ length: LOOK.atOnce }, next));
}

/**
 * Returns ids of a collection that begin with a text, the first of them. Where the server refuses that, it is the one that is the text.
 * @param {string} name
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>}
 */
async function idsOf(name, id, signal) {
  const asked = { path: [name], signal };
  const filter = { filter: 'doc.id.startsWith(params.id)', params: JSON.stringify({ id }), limit: LOOK.shown, fields: 'id' };
  const of = await ask({ ...asked, query: filter })
    .catch(() => ask({ ...asked, query: { id, fields: 'id' } }))
    .catch(() => null);
  return (of?.items ?? []).map((/** @type {any} */ one) => one.id);
}
