import { html, useEffect, useId, useLayoutEffect, useRef, useState } from '../lib/html.js';
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
 * @property {string} [checkedBy] what else mistakes follow from: once it changes, they are looked for again
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
  useLayoutEffect(() => made.current?.tell(), [props.wrong, props.readOnly, props.checkedBy]);
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

/**
 * A field on which files and directories are dropped, with what chooses them for whoever drops nothing.
 * @param {{ title: string, onFiles: (files: File[], left: string[]) => void, children?: any }} props onFiles gets the files, and the names
 * of those of directories
 *   that are no exports
 */
export function DropField({ title, onFiles, children }) {
  const [over, setOver] = useState(false);
  const id = useId();
  const give = (/** @type {File[]} */ plain, /** @type {File[]} */ within) => {
    const [taken, left] = apart(within);
    if (plain.length + taken.length + left.length > 0)
      onFiles(
        [...plain, ...taken],
        left.map(({ name }) => name),
      );
  };
  const chosen = (/** @type {any} */ event) => {
    const all = [...event.target.files];
    const isDirectory = event.target.webkitdirectory;
    event.target.value = ''; // so that the same file can be chosen again
    if (isDirectory)
      give(
        [],
        all.filter((file) => file.webkitRelativePath.split('/').length <= 2),
      ); // those of directories in it are left out, as the command does
    else give(all, []);
  };
  const drop = async (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(false);
    const { plain, within } = await dropped(event.dataTransfer);
    give(plain, within);
  };
  const allow = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(true);
  };
  return html`<section class=${over ? 'drop over' : 'drop'} aria-labelledby=${id} onDragEnter=${allow} onDragOver=${allow}
    onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <h2 id=${id}>${title}</h2>
    ${children}
    <p class="actions"><label>Files <input type="file" multiple onChange=${chosen} /></label>
      <label>A directory <input type="file" webkitdirectory onChange=${chosen} /></label></p>
  </section>`;
}

/** What names of files end with that are read of a directory, as internal/foreign has it. */
const ends = /^[^.].*\.(?:json|ndjson|jsonl)(?:\.gz|\.zst)?$/;

/** Returns the files of a directory that are read, by their names, and the others. @param {File[]} files @returns {[File[], File[]]} */
function apart(files) {
  const is = (/** @type {File} */ { name }) => ends.test(name) && !/\.metadata\.json(?:\.gz|\.zst)?$/.test(name);
  return [files.filter(is).sort((a, b) => (a.name < b.name ? -1 : 1)), files.filter((file) => !is(file) && !file.name.startsWith('.'))];
}

/**
 * Returns the files that were dropped, and those of directories.
 * @param {DataTransfer | null} data
 * @returns {Promise<{ plain: File[], within: File[] }>}
 */
async function dropped(data) {
  const items = [...(data?.items ?? [])].filter(({ kind }) => kind === 'file');
  const entries = items.map((item) => item.webkitGetAsEntry()); // before the first wait: the event takes them along
  const files = items.map((item) => item.getAsFile());
  /** @type {{ plain: File[], within: File[] }} */
  const all = { plain: [], within: [] };
  for (const [i, entry] of entries.entries()) {
    const file = files[i];
    if (entry?.isDirectory) all.within.push(...(await within(/** @type {FileSystemDirectoryEntry} */ (entry))));
    else if (file) all.plain.push(file);
  }
  return all;
}

/**
 * Returns the files of a directory. Those of directories in it are left out, as the command line does.
 * @param {FileSystemDirectoryEntry} directory
 * @returns {Promise<File[]>}
 */
async function within(directory) {
  const reader = directory.createReader();
  /** @type {File[]} */
  const all = [];
  for (;;) {
    const some = /** @type {FileSystemEntry[]} */ (
      await new Promise((resolve, reject) => {
        reader.readEntries(resolve, reject);
      })
    );
    if (some.length === 0) return all;
    for (const entry of some) {
      if (entry.isFile)
        all.push(
          await new Promise((resolve, reject) => {
            /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject);
          }),
        );
    }
  }
}
