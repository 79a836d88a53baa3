// The figures of a node: what /metrics says in the text format of Prometheus, and what follows from two readings.

/** @typedef {{ labels: Record<string, string>, value: number }} Series */

/** A line of the format: name, labels and value. An exemplar or a time after these is left out. */
const LINE = /^([a-zA-Z_:][\w:]*)(?:\{((?:\s*\w+="(?:[^"\\]|\\.)*"\s*,?)*)\})?\s+(\S+)/;

/** @type {Record<string, number>} */
const WORDS = { '+Inf': Infinity, Inf: Infinity, '-Inf': -Infinity, NaN };

/**
 * Reads the text format. Lines that are none of it are left out.
 * @param {string} text
 * @returns {Map<string, Series[]>} the series of each name
 */
export function parseMetrics(text) {
  /** @type {Map<string, Series[]>} */
  const all = new Map();
  for (const line of text.split('\n')) {
    const found = LINE.exec(line);
    if (!found) continue;
    const [, name, labels, value] = found;
    if (!(value in WORDS) && Number.isNaN(Number(value))) continue;
    const series = { labels: labelsOf(labels ?? ''), value: WORDS[value] ?? Number(value) };
    const list = all.get(name);
    if (list) list.push(series);
    else all.set(name, [series]);
  }
  return all;
}

/** @param {string} text */
const labelsOf = (text) =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [
      name,
      value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c)),
    ]),
  );

/**
 * What one reading says. A member that the node does not tell is undefined.
 * @typedef {object} Sample
 * @property {number} time in milliseconds
 * @property {number} writes since the start, as are derived, reads, took, folds and folding
 * @property {number} derived changes
 * @property {number} reads
 * @property {[number, number][]} took how many requests about documents took at most so many seconds, by seconds
 * @property {number} folds transactions that fold events
 * @property {number} folding seconds that they took
 * @property {number | undefined} lag events
 * @property {number | undefined} log bytes, as are all that follow
 * @property {number | undefined} model
 * @property {number | undefined} free
 * @property {number | undefined} memory
 */

/** Routes about documents, and of them a query that is sent by POST. */
const DOCUMENTS = /^\/v1\/(?::collection\b|_transactions$|_functions\/)/;
const QUERY = /\/_query$/;

/** @param {Record<string, string>} labels of a request */
const isRead = ({ route, method }) => /^\/v1\/:collection\b/.test(route) && (/^(GET|HEAD)$/.test(method) || QUERY.test(route));

/**
 * Returns what a reading says.
 * @param {string} text of /metrics
 * @param {number} time
 * @returns {Sample}
 */
export function sampleOf(text, time) {
  const all = parseMetrics(text);
  const sum = (/** @type {string} */ name, /** @type {(labels: Record<string, string>) => boolean} */ counts = () => true) =>
    (all.get(name) ?? []).reduce((n, one) => n + (counts(one.labels) ? one.value : 0), 0);
  const gauge = (/** @type {string} */ name) => (all.has(name) ? sum(name) : undefined);
  /** @type {Map<number, number>} */
  const took = new Map();
  for (const { labels, value } of all.get('fanfold_http_request_duration_seconds_bucket') ?? []) {
    if (!DOCUMENTS.test(labels.route)) continue;
    const most = WORDS[labels.le] ?? Number(labels.le);
    took.set(most, (took.get(most) ?? 0) + value);
  }
  return {
    time,
    writes: sum('fanfold_writes_total'),
    derived: sum('fanfold_fanout_changes_sum'),
    reads: sum('fanfold_http_requests_total', isRead),
    took: [...took].sort(([a], [b]) => a - b),
    folds: sum('fanfold_fold_duration_seconds_count'),
    folding: sum('fanfold_fold_duration_seconds_sum'),
    lag: gauge('fanfold_lag_events'),
    log: gauge('fanfold_log_bytes'),
    model: gauge('fanfold_sqlite_bytes'),
    free: gauge('fanfold_disk_free_bytes'),
    memory: gauge('process_resident_memory_bytes'),
  };
}

/** How long samples stay, in milliseconds, and how many do. */
export const MAX = { time: 3_600_000, samples: 400 }; // an hour

/**
 * Returns samples with one more. The oldest go.
 * @param {Sample[]} samples the oldest first
 * @param {Sample} one
 */
export const withSample = (samples, one) => [...samples, one].filter(({ time }) => one.time - time <= MAX.time).slice(-MAX.samples);

/** How long ago the sample is that rates are counted from, at most and at least, in milliseconds. */
const WINDOW = { most: 60_000, least: 1000 };

/** @typedef {'writes' | 'derived' | 'reads' | 'p99' | 'fold' | 'lag' | 'log' | 'model' | 'free' | 'memory'} Name */

/**
 * What is drawn of samples: a point for each.
 * @typedef {object} Figures
 * @property {number[]} times
 * @property {Record<Name, (number | undefined)[]>} of
 */

/**
 * Returns the figures of samples. Rates are those of the last minute; nothing is known of one that had no reading a minute before.
 * @param {Sample[]} samples
 * @returns {Figures}
 */
export function figuresOf(samples) {
  const rate = (/** @type {(of: Sample) => number} */ count) =>
    samples.map((now, i) => {
      const before = beforeOf(samples, i);
      return before && (1000 * grown(count(before), count(now))) / (now.time - before.time);
    });
  const plain = (/** @type {'lag' | 'log' | 'model' | 'free' | 'memory'} */ name) => samples.map((one) => one[name]);
  return {
    times: samples.map(({ time }) => time),
    of: {
      writes: rate((of) => of.writes),
      derived: rate((of) => of.derived),
      reads: rate((of) => of.reads),
      p99: samples.map((now, i) => quantile(beforeOf(samples, i)?.took, now.took, 0.99)),
      fold: samples.map((now, i) => {
        const before = beforeOf(samples, i);
        const folds = before ? grown(before.folds, now.folds) : 0;
        return before && folds > 0 ? grown(before.folding, now.folding) / folds : undefined;
      }),
      lag: plain('lag'),
      log: plain('log'),
      model: plain('model'),
      free: plain('free'),
      memory: plain('memory'),
    },
  };
}

/** The oldest sample that is within a minute before another. @param {Sample[]} samples @param {number} i of the other */
function beforeOf(samples, i) {
  let found;
  for (let n = i - 1; n >= 0 && samples[i].time - samples[n].time <= WINDOW.most; n--) found = samples[n];
  return found && samples[i].time - found.time >= WINDOW.least ? found : undefined;
}

/**
 * Returns how much a counter has grown. One that is smaller than before has begun anew with the node.
 * @param {number} before
 * @param {number} now
 */
const grown = (before, now) => (now >= before ? now - before : now);

/**
 * Returns below what a share of the requests between two readings lies, undefined without requests. Between two bounds it is divided
 * evenly, as Prometheus does.
 * @param {[number, number][] | undefined} before
 * @param {[number, number][]} now
 * @param {number} share
 */
export function quantile(before, now, share) {
  if (!before) return undefined;
  const from = new Map(before);
  const last = now.at(-1)?.[1] ?? 0;
  const anew = last < (before.at(-1)?.[1] ?? 0);
  const counts = now.map(([most, count]) => /** @type {[number, number]} */ ([most, anew ? count : count - (from.get(most) ?? 0)]));
  const all = counts.at(-1)?.[1] ?? 0;
  if (all <= 0) return undefined;
  let low = 0;
  let below = 0;
  for (const [most, count] of counts) {
    if (count >= share * all) return most === Infinity ? low : low + ((most - low) * (share * all - below)) / Math.max(1, count - below);
    [low, below] = [most, count];
  }
  return low;
}
