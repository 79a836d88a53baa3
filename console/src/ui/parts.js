import { html, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { addressOf, curlOf, key, request } from '../lib/http.js';
import { localForm, wordsOf } from '../lib/moment.js';
import { placeHref } from '../lib/place.js';
import { clockNow, pieces } from '../lib/text.js';

/** @typedef {import('../lib/http.js').Asked} Asked */

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
 * A time of the API in the reader's zone, in words where it is recent. The title has it in UTC, exactly, and its position.
 * @param {{ text: string, position?: string, exact?: boolean }} props text is an RFC 3339 time, or that of a header; exact has no words
 */
export function Time({ text, position, exact = false }) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  const words = exact ? localForm(at) : wordsOf(at, clockNow());
  const utc = /Z$/.test(text) ? text : at.toISOString();
  return html`<time datetime=${at.toISOString()} title=${utc + (position ? ', at ' + position : '')}>${words}</time>`;
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
 * @param {{ collection: string, id: string, at?: string | null, short?: boolean, tab?: number }} props at is a position or a time to stand
 * at; short leaves the collection out; tab is the link's tabindex
 */
export const DocumentLink = ({ collection, id, at, short = false, tab }) =>
  html`<a href=${placeHref([collection, id], { at })} tabindex=${tab}
    class=${id.includes('  ') ? 'exact' : undefined}>${!short && collection + '/'}<${Id}
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

// A request in the languages of those who send it.

/** Returns the headers that a request has besides its key. @param {Asked} asked @returns {[string, string][]} */
const headersOf = ({ headers, body }) =>
  Object.entries({ ...(typeof body === 'string' ? { 'Content-Type': 'application/json' } : {}), ...headers });

/** A text in Go and in JavaScript. @param {string} text */
const quoted = (text) => JSON.stringify(text);

/**
 * Returns the statements of Go that send a request.
 * @param {Asked} asked
 */
function goOf(asked) {
  const body = typeof asked.body === 'string' ? `strings.NewReader(${quoted(asked.body)})` : 'nil';
  const lines = [
    `req, err := http.NewRequestWithContext(ctx, ${quoted(asked.method ?? 'GET')}, ${quoted(addressOf(asked))}, ${body})`,
    'if err != nil {\n\treturn err\n}',
    ...(key.value === '' ? [] : ['req.Header.Set("Authorization", "Bearer "+os.Getenv("FANFOLD_KEY"))']),
    ...headersOf(asked).map(([name, value]) => `req.Header.Set(${quoted(name)}, ${quoted(value)})`),
    'resp, err := http.DefaultClient.Do(req)',
    'if err != nil {\n\treturn err\n}',
    'defer resp.Body.Close()',
  ];
  return lines.join('\n') + '\n';
}

/**
 * Returns the statements of JavaScript that send a request.
 * @param {Asked} asked
 */
function scriptOf(asked) {
  const headers = headersOf(asked).map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},`);
  if (key.value !== '') headers.unshift('    Authorization: `Bearer ${process.env.FANFOLD_KEY}`,');
  const options = [
    ...(asked.method && asked.method !== 'GET' ? [`  method: ${quoted(asked.method)},`] : []),
    ...(headers.length ? ['  headers: {', ...headers, '  },'] : []),
    ...(typeof asked.body === 'string' ? [`  body: ${quoted(asked.body)},`] : []),
  ];
  const end = options.length ? `, {\n${options.join('\n')}\n}` : '';
  return `const response = await fetch(${quoted(addressOf(asked))}${end});\nif (!response.ok) throw new Error(await response.text());\n`;
}

/** Returns the JSON of a request: what a write sends, and what a read answers. @param {Asked} asked @returns {Promise<string>} */
const jsonOf = async (asked) => (typeof asked.body === 'string' ? asked.body : (await request(asked)).text);

/** What a request can be copied as. @type {[string, (asked: Asked) => string | Promise<string>][]} */
const FORMS = [
  ['JSON', jsonOf],
  ['curl', curlOf],
  ['Go', goOf],
  ['JavaScript', scriptOf],
];

/**
 * A small menu that copies a request. Where the clipboard is not to be had, the text is shown.
 * @param {{ asked: Asked }} props
 */
export function CopyAs({ asked }) {
  const [isOpen, setOpen] = useState(false);
  const [said, setSaid] = useState('');
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const copy = async (/** @type {string} */ name, /** @type {(asked: Asked) => string | Promise<string>} */ of) => {
    close();
    let text = '';
    try {
      text = await of(asked);
      await navigator.clipboard.writeText(text);
      setSaid(`Copied as ${name}.`);
    } catch (error) {
      setSaid(text || String(/** @type {any} */ (error)?.message ?? error));
    }
  };
  const leave = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Escape' || !isOpen) return;
    event.stopPropagation();
    event.preventDefault();
    close();
  };
  return html`<div class="copy" onKeyDown=${leave}><button type="button" class="small" ref=${button} aria-expanded=${isOpen}
      onClick=${() => setOpen(!isOpen)}>Copy as</button>
    ${
      isOpen &&
      html`<span class="forms">${FORMS.map(
        ([name, of]) => html`<button type="button" class="small" key=${name} aria-label=${'Copy as ' + name}
          onClick=${() => copy(name, of)}>${name}</button>`,
      )}</span>`
    }
    <span role="status">${said && html`<code><${Visible} text=${said} max=${8000} /></code>`}</span></div>`;
}
