// Rows of CSV become lines of JSON by a mapping, and each remembers its line of the file. This knows no page and no server.
import { scan } from '../lib/json.js';
import { LARGE, Lines, MAX_CSV, NotCSV, Rows, textsOf } from './rows.js';

/** How much is read to guess, in bytes and rows; how many documents are shown, and how many refused lines are told. */
const FIRST = { bytes: 1 << 20, rows: 100, documents: 5, refusals: 20 };

/** What types of columns are called. @type {Record<string, string>} */
export const TYPES = { text: 'text', number: 'number', boolean: 'true or false', json: 'JSON', none: 'leave out' };

/** What separates columns. @type {Record<string, string>} */
export const SEPARATORS = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' };

/** @typedef {import('./rows.js').Row} Row */
/** @typedef {'text' | 'number' | 'boolean' | 'json' | 'none'} Type */
/** @typedef {{ name: string, path: string, type: Type }} Column */
/** @typedef {{ delimiter: string, columns: Column[], rows: Row[] }} Table rows are the first ones, without the header line */
/** @typedef {Map<string, any>} Plan the number of a column, or another plan, by the name of a member as JSON */

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

/** Tells whether a column is the id. @param {Column} column */
export const isID = ({ path, type }) => path.trim() === 'id' && type !== 'none';

/** Returns where the values of columns go. @param {Column[]} columns @returns {Plan} @throws {NotCSV} */
export function planOf(columns) {
  /** @type {Plan} */
  const root = new Map();
  for (const [i, { name, path, type }] of columns.entries()) {
    if (type === 'none') continue;
    const steps = path.split('.').map((step) => JSON.stringify(step.trim()));
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

/**
 * Returns the first rows of a text.
 * @param {string} text
 * @param {boolean} isWhole
 * @param {string} delimiter
 * @param {number} most
 */
function firstRows(text, isWhole, delimiter, most) {
  const reader = new Rows(delimiter);
  const rows = [];
  for (let at = 0; at < text.length; at += PIECE) {
    rows.push(...reader.add(text.slice(at, at + PIECE)));
    if (rows.length >= most) return rows.slice(0, most);
  }
  return isWhole ? [...rows, ...reader.end()].slice(0, most) : rows;
}

/** How many characters are read at a time where few rows are wanted. */
const PIECE = 4096;

/**
 * Returns what separates columns: what gives the first line the most cells, and breaks none.
 * @param {(by: string) => Row} headerOf
 */
function separatorOf(headerOf) {
  let best = { by: ',', cells: 1 };
  for (const by of Object.keys(SEPARATORS)) {
    const row = headerOf(by);
    const cells = row?.fault ? 0 : (row?.cells.length ?? 0);
    if (cells > best.cells) best = { by, cells };
  }
  return best.by;
}

/**
 * Reads the beginning of a file, and guesses what its columns become.
 * @param {Blob} file
 * @param {string} [delimiter] what separates columns, if it is known
 * @returns {Promise<Table>}
 * @throws {NotCSV}
 */
export async function tableOf(file, delimiter) {
  if (file.size > MAX_CSV.size) throw new NotCSV(`The file has more than ${MAX_CSV.size >> 20} MiB. ${LARGE}`);
  let text = '';
  for await (const piece of textsOf(file)) {
    text += piece;
    if (text.length >= FIRST.bytes) break;
  }
  const isWhole = text.length < FIRST.bytes;
  text = text.slice(0, FIRST.bytes);
  const by = delimiter ?? separatorOf((one) => firstRows(text, isWhole, one, 1)[0]);
  const [first, ...rows] = firstRows(text, isWhole, by, 1 + FIRST.rows);
  if (!first) throw new NotCSV(isWhole ? 'The file has no header line.' : 'The header line is too long.');
  if (first.fault) throw new NotCSV(`The header line is wrong: ${first.fault}.`);
  if (first.cells.some((cell) => cell.includes('\0')))
    throw new NotCSV('The header line has zero bytes, perhaps of UTF-16 without a mark. Save the file as UTF-8.');
  if (first.cells.length > MAX_CSV.columns) throw new NotCSV(`The file has more than ${MAX_CSV.columns} columns.`);
  const right = rows.filter(({ fault }) => !fault);
  return { delimiter: by, rows, columns: guess(first.cells, right) };
}

/**
 * Counts rows whose id an earlier row has, for documents of the same id replace one another.
 */
export class Ids {
  /** @param {number} column -1 for none @param {number} [most] */
  constructor(column, most = MAX_CSV.ids) {
    this.column = column;
    this.most = most;
    this.known = new Set();
    this.repeated = 0;
    this.first = 0;
  }

  /** Says how many there are, empty for none. */
  told() {
    if (this.repeated === 0) return '';
    const [n, line] = [this.repeated, this.first].map((of) => of.toLocaleString('en'));
    return `${n}, the first is line ${line}: of documents with the same id the last one stays`;
  }

  /** @param {Row} row that gives a document */
  add({ cells, line }) {
    const id = cells[this.column];
    if (!id) return;
    if (this.known.has(id)) {
      if (this.repeated++ === 0) this.first = line;
    } else if (this.known.size < this.most) this.known.add(id);
  }
}

/**
 * Makes lines of JSON of a file.
 * @param {Blob} file
 * @param {Table} table
 * @param {AbortSignal} [signal]
 * @throws {NotCSV}
 */
export async function convert(file, { delimiter, columns }, signal) {
  const plan = planOf(columns);
  const reader = new Rows(delimiter);
  const out = { lines: new Lines(), refused: 0, refusals: /** @type {{ line: number, detail: string }[]} */ ([]) };
  const ids = new Ids(columns.findIndex(isID));
  const parts = /** @type {Blob[]} */ ([]);
  let isHeader = true;
  const take = (/** @type {Row[]} */ rows) => {
    const texts = [];
    for (const row of isHeader ? rows.slice(1) : rows) {
      try {
        texts.push(documentOf(plan, columns, row) + '\n');
        out.lines.push(row.line);
        ids.add(row);
      } catch (error) {
        if (!(error instanceof NotCSV)) throw error;
        if (++out.refused <= FIRST.refusals) out.refusals.push({ line: row.line, detail: error.message });
      }
    }
    isHeader &&= rows.length === 0;
    if (texts.length > 0) parts.push(new Blob([texts.join('')])); // the browser may put it on the disk
  };
  for await (const piece of textsOf(file, signal)) take(reader.add(piece));
  take(reader.end());
  return { body: new Blob(parts), repeated: ids.told(), ...out };
}
