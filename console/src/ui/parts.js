import { html, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { curlOf } from '../lib/http.js';
import { placeHref } from '../lib/place.js';
import { pieces } from '../lib/text.js';

/**
 * A text of somebody else, whose hidden characters are shown as their code points.
 * @param {{ text: string, max?: number }} props max cuts it, with an ellipsis
 */
export function Visible({ text, max }) {
  const cut = max !== undefined && text.length > max ? text.slice(0, max).replace(/[\ud800-\udbff]$/, '') + '…' : text;
  const parts = pieces(cut);
  return parts.length === 1 ? cut : parts.map((piece, i) => (i % 2 ? html`<span class="code-point">${piece}</span>` : piece));
}

/**
 * A time of the API, in UTC and to the second. The whole of it is in the title.
 * @param {{ text: string }} props an RFC 3339 time, or that of a header
 */
export function Time({ text }) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  const iso = at.toISOString();
  return html`<time datetime=${iso} title=${text}>${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;
}

/**
 * A region of a page with its heading.
 * @param {{ title: string, heading?: any, children?: any }} props heading is a ref to the heading, for one that takes the focus now and
 * then
 */
export const Section = ({ title, heading, children }) =>
  html`<section aria-label=${title}><h2 ref=${heading} tabindex=${heading && '-1'}>${title}</h2>${children}</section>`;

/**
 * A table that scrolls sideways within itself where it is wider than the page.
 * @param {{ label: string, head: (string | [string])[], children?: any }} props head names the columns; one of numbers is in brackets
 */
export const Table = ({
  label,
  head,
  children,
}) => html`<div class="scroll" tabindex="0" role="group" aria-label=${`${label}, which may scroll`}><table aria-label=${label}>
  <thead><tr>${head.map((name) =>
    Array.isArray(name)
      ? html`<th scope="col" class="number">${name[0]}</th>`
      : html`<th scope="col">${name}
    </th>`,
  )}</tr></thead>
  <tbody>${children}</tbody></table></div>`;

/**
 * A link to a document.
 * @param {{ collection: string, id: string, at?: string | null, short?: boolean }} props at is a position or a time to stand at; short
 * leaves the collection out
 */
export const DocumentLink = ({ collection, id, at, short = false }) =>
  html`<a href=${placeHref([collection, id], { at })} class=${id.includes('  ') ? 'exact' : undefined}>${!short && collection + '/'}<${Id}
    text=${id} /></a>`;

/**
 * An id. Blanks at its ends are shown as their code points: a link of blanks alone would have no width.
 * @param {{ text: string }} props
 */
function Id({ text }) {
  if (text[0] !== ' ' && text.at(-1) !== ' ') return Visible({ text, max: 300 });
  const [, before, within, after] = /** @type {RegExpExecArray} */ (/^( *)(.*?)( *)$/s.exec(text));
  const blanks = (/** @type {string} */ of) => [...of].map(() => html`<span class="code-point">U+0020</span>`);
  return html`${blanks(before)}<${Visible} text=${within} max=${300} />${blanks(after)}`;
}

/**
 * A link to a document that is named by a text, as in "books/b1". A text that names none stands for itself.
 * @param {{ name: string }} props
 */
export function NamedDocument({ name }) {
  const at = name.indexOf('/');
  return at > 0 ? DocumentLink({ collection: name.slice(0, at), id: name.slice(at + 1) }) : html`<${Visible} text=${name} max=${300} />`;
}

/**
 * Shows a run of a text box's text as selected, and in sight.
 * @param {HTMLTextAreaElement} box
 * @param {number} from
 * @param {number} to
 */
export function select(box, from, to) {
  box.focus();
  box.setSelectionRange(from, to);
  // A browser scrolls to where somebody types, not to a selection: the lines before it are counted.
  const lines = box.value.slice(0, from).split('\n').length;
  const height = parseFloat(getComputedStyle(box).lineHeight) || 20;
  box.scrollTop = Math.max(0, (lines - box.rows / 2) * height);
}

/** How many items are shown at first, and how many more at each step. */
const STEP = 20;

/**
 * A list whose items are shown twenty at a time. The focus goes to the first new one.
 * @param {{ label: string, items: any[], item: (of: any, i: number) => any, ids?: boolean, more?: () => void, busy?: boolean }} props
 *   ids says that the items are short; more is called where items end and others can be had
 */
export function MoreList({ label, items, item, ids = false, more, busy = false }) {
  const [max, setMax] = useState(STEP);
  const fresh = useRef(/** @type {HTMLElement | null} */ (null));
  const first = max - STEP;
  const isThere = items.length > first;
  useLayoutEffect(() => {
    if (first > 0 && isThere) fresh.current?.focus();
  }, [first, isThere]);
  const next = () => {
    if (items.length < max + STEP) more?.();
    setMax(max + STEP);
  };
  const isMore = items.length > max || (more !== undefined && items.length >= max);
  return html`<ul aria-label=${label} class=${ids ? 'more-list ids' : 'more-list'}>${items.slice(0, max).map(
    (of, i) => html`<li key=${i}
    ref=${first > 0 && i === first ? fresh : undefined} tabindex=${first > 0 && i === first ? -1 : undefined}>${item(of, i)}</li>`,
  )}</ul>
    ${
      isMore &&
      html`<button type="button" class="small" disabled=${busy} aria-label=${`Show 20 more of ${label}`}
      onClick=${next}>Show 20 more</button>`
    }`;
}

/** How many characters are shown at first, and how many more at each step. */
const FIRST = 500;
const PART = 10_000;

/**
 * A text that is cut where it is long. A button shows the rest in steps.
 * @param {{ text: string, of: string, first?: number }} props of names what the text is of
 */
export function LongText({ text, of, first = FIRST }) {
  const [steps, setSteps] = useState(0);
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  const pieces = [];
  let end = 0;
  for (let i = 0; i <= steps && end < text.length; i++) {
    const from = end;
    end = whole(text, first + i * PART);
    pieces.push(text.slice(from, end));
  }
  const left = text.length - end;
  // The button goes with the last step, and the focus must not go with it.
  useLayoutEffect(() => {
    if (steps > 0 && left === 0) shown.current?.focus();
  }, [steps, left]);
  return html`<span class="pieces" ref=${shown} tabindex="-1">${pieces.map(
    (piece, i) => html`<span key=${i}><${Visible} text=${piece} />
    </span>`,
  )}${left > 0 && '…'}</span>
    ${
      left > 0 &&
      html` <button type="button" class="small" aria-label=${`Show more of ${of}`}
      onClick=${() => setSteps(steps + 1)}>Show more</button> <span class="quiet">${left.toLocaleString('en')} characters left</span>`
    }`;
}

/**
 * Returns a text as it is shown. One that is short needs no component, of which a page may have hundreds.
 * @param {string} text
 * @param {string} of names what the text is of
 * @param {number} [first]
 */
export const shortOrLong = (text, of, first = FIRST) =>
  text.length <= first ? Visible({ text }) : html`<${LongText} text=${text} of=${of} first=${first} />`;

/**
 * Returns the last place up to another at which no pair of surrogates is cut.
 * @param {string} text
 * @param {number} at
 */
function whole(text, at) {
  if (at >= text.length) return text.length;
  return /[\ud800-\udbff]/.test(text[at - 1]) ? at - 1 : at;
}

// Amounts in words.

/**
 * Returns a number with its thousands apart. One that JavaScript would round is a text, and stays as it is.
 * @param {number | string} n
 */
export const number = (n) => (typeof n === 'number' ? n.toLocaleString('en') : n);

/**
 * Returns a number with what is counted.
 * @param {number | string} n
 * @param {string} what one of it
 */
export const counted = (n, what) => `${number(n)} ${what}${n === 1 ? '' : 's'}`;

/**
 * Returns how long something takes.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds > 0 && seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
  return `${number(Math.floor(s / 86_400))} d ${Math.floor(s / 3600) % 24} h`;
}

/**
 * Returns a size.
 * @param {number} n bytes
 */
export function size(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; unit++) n /= 1000;
  return `${unit === 0 || n >= 100 ? Math.round(n) : Math.round(n * 10) / 10} ${units[unit]}`;
}

/**
 * A button that copies the command that sends the request behind a page. Where the clipboard is not to be had, the command is shown.
 * @param {{ asked: import('../lib/http.js').Asked }} props
 */
export function CopyAsCurl({ asked }) {
  const [said, setSaid] = useState('');
  const text = curlOf(asked);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied.');
    } catch {
      setSaid(text);
    }
  };
  return html`<p class="curl"><button type="button" onClick=${copy}>Copy as curl</button> <span role="status">${
    said &&
    html`<code>
    <${Visible} text=${said} /></code>`
  }</span></p>`;
}
