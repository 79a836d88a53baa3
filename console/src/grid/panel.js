import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../lib/html.js';
import { request } from '../lib/http.js';
import { read, stepsOf } from '../lib/json.js';
import { useLoad } from '../lib/load.js';
import { placeHref } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { Pending, ProblemAlert } from '../ui/dialogs.js';
import { JsonView } from '../ui/json.js';
import { Visible } from '../ui/parts.js';
import { isDerived, pathOfSteps, readable } from './cells.js';

/** @typedef {import('../lib/json.js').Node} Node */
/** @typedef {import('./cells.js').Ties} Ties */

/**
 * Asks for a document.
 * @param {string[]} path
 * @param {string | null} at
 * @param {AbortSignal} signal
 */
const load = async (path, at, signal) => read((await request({ path, query: { at }, signal })).text, signal);

/**
 * The document of a row, beside the table; or what a chip of it holds.
 * @param {{ collection: string, id: string, at: string | null, writes: boolean, ties: Ties, part?: { path: string, node: Node },
 *   fresh: unknown, focus: number, onClose: () => void, onWhole: () => void }} props fresh changes with the document; focus
 *   changes when the panel is to take the focus; onWhole shows the whole document in place of the part
 */
export function Panel({ collection, id, at, writes, ties, part, fresh, focus, onClose, onWhole }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const { value, problem, again } = useLoad(
    async (signal) => (part ? undefined : { id, root: await load([collection, id], at, signal) }),
    [collection, id, at, part, fresh],
  );
  useLayoutEffect(() => {
    if (focus > 0) heading.current?.focus();
  }, [focus]);
  const root = part?.node ?? (value?.id === id ? value.root : undefined);
  const adds = useMemo(() => addsOf(ties, at, part?.path ?? ''), [ties, at, part]);
  const leave = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Escape') onClose();
  };
  return html`<section aria-label=${`Document ${visible(id)}`} class="side" onKeyDown=${leave}>
    <header><h2 tabindex="-1" ref=${heading}><${Visible} text=${id} max=${80} />${
      part && html`<span class="quiet"> · <${Visible} text=${part.path} max=${80} /></span>`
    }</h2>
      ${part && html`<button type="button" class="tool" onClick=${onWhole}>Whole document</button>`}
      <a href=${placeHref([collection, id], { at })}>Open</a>
      ${writes && html`<a href=${placeHref([collection, id], { edit: '' })}>Edit</a>`}
      <button type="button" class="tool" aria-label="Close the document" onClick=${onClose}>✕</button></header>
    <${ProblemAlert} problem=${part ? undefined : problem} again=${again} />
    <${Pending} of=${{ value: root, problem }} shape="text" />
    ${root && html`<${JsonView} key=${id + ' ' + (part?.path ?? '')} root=${root} adds=${adds} />`}
  </section>`;
}

/**
 * Returns what is known of the values of a document: which lead to others, and which are derived.
 * @param {Ties} ties
 * @param {string | null} at
 * @param {string} from the path of what is shown
 */
function addsOf(ties, at, from) {
  const pathOf = (/** @type {string} */ pointer) => {
    const below = pathOfSteps(stepsOf(pointer));
    return from === '' ? below : from + (below === '' || below.startsWith('[') ? below : '.' + below);
  };
  return {
    marked: (/** @type {string} */ pointer) => isDerived(ties, pathOf(pointer)),
    href: (/** @type {string} */ pointer, /** @type {Node} */ node) => {
      const to = ties.links.get(pathOf(pointer));
      return to !== undefined && (node.kind === 'string' || node.kind === 'number') && readable(node) !== ''
        ? placeHref([to, readable(node)], { at })
        : undefined;
    },
  };
}

/** How many members a look at a document shows, how much of each, and how long somebody points at a link before that, in milliseconds. */
const PEEK = { members: 8, letters: 80, pause: 250 };

/**
 * Shows what a link of an element refers to, while somebody points at it or has it in focus. Escape hides it.
 * @param {{ within: { current: HTMLElement | null }, at: string | null }} props
 */
export function Peek({ within, at }) {
  const [of, setOf] = useState(/** @type {{ to: string, id: string, link: HTMLElement } | null} */ (null));
  const own = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    const box = within.current;
    if (!box) return undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const after = (/** @type {() => void} */ then) => {
      clearTimeout(timer);
      timer = setTimeout(then, PEEK.pause);
    };
    const come = (/** @type {Event} */ event) => {
      const link = /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.target).closest('a[data-to]'));
      if (link) after(() => setOf({ to: link.dataset.to ?? '', id: link.dataset.id ?? '', link }));
      else if (!own.current?.contains(/** @type {globalThis.Node} */ (event.target))) after(() => setOf(null));
      else clearTimeout(timer);
    };
    const go = () => after(() => setOf(null));
    const key = (/** @type {KeyboardEvent} */ event) => {
      clearTimeout(timer);
      if (event.key === 'Escape') setOf(null);
    };
    const gone = () => {
      clearTimeout(timer);
      setOf(null);
    };
    box.addEventListener('pointerover', come);
    box.addEventListener('focusin', come);
    box.addEventListener('pointerleave', go);
    box.addEventListener('keydown', key);
    box.addEventListener('scroll', gone, true);
    return () => {
      clearTimeout(timer);
      box.removeEventListener('pointerover', come);
      box.removeEventListener('focusin', come);
      box.removeEventListener('pointerleave', go);
      box.removeEventListener('keydown', key);
      box.removeEventListener('scroll', gone, true);
    };
  }, []);
  return of?.link.isConnected && html`<${Look} key=${of.to + '/' + of.id} own=${own} at=${at} ...${of} />`;
}

/**
 * A look at a document, under the link that leads to it.
 * @param {{ to: string, id: string, link: HTMLElement, at: string | null, own: { current: HTMLDivElement | null } }} props
 */
function Look({ to, id, link, at, own }) {
  const { value, problem } = useLoad((signal) => load([to, id], at, signal), [to, id, at]);
  const rect = link.getBoundingClientRect();
  const above = rect.bottom > innerHeight * 0.7;
  const where = {
    left: Math.max(8, Math.min(rect.left, innerWidth - 340)) + 'px',
    ...(above ? { bottom: innerHeight - rect.top + 2 + 'px' } : { top: rect.bottom + 2 + 'px' }),
  };
  return html`<div role="tooltip" class="peek" ref=${own} style=${where}><p class="quiet"><${Visible} text=${to + '/' + id}
    max=${100} /></p>
    ${
      problem &&
      html`<p>${
        problem.status === 404
          ? 'There is no such document.'
          : html`<${Visible} text=${problem.title}
      max=${200} />`
      }</p>`
    }
    ${
      value &&
      html`<dl>${(value.members ?? [])
        .filter((m) => m.name !== 'id')
        .slice(0, PEEK.members)
        .map(
          (m) =>
            html`<dt><${Visible} text=${m.name} max=${30} /></dt><dd><${Visible} text=${readable(m.value)} max=${PEEK.letters} /></dd>`,
        )}</dl>`
    }
    ${!value && !problem && html`<p class="quiet">Asking for it</p>`}</div>`;
}
