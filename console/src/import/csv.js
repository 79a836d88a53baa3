// CSV (RFC 4180) becomes lines of JSON, and each remembers its line of the file. This knows no page and no server.
import { scan } from '../lib/json.js';

/** How much is taken: columns, characters of a row, bytes of a file, characters of a path. */
export const MAX_CSV = { columns: 500, row: 8 << 20, size: 256 << 20, path: 200 };

/** How much is read to guess, in bytes and rows; how many documents are shown, and how many refused lines are told. */
const FIRST = { bytes: 1 << 20, rows: 100, documents: 5, refusals: 20 };

/** What types of columns are called. @type {Record<string, string>} */
export const TYPES = { text: 'text', number: 'number', boolean: 'true or false', json: 'JSON', none: 'leave out' };

/** What separates columns. @type {Record<string, string>} */
export const SEPARATORS = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' };

/** @typedef {{ line: number, cells: string[], fault: string }} Row line counts from 1; fault says why it is no row, empty for one */
/** @typedef {'text' | 'number' | 'boolean' | 'json' | 'none'} Type */
/** @typedef {{ name: string, path: string, type: Type }} Column */
/** @typedef {{ delimiter: string, columns: Column[], rows: Row[] }} Table rows are the first ones, without the header line */
/** @typedef {Map<string, any>} Plan the number of a column, or another plan, by the name of a member as JSON */

/** Says why a file or a mapping gives no documents at all. */
export class NotCSV extends Error {}

/** Puts the pieces of a text together to rows. A row that is wrong says so, and the next line begins another. */
export class Rows {
  /** @param {string} [delimiter] @param {number} [most] characters of a row */
  constructor(delimiter = ',', most = MAX_CSV.row) {
    this.delimiter = delimiter;
    this.most = most;
    this.token = new RegExp(`"|\\r?\\n|[${delimiter}]|\\r|[^"\\r\\n${delimiter}]+`, 'y');
    this.isFirst = true;
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
        if (token.endsWith('\n')) rows.push(...this.finish());
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
    for (let i = part.indexOf('\n'); i >= 0; i = part.indexOf('\n', i + 1)) this.line++;
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

  /** Ends a row, and begins the next. @returns {Row[]} none for an empty line */
  finish() {
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

/**
 * What makes a value of a cell, by type: its text as JSON, undefined where the cell is none.
 * @type {Record<string, (cell: string) => string | undefined>}
 */
const VALUES = {
  text: JSON.stringify,
  number: (cell) => (/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(cell) ? cell : undefined),
  boolean: (cell) => (/^(?:true|false)$/i.test(cell) ? cell.toLowerCase() : undefined),
  json: (cell) => {
    try {
      scan(cell);
      return cell.replace(/[\r\n]+/g, ' '); // a text has none, so they stand between tokens
    } catch {
      return undefined;
    }
  },
};

/** What a cell is called that is none of a type. @type {Record<string, string>} */
const NONE = { number: 'no number as JSON has it', boolean: 'neither true nor false', json: 'no JSON' };

/** Returns the type that all values of a column have. @param {string[]} values @returns {Type} */
function typeOf(values) {
  const all = (/** @type {Type} */ type) => values.every((cell) => VALUES[type](cell) !== undefined);
  if (values.length === 0) return 'text';
  if (all('number')) return 'number';
  if (all('boolean')) return 'boolean';
  return values.every((cell) => /^\s*[{[]/.test(cell)) && all('json') ? 'json' : 'text';
}

/**
 * Returns the path that a column's name suggests. Names that begin with _ are the store's.
 * @param {string} name
 * @param {number} i
 */
export const pathOf = (name, i) =>
  name
    .slice(0, MAX_CSV.path)
    .split('.')
    .map((step) => step.trim().replace(/^_+/, ''))
    .filter(Boolean)
    .join('.') || 'column' + (i + 1);

/**
 * Guesses what columns become. The first whose name is one of an id, with a value of its own in each row, is the id.
 * @param {string[]} names
 * @param {Row[]} rows
 */
export function guess(names, rows) {
  const columns = names.map((name, i) => {
    const values = rows.map(({ cells }) => cells[i] ?? '').filter(Boolean);
    const isOwn = values.length === rows.length && new Set(values).size === values.length;
    return { name, path: pathOf(name, i), type: typeOf(values), isID: isOwn && /^(?:[iI][dD]|.*_[iI][dD]|.*[a-z]Id)$/.test(name) };
  });
  const id = columns.find(({ name }) => /^_?id$/i.test(name)) ?? columns.find(({ isID }) => isID);
  if (id) Object.assign(id, { path: 'id', type: 'text' });
  return columns.map(({ isID: _, ...column }) => /** @type {Column} */ (column));
}

/**
 * Makes a column the id, and what was the id a member again.
 * @param {Column[]} columns
 * @param {number} id -1 for none
 * @returns {Column[]}
 */
export const withID = (columns, id) =>
  columns.map((of, i) => {
    if (i === id) return { ...of, path: 'id', type: 'text' };
    if (of.path !== 'id') return of;
    return pathOf(of.name, i) === 'id' ? { ...of, path: 'id_', type: 'none' } : { ...of, path: pathOf(of.name, i) };
  });

/** Returns where the values of columns go. @param {Column[]} columns @returns {Plan} @throws {NotCSV} */
export function planOf(columns) {
  /** @type {Plan} */
  const root = new Map();
  for (const [i, { name, path, type }] of columns.entries()) {
    if (type === 'none') continue;
    const steps = path.split('.').map((step) => JSON.stringify(step));
    if (steps.includes('""')) throw new NotCSV(`Column ${i + 1}, ${name.slice(0, 100)}, has no path such as title or address.city.`);
    const last = /** @type {string} */ (steps.pop());
    let at = root;
    for (const step of steps) {
      if (!at.has(step)) at.set(step, new Map());
      at = at.get(step);
      if (!(at instanceof Map)) break;
    }
    if (!(at instanceof Map) || at.has(last)) throw new NotCSV(`Two columns become ${path}, or one is within the other: change a path.`);
    at.set(last, i);
  }
  if (root.size === 0) throw new NotCSV('Every column is left out.');
  return root;
}

/**
 * Returns an object as JSON, empty where all its cells are.
 * @param {Plan} plan
 * @param {Column[]} columns
 * @param {string[]} cells
 * @returns {string}
 */
function objectOf(plan, columns, cells) {
  const members = [];
  for (const [name, to] of plan) {
    let text = to instanceof Map ? objectOf(to, columns, cells) : cells[to];
    if (text === '') continue;
    if (!(to instanceof Map)) {
      const value = VALUES[columns[to].type](text);
      if (value === undefined)
        throw new NotCSV(`column ${columns[to].name.slice(0, 100)} is ${JSON.stringify(text.slice(0, 100))}, ${NONE[columns[to].type]}`);
      text = value;
    }
    members.push(name + ':' + text);
  }
  return members.length > 0 ? '{' + members.join(',') + '}' : '';
}

/**
 * Returns a row's document as JSON.
 * @param {Plan} plan
 * @param {Column[]} columns
 * @param {Row} row
 * @throws {NotCSV} says why there is none
 */
function documentOf(plan, columns, { cells, fault }) {
  if (fault) throw new NotCSV(fault);
  if (cells.length !== columns.length)
    throw new NotCSV(`the row has another number of cells than the header line: ${cells.length}, not ${columns.length}`);
  const text = objectOf(plan, columns, cells);
  if (text === '') throw new NotCSV('the row has no value');
  return text;
}

/** Returns the first documents as they will be, in JSON. @param {Table} table @throws {NotCSV} for a mapping that gives none */
export function firstOf({ columns, rows }) {
  const plan = planOf(columns);
  const documents = [];
  for (const row of rows) {
    try {
      if (documents.length < FIRST.documents) documents.push(documentOf(plan, columns, row));
    } catch (error) {
      if (!(error instanceof NotCSV)) throw error; // the dry run tells the line
    }
  }
  return documents;
}

/** Reads the text of a file in pieces. @param {Blob} file @param {AbortSignal} [signal] @throws {NotCSV} where it is not UTF-8 */
async function* textsOf(file, signal) {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const reader = file.stream().getReader();
  const decoded = (/** @type {Uint8Array | undefined} */ bytes) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new NotCSV('The file is not UTF-8. Save it as UTF-8, or import it by fanfold import --encoding.');
    }
  };
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      yield decoded(value);
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {}); // somebody may want the beginning alone
  }
}

/**
 * Reads the beginning of a file, and guesses what its columns become.
 * @param {Blob} file
 * @param {string} [delimiter] what separates columns, if it is known
 * @returns {Promise<Table>}
 * @throws {NotCSV}
 */
export async function tableOf(file, delimiter) {
  if (file.size > MAX_CSV.size) throw new NotCSV(`The file has more than ${MAX_CSV.size >> 20} MiB. Import it by fanfold import.`);
  let text = '';
  for await (const piece of textsOf(file)) {
    text += piece;
    if (text.length >= FIRST.bytes) break;
  }
  const isWhole = text.length < FIRST.bytes;
  text = text.slice(0, FIRST.bytes);
  const read = (/** @type {string} */ by) => {
    const reader = new Rows(by);
    return [...reader.add(text), ...(isWhole ? reader.end() : [])];
  };
  const header = (/** @type {string} */ by) => read(by)[0]?.cells ?? [];
  const by = delimiter ?? Object.keys(SEPARATORS).find((one) => header(one).length > 1) ?? ',';
  const [first, ...rows] = read(by);
  if (!first) throw new NotCSV(isWhole ? 'The file has no header line.' : 'The header line is too long.');
  if (first.fault) throw new NotCSV(`The header line is wrong: ${first.fault}.`);
  if (first.cells.length > MAX_CSV.columns) throw new NotCSV(`The file has more than ${MAX_CSV.columns} columns.`);
  const some = rows.slice(0, FIRST.rows);
  return {
    delimiter: by,
    rows: some,
    columns: guess(
      first.cells,
      some.filter(({ fault }) => !fault),
    ),
  };
}

/**
 * Makes lines of JSON of a file.
 * @param {Blob} file
 * @param {Table} table
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ body: Blob, lines: number[], refused: number, refusals: { line: number, detail: string }[] }>}
 * @throws {NotCSV}
 */
export async function convert(file, { delimiter, columns }, signal) {
  const plan = planOf(columns);
  const reader = new Rows(delimiter);
  const out = { parts: /** @type {Blob[]} */ ([]), lines: /** @type {number[]} */ ([]), refused: 0, refusals: /** @type {any[]} */ ([]) };
  let isHeader = true;
  const take = (/** @type {Row[]} */ rows) => {
    const texts = [];
    for (const row of isHeader ? rows.slice(1) : rows) {
      try {
        texts.push(documentOf(plan, columns, row) + '\n');
        out.lines.push(row.line);
      } catch (error) {
        if (!(error instanceof NotCSV)) throw error;
        if (++out.refused <= FIRST.refusals) out.refusals.push({ line: row.line, detail: error.message });
      }
    }
    isHeader &&= rows.length === 0;
    if (texts.length > 0) out.parts.push(new Blob(texts)); // the browser may put it on the disk
  };
  for await (const piece of textsOf(file, signal)) take(reader.add(piece));
  take(reader.end());
  const { parts, ...counts } = out;
  return { body: new Blob(parts), ...counts };
}
