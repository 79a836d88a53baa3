// The text of a file becomes rows of CSV (RFC 4180). This knows no page, no mapping and no server.
/**
 * How much is taken: columns, characters of a row, bytes of a file as it is and as it is unpacked, characters of a path,
 * ids that are compared.
 */
export const MAX_CSV = { columns: 500, row: 8 << 20, size: 256 << 20, path: 200, ids: 2_000_000 };

/** What is said of a file that is too large. */
export const LARGE = 'Import it by fanfold import.';

/** What is said of a file that the browser does not read any more. */
const CHANGED = 'The file cannot be read. It was changed, moved or taken away since it was chosen: choose it again.';

/** @typedef {{ line: number, cells: string[], fault: string }} Row line counts from 1; fault says why it is no row, empty for one */

/** Says why a file or a mapping gives no documents at all. */
export class NotCSV extends Error {}

/**
 * Puts the pieces of a text together to rows. A row that is wrong says so, and the next line begins another. Where the first line ends
 * with a carriage return alone, so do all.
 */
export class Rows {
  /** @param {string} [delimiter] @param {number} [most] characters of a row */
  constructor(delimiter = ',', most = MAX_CSV.row) {
    this.delimiter = delimiter;
    this.most = most;
    this.token = new RegExp(`"|\\r?\\n|[${delimiter}]|\\r|[^"\\r\\n${delimiter}]+`, 'y');
    this.isFirst = true;
    this.ends = ''; // what the first line ends with
    this.waiting = '';
    this.line = this.from = 1;
    this.cells = /** @type {string[]} */ ([]);
    this.state = /** @type {'start' | 'plain' | 'quoted' | 'closed'} */ ('start');
    this.cell = this.fault = '';
    this.opened = this.wrong = this.length = 0;
  }

  /** Takes a piece of the text, and returns the rows that it completes. @param {string} piece @throws {NotCSV} for one that is too long */
  add(piece) {
    let text = this.waiting + (this.isFirst ? piece.replace(/^\ufeff/, '') : piece);
    this.isFirst &&= piece === '';
    this.waiting = text.endsWith('\r') ? '\r' : ''; // a line feed may follow
    if (this.waiting) text = text.slice(0, -1);
    const rows = [];
    for (let at = 0; at < text.length;) {
      const was = at;
      if (this.state === 'quoted') at = this.quoted(text, at);
      else {
        this.token.lastIndex = at;
        this.token.test(text);
        at = this.token.lastIndex;
        const token = text.slice(was, at);
        const isEnd = token.endsWith('\n') || (token === '\r' && this.ends !== '\n');
        if (isEnd) rows.push(...this.finish(token.at(-1)));
        else this.take(token);
      }
      if (this.state !== 'start' || this.cells.length > 0) this.length += at - was;
      if (this.length <= this.most) continue;
      throw new NotCSV(`The row of line ${this.from} is too long, perhaps for a quote in line ${this.opened || this.from} without an end.`);
    }
    return rows;
  }

  /** Takes text within quotes, and returns how far it was read. @param {string} text @param {number} at */
  quoted(text, at) {
    const end = text.indexOf('"', at);
    const part = text.slice(at, end < 0 ? undefined : end);
    this.cell += part;
    const line = this.ends === '\r' ? '\r' : '\n';
    for (let i = part.indexOf(line); i >= 0; i = part.indexOf(line, i + 1)) this.line++;
    if (end >= 0) this.state = 'closed';
    return at + part.length + (end >= 0 ? 1 : 0);
  }

  /** Takes what stands outside of quotes. @param {string} token */
  take(token) {
    if (token === this.delimiter) {
      this.cells.push(this.cell);
      this.cell = '';
      this.state = 'start';
    } else if (token === '"' && this.state !== 'plain') {
      if (this.state === 'closed') this.cell += '"';
      else this.opened = this.line;
      this.state = 'quoted';
    } else {
      if (token === '"') this.refuse('a quote stands in a cell that does not begin with one', this.line);
      if (this.state === 'closed') this.refuse('text follows a cell in quotes; a quote within quotes is written twice', this.line);
      this.state = 'plain';
      this.cell += token;
    }
  }

  /** Notes what is wrong with the row, unless something was before. @param {string} why @param {number} line */
  refuse(why, line) {
    if (!this.fault) [this.fault, this.wrong] = [why, line];
  }

  /** Ends a row, and begins the next. @param {string} [by] @returns {Row[]} none for an empty line */
  finish(by = '') {
    this.ends ||= by;
    const isEmpty = this.cells.length === 0 && this.state === 'start';
    const row = { line: this.fault ? this.wrong : this.from, cells: [...this.cells, this.cell], fault: this.fault };
    this.from = ++this.line;
    this.cells = [];
    this.state = 'start';
    this.cell = this.fault = '';
    this.opened = this.length = 0;
    return isEmpty ? [] : [row];
  }

  /** Ends the text, and returns the row that no line break ends. */
  end() {
    if (this.state === 'quoted') this.refuse('the quote that opens in this line is never closed', this.opened);
    return this.finish();
  }
}

/** Says why bytes of a file did not come. @param {any} error @param {boolean} isPacked */
const unread = (error, isPacked) =>
  isPacked && !['NotReadableError', 'NotFoundError'].includes(error?.name)
    ? new NotCSV('The file is no whole gzip. Unpack it first.')
    : new NotCSV(CHANGED);

/**
 * Reads the bytes of a file, unpacked where it is gzip.
 * @param {Blob} file
 * @param {AbortSignal} [signal]
 * @throws {NotCSV} where it cannot be read
 */
async function* bytesOf(file, signal) {
  const [a, b, c] = await file
    .slice(0, 3)
    .arrayBuffer()
    .then(
      (bytes) => new Uint8Array(bytes),
      (error) => {
        throw unread(error, false);
      },
    );
  if (a === 0x28 && b === 0xb5 && c === 0x2f) throw new NotCSV('The file is packed as zstd. Unpack it first, or pack it as gzip.');
  const isPacked = a === 0x1f && b === 0x8b;
  const reader = (isPacked ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream()).getReader();
  let size = 0;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      if (done) return;
      size += value.length;
      if (size > MAX_CSV.size) throw new NotCSV(`The file has more than ${MAX_CSV.size >> 20} MiB${isPacked ? ' unpacked' : ''}. ${LARGE}`);
      yield value;
    }
  } catch (error) {
    throw signal?.aborted || error instanceof NotCSV ? error : unread(error, isPacked);
  } finally {
    reader.cancel().catch(() => {}); // somebody may want the beginning alone
  }
}

/** Returns what decodes a text by its first bytes. @param {Uint8Array} bytes */
function decoderOf([a, b]) {
  const name = a === 0xff && b === 0xfe ? 'utf-16le' : a === 0xfe && b === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(name, { fatal: true, ignoreBOM: true });
}

/** Reads the text of a file in pieces. @param {Blob} file @param {AbortSignal} [signal] @throws {NotCSV} where it is no text */
export async function* textsOf(file, signal) {
  let decoder = /** @type {TextDecoder | undefined} */ (undefined);
  const decoded = (/** @type {Uint8Array | undefined} */ bytes) => {
    try {
      return decoder?.decode(bytes, { stream: bytes !== undefined }) ?? '';
    } catch {
      throw new NotCSV('The file is not UTF-8. Save it as UTF-8, or import it by fanfold import --encoding.');
    }
  };
  for await (const bytes of bytesOf(file, signal)) {
    decoder ??= decoderOf(bytes);
    yield decoded(bytes);
  }
  yield decoded(undefined);
}

/**
 * The lines of a file by the numbers of the documents that were made of them, with an entry where they do not go on by one.
 */
export class Lines {
  constructor() {
    this.length = 0;
    this.next = 0;
    this.runs = /** @type {{ from: number, line: number }[]} */ ([]);
  }

  /** @param {number} line */
  push(line) {
    if (line !== this.next) this.runs.push({ from: this.length, line });
    this.next = line + 1;
    this.length++;
  }

  /** @param {number} i */
  at(i) {
    const run = i < this.length ? this.runs.findLast(({ from }) => from <= i) : undefined;
    return run && run.line + i - run.from;
  }
}
