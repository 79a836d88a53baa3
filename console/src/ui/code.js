import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/html.js';
import { select } from './parts.js';

/**
 * A text that is edited.
 * @typedef {object} Box
 * @property {() => string} text
 * @property {(text: string) => void} put puts another text in its place
 * @property {() => void} focus
 * @property {(edit: { from: number, to: number, insert: string }) => void} edit puts a text in the place of a run of it
 * @property {(from: number, to: number) => void} select shows a run of it as selected, and in sight
 */

/** What is wrong at a place of the text. @typedef {{ what: string, from: number, to: number }} Mistake */

/** Something that may stand at the cursor. @typedef {{ label: string, detail?: string }} Choice */

/**
 * Where the cursor stands in JSON.
 * @typedef {object} Spot
 * @property {string[]} path names and, for an element of an array, empty texts
 * @property {boolean} isName whether a name is written there, and no value
 * @property {string[]} taken names that the object has already
 */

/**
 * @typedef {object} Coding
 * @property {{ current: Box | null }} box
 * @property {string} label the name that a screen reader tells
 * @property {string} initial
 * @property {'json' | 'yaml' | 'cel'} language
 * @property {boolean} [focus] it takes the focus once it is there
 * @property {boolean} [wrong]
 * @property {string} [about] the id of what says what is wrong
 * @property {boolean} [readOnly]
 * @property {number} [rows] how many lines it is high at least
 * @property {() => void} [onReady] the box is there
 * @property {() => void} [onInput]
 * @property {() => void} [onSave] Ctrl+S
 * @property {(text: string, signal: AbortSignal) => Promise<Mistake[]>} [check] looks for mistakes as one types
 * @property {(spot: Spot) => Promise<Choice[]>} [complete] what may stand at a place in JSON
 * @property {(before: string, text: string) => Promise<{ from: number, choices: Choice[] }>} [completeText] what may follow on a text
 */

/**
 * An editor of code: highlighting, folding, search, brackets, undo, mistakes and completion. Tab leaves it. Its library is loaded when
 * the first one is shown. Where that cannot be had, it is a plain text box.
 * @param {Coding} props
 */
export function Code(props) {
  const [library, setLibrary] = useState(/** @type {typeof import('./codemirror.js') | 'none' | null} */ (loaded));
  useEffect(() => {
    if (!library) load().then(setLibrary);
  }, []);
  if (!library) return html`<div class="code waiting" role="status"><span class="quiet">The editor is being loaded</span></div>`;
  return library === 'none' ? html`<${Plain} ...${props} />` : html`<${Mounted} library=${library} ...${props} />`;
}

/** @type {typeof import('./codemirror.js') | null} */
let loaded = null;

/** Loads the editor, which is a file of its own. */
const load = () =>
  import('./codemirror.js').then(
    (library) => (loaded = library),
    () => /** @type {const} */ ('none'),
  );

/**
 * The editor in a shadow root: its styles are sheets there, because the page allows no style elements.
 * @param {Coding & { library: typeof import('./codemirror.js') }} props
 */
function Mounted(props) {
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  const latest = useRef(props);
  latest.current = props;
  const made = useRef(/** @type {ReturnType<typeof props.library.mount> | null} */ (null));
  useLayoutEffect(() => {
    const of = props.library.mount(/** @type {HTMLElement} */ (host.current), () => latest.current);
    made.current = of;
    props.box.current = of.box;
    if (props.focus) of.box.focus();
    props.onReady?.();
    return () => {
      props.box.current = null;
      of.end();
    };
  }, []);
  useLayoutEffect(() => made.current?.tell(), [props.wrong, props.readOnly]);
  return html`<div class="code" ref=${host}></div>`;
}

/**
 * The same as a text box of the browser.
 * @param {Coding} props
 */
function Plain({ box, label, initial, focus, wrong, about, readOnly, rows = 12, onReady, onInput }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() => {
    const of = /** @type {HTMLTextAreaElement} */ (area.current);
    box.current = {
      text: () => of.value,
      put: (text) => {
        of.value = text;
        onInput?.();
      },
      edit: ({ from, to, insert }) => {
        of.setRangeText(insert, from, to);
        onInput?.();
      },
      focus: () => of.focus(),
      select: (from, to) => select(of, from, to),
    };
    if (focus) {
      of.focus();
      of.setSelectionRange(0, 0);
    }
    onReady?.();
    return () => {
      box.current = null;
    };
  }, []);
  return html`<textarea class="document" aria-label=${label} ref=${area} defaultValue=${initial} rows=${rows} readOnly=${readOnly}
    onInput=${onInput} spellcheck=${false} autocomplete="off" autocapitalize="off"
    aria-invalid=${wrong ? 'true' : undefined} aria-describedby=${wrong ? about : undefined}></textarea>`;
}
