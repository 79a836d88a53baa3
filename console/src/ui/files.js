import { html, useId, useState } from '../lib/html.js';

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
