// Files that are moved in: what they were taken for, what became of them, and what they brought. It lasts as long as the tab, so that
// somebody can go to the model and come back.
import { computed, signal } from './html.js';
import { Problem, ask, request } from './http.js';
import { plain, scan } from './json.js';
import { asProblem } from './load.js';

/** How many files are taken at once. */
const MAX_FILES = 200;

/** How many files that are left out are named. */
const NAMED = 20;

/**
 * How a file is read.
 * @typedef {object} Reading
 * @property {string} from a format; auto finds it out
 * @property {string} collection
 * @property {string} id the member that is the id; empty for none
 * @property {string} list the member that has the documents
 * @property {string} rename OLD=NEW, one a line
 * @property {string} drop names, one a line
 * @property {boolean} keepExtended
 */

/**
 * A file that is moved in.
 * @typedef {object} Moved
 * @property {number} number
 * @property {File} file
 * @property {Reading} reading
 * @property {'looking' | 'looked' | 'storing' | 'stored'} phase
 * @property {any} [found] what a dry run has found
 * @property {any} [stored] what became of it
 * @property {Problem} [problem] of what was done last
 * @property {any} [table] how the columns of CSV become members (import/csv.js)
 * @property {(signal?: AbortSignal) => Promise<Converted>} [convert] makes lines of JSON of a table
 * @property {Converted} [converted] what it made for the look that was found
 */

/**
 * Lines of JSON, and the line of the file that each comes from. Of rows that give no document there is a count, and the
 * first with their lines. Of those with the id of an earlier row it is said how many there are.
 * @typedef {object} Converted
 * @property {Blob} body
 * @property {{ length: number, at: (i: number) => number | undefined }} lines
 * @property {number} refused
 * @property {{ line: number, detail: string }[]} refusals
 * @property {string} repeated
 */

/** How many refused lines a report tells. */
const REFUSALS = 20;

/** Tells whether a file is CSV by its name, packed or not: its columns are mapped before the server sees it. @param {File} file */
export const isTable = ({ name }) => TABLES.test(name);

const TABLES = /\.(?:csv|tsv)(?:\.gz|\.zst)?$/i;

/** The files, in the order in which they came. @type {import('@preact/signals').Signal<Moved[]>} */
export const moved = signal([]);

/** What is to be said of files that were not taken. */
export const leftOut = signal('');

/** Whether the model had no rule when the files were stored: what they brought is stored, too. */
export const wasWithoutRules = signal(false);

/** Whether every file was looked at, and one is yet to be stored. */
export const mayStore = computed(
  () =>
    moved.value.some(({ phase }) => phase === 'looked') &&
    moved.value.every(
      ({ phase, found, reading }) => (phase === 'looked' && found && (reading.collection || !found.proposed)) || phase === 'stored',
    ),
);

/** What ends the look at a file, by its number. @type {Map<number, AbortController>} */
const looks = new Map();

let last = 0;

/** Ends once no earlier file is looked at: the server reads few at a time. @type {Promise<unknown>} */
let turn = Promise.resolve();

/** Changes a file. @param {number} number @param {Partial<Moved>} to */
const change = (number, to) => {
  moved.value = moved.value.map((one) => (one.number === number ? { ...one, ...to } : one));
};

/**
 * Takes files, and looks at each. Nothing is stored.
 * @param {File[]} files
 * @param {string[]} left the names of others, which are no exports
 */
export function take(files, left) {
  const fresh = files.slice(0, MAX_FILES).map((file) => ({
    number: ++last,
    file,
    phase: /** @type {const} */ ('looking'),
    reading: { from: isTable(file) ? 'json' : 'auto', collection: '', id: '', list: '', rename: '', drop: '', keepExtended: false },
  }));
  leftOut.value =
    (files.length > MAX_FILES
      ? `Of ${files.length} files the first ${MAX_FILES} were taken. fanfold import takes a directory with all. `
      : '') +
    (left.length > 0
      ? 'Left out: ' + left.slice(0, NAMED).join(', ') + (left.length > NAMED ? ` and ${left.length - NAMED} more` : '')
      : '');
  moved.value = [...moved.value.filter(({ phase }) => phase !== 'stored'), ...fresh];
  lookAtAll(fresh.filter(({ file }) => !isTable(file)).map(({ number }) => number));
}

/** Looks at files, one after the other. @param {number[]} numbers */
async function lookAtAll(numbers) {
  for (const number of numbers) await look(number);
}

/** Leaves a file out. @param {number} number */
export function leave(number) {
  looks.get(number)?.abort();
  looks.delete(number);
  moved.value = moved.value.filter((one) => one.number !== number);
}

/** Says how a file is to be read. @param {number} number @param {Partial<Reading>} to */
export const read = (number, to) => {
  moved.value = moved.value.map((one) => (one.number === number ? { ...one, reading: { ...one.reading, ...to } } : one));
};

/**
 * Says what the columns of a file become. A look at it holds no more. A file that is being stored, or is, stays as it is.
 * @param {number} number
 * @param {Partial<Moved>} to
 */
export function map(number, to) {
  const one = moved.value.find((of) => of.number === number);
  if (one?.phase === 'storing' || one?.phase === 'stored') return;
  looks.get(number)?.abort();
  change(number, { phase: 'looked', found: undefined, converted: undefined, problem: undefined, ...to });
}

/** Has the server look at a file: a dry run. @param {number} number */
export async function look(number) {
  looks.get(number)?.abort();
  const ending = new AbortController();
  looks.set(number, ending);
  change(number, { phase: 'looking', problem: undefined, stored: undefined });
  const before = turn;
  let end = () => {};
  turn = new Promise((resolve) => (end = () => resolve(undefined)));
  await before;
  try {
    ending.signal.throwIfAborted();
    const one = moved.value.find((of) => of.number === number);
    if (!one) return;
    const converted = await one.convert?.(ending.signal);
    const found = await sent({ ...one, converted }, { dryRun: 'true' }, ending.signal);
    if (ending.signal.aborted) return;
    const collection = one.reading.collection || found.proposed || '';
    change(number, { phase: 'looked', found, converted, reading: { ...one.reading, collection } });
  } catch (error) {
    if (!ending.signal.aborted) change(number, { phase: 'looked', found: undefined, problem: asProblem(error) });
  } finally {
    end();
  }
}

/** Stores every file, one after the other, in their order. */
export async function store() {
  wasWithoutRules.value = !(await hasRules().catch(() => true));
  for (const { number } of moved.value.filter(({ phase }) => phase === 'looked')) {
    const one = moved.value.find((of) => of.number === number);
    if (!one) continue;
    change(number, { phase: 'storing', problem: undefined });
    try {
      const stored = await sent(one, {});
      const isCut = !stored.done && one.found?.done; // the rest of a damaged file does not come
      change(number, { phase: isCut ? 'looked' : 'stored', stored });
      if (isCut) return;
    } catch (error) {
      change(number, { phase: 'looked', problem: ended(asProblem(error), one) });
      return;
    }
  }
}

/** Returns what is said of a file for whose import no answer came. @param {Problem} problem @param {Moved} of */
function ended(problem, { found, reading }) {
  if (problem.status !== 0 || !problem.passing) return problem;
  const isTwice = found?.withoutId > 0 && !reading.id;
  const detail = `Some of its documents may be stored. ${
    isTwice
      ? 'Those without an id are there twice if you import them again: look at the collection first.'
      : 'Import it again: each has its id, and is there once.'
  }`;
  return new Problem(0, { title: 'The server did not answer to the end', detail });
}

/** Returns the parameters by which a file is read. @param {Moved} of */
function parameters({ file, reading }) {
  const query = new URLSearchParams({ from: reading.from });
  const lines = (/** @type {string} */ text) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
  if (file.name) query.set('name', file.name.replace(TABLES, '.ndjson').slice(-100));
  if (reading.collection) query.set('collection', reading.collection);
  if (reading.list) query.set('list', reading.list);
  if (reading.keepExtended) query.set('keepExtended', 'true');
  for (const line of [...lines(reading.rename), ...(reading.id ? [reading.id + '=id'] : [])]) query.append('rename', line);
  for (const name of lines(reading.drop)) query.append('drop', name);
  return query;
}

/**
 * Sends a file to be stored, and returns the report.
 * @param {Moved} of
 * @param {Record<string, string>} more parameters
 * @param {AbortSignal} [signal]
 */
async function sent(of, more, signal) {
  const query = parameters(of);
  for (const [name, value] of Object.entries(more)) query.set(name, value);
  const { file, converted } = of;
  if (converted?.lines.length === 0)
    throw new Problem(0, {
      title: 'No row gives a document',
      detail: converted.refusals.map(({ line, detail }) => `Line ${line}: ${detail}.`).join(' ') || 'The file has a header line alone.',
    });
  const headers = { 'Content-Type': 'application/octet-stream' };
  const body = converted?.body ?? file;
  const report = await ask({ method: 'POST', path: ['_import'], query, headers, body, signal }).catch(async (error) => {
    throw (await isReadable(body)) ? error : new Problem(0, { title: 'The file cannot be read', detail: CHANGED });
  });
  return converted ? inFile(report, converted) : report;
}

/** What is said of a file that was changed. */
const CHANGED = 'It was changed, moved or taken away since it was chosen: choose it again.';

/** Tells whether the browser still reads a file. It refuses one that was changed, as if no server could be reached. @param {Blob} file */
const isReadable = (file) =>
  file
    .slice(0, 1)
    .arrayBuffer()
    .then(
      () => true,
      () => false,
    );

/** Returns a report by the lines of the file that was converted. @param {any} report @param {Converted} of */
function inFile(report, { lines, refused, refusals, repeated }) {
  const all = (report.refusals ?? []).map((/** @type {any} */ one) => ({ ...one, line: lines.at(one.line - 1) ?? one.line }));
  const first = [...all, ...refusals].sort((a, b) => a.line - b.line).slice(0, REFUSALS);
  const sum = report.refused + refused;
  return { ...report, from: 'CSV', repeated, refused: sum, refusals: first.length > 0 ? first : undefined };
}

/** Tells whether the model that applies derives members. @param {AbortSignal} [signal] */
export async function hasRules(signal) {
  const model = await ask({ path: ['_model'], headers: { Accept: 'application/json' }, signal });
  return Object.values(model.collections ?? {}).some((of) => Object.keys(of?.derive ?? {}).length > 0);
}

/**
 * What the files brought for a rule.
 * @typedef {{ rule: string, right: number, wrong: number, missing: number, orphaned: number, isNew: boolean, frozen: boolean, examples:
 * import('./json.js').Node[] }} Rule
 */

/** How many examples of a rule are shown. */
const EXAMPLES = 20;

/**
 * Compares what the stored files brought with what the rules give. The server computes it; of several files the counts are added.
 * @param {AbortSignal} signal
 * @returns {Promise<{ documents: number, rules: Rule[] }>}
 */
export async function compare(signal) {
  /** @type {Map<string, Rule>} */
  const rules = new Map();
  let documents = 0;
  for (const of of moved.value.filter(({ phase }) => phase === 'stored')) {
    const { text } = await request({
      method: 'POST',
      path: ['_drift'],
      query: parameters(of),
      signal,
      body: of.converted?.body ?? of.file,
      headers: { 'Content-Type': 'application/octet-stream', 'Fanfold-Min-Position': of.stored.position, 'Fanfold-Timeout': '60' },
    });
    const root = scan(text);
    const report = plain(root);
    documents += report.documents;
    const nodes = root.members?.find(({ name }) => name === 'rules')?.value.elements ?? [];
    report.rules.forEach((/** @type {any} */ rule, /** @type {number} */ i) =>
      add(rules, rule, nodes[i].members?.find(({ name }) => name === 'examples')?.value.elements ?? []),
    );
  }
  return { documents, rules: [...rules.values()] };
}

/**
 * Adds what one file brought for a rule.
 * @param {Map<string, Rule>} rules
 * @param {any} rule
 * @param {import('./json.js').Node[]} examples
 */
function add(rules, rule, examples) {
  const sum = rules.get(rule.rule) ?? {
    rule: rule.rule,
    right: 0,
    wrong: 0,
    missing: 0,
    orphaned: 0,
    isNew: true,
    frozen: rule.frozen === true,
    examples: [],
  };
  for (const name of /** @type {const} */ (['right', 'wrong', 'missing', 'orphaned'])) sum[name] += rule[name];
  sum.isNew &&= rule.new === true;
  sum.examples = [...sum.examples, ...examples].slice(0, EXAMPLES);
  rules.set(rule.rule, sum);
}

/** How long a line may be, in characters. A row has at most the old and the new text of a document, and what surrounds them. */
const LONGEST = 64 << 20;

/** Puts pieces of a text together to lines. */
export class Splitter {
  constructor() {
    /** @type {string[]} */
    this.pieces = [];
    this.length = 0;
  }

  /**
   * Returns the lines that a piece has completed.
   * @param {string} piece
   * @returns {string[]}
   * @throws {Problem} where a line is too long to keep
   */
  add(piece) {
    const lines = piece.split('\n');
    const rest = /** @type {string} */ (lines.pop());
    if (lines.length > 0) {
      lines[0] = this.pieces.join('') + lines[0];
      this.pieces = [];
      this.length = 0;
    }
    if (rest !== '') this.pieces.push(rest);
    this.length += rest.length;
    if (this.length > LONGEST)
      throw new Problem(0, {
        title: 'A change is too long to be shown',
        detail: 'A row of the feed has more than 64 MiB. Begin later, or without its collection.',
      });
    return lines;
  }
}
