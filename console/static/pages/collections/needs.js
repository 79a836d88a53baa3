// What of a store needs somebody's attention, as far as the reader may know it.
import { ask, Problem, request } from '../../lib/http.js';
import { askReady } from '../../lib/ready.js';

/**
 * Something that needs attention.
 * @typedef {object} Need
 * @property {string} what
 * @property {string} detail
 * @property {string} [link] the name of the place where it shows
 * @property {string[]} [parts] that place
 */

/** How many documents queries of a shape have looked at in vain before they are told of. */
const IN_VAIN = 1000;

/** The places of what is no document. */
const OPERATIONS = { link: 'Operations', parts: ['_status'] };
const MODEL = { link: 'Model', parts: ['_model'] };

/** How many groups are asked for their parked batches. */
const MAX_GROUPS = 20;

/**
 * Asks for what needs attention.
 * @param {AbortSignal} signal
 * @returns {Promise<{ known: boolean, needs: Need[] }>} known is false where the reader may not know how the store stands
 */
export async function loadNeeds(signal) {
  const [ready, status, parked] = await Promise.all([readiness(signal), allowed(() => ask({ path: ['_status'], signal })), parkedOf(signal)]);
  if (!status) return { known: false, needs: [...ready, ...await pendingOf(signal), ...parked] };
  return { known: true, needs: [...ready.map((need) => ({ ...need, ...OPERATIONS })), ...needsOfStatus(status), ...parked] };
}

/**
 * Returns what an answer has, undefined where the reader may not have it or the node cannot tell now.
 * @template T
 * @param {() => Promise<T>} fn
 * @returns {Promise<T | undefined>}
 */
async function allowed(fn) {
  try {
    return await fn();
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** @param {AbortSignal} signal @returns {Promise<Need[]>} */
async function readiness(signal) {
  try {
    const { ok, status, of } = await askReady(signal);
    return ok ? [] : [{ what: 'This node is not ready', detail: String(of.detail ?? of.title ?? status) }];
  } catch {
    return [{ what: 'The server cannot be reached', detail: '' }];
  }
}

/**
 * Tells of a model in preparation to who may read the model, but not the status.
 * @param {AbortSignal} signal
 * @returns {Promise<Need[]>}
 */
async function pendingOf(signal) {
  const answer = await allowed(() => request({ method: 'HEAD', path: ['_model', '_pending'], signal }));
  return answer ? [{ what: 'A model is being prepared', detail: `that of event ${answer.headers.get('Fanfold-Revision')}`, ...MODEL }] : [];
}

/** @param {AbortSignal} signal @returns {Promise<Need[]>} */
async function parkedOf(signal) {
  const answer = await allowed(() => ask({ path: ['_groups'], signal }));
  /** @type {string[]} */
  const names = (answer?.groups ?? []).map((/** @type {any} */ g) => g.name);
  const groups = await Promise.all(names.slice(0, MAX_GROUPS).map((name) => allowed(() => ask({ path: ['_groups', name], signal }))));
  const needs = groups.flatMap((group) => {
    const parked = (group?.partitions ?? []).reduce((/** @type {number} */ sum, /** @type {any} */ p) => sum + p.parked, 0);
    return parked > 0 ? [{ what: `${count(parked, 'parked batch', 'parked batches')} of ${group.name}`, detail: 'They failed as often as the group allows.', link: 'Group ' + group.name, parts: ['_groups', group.name] }] : [];
  });
  return names.length > MAX_GROUPS ? [...needs, { what: `${names.length} groups`, detail: `Only the first ${MAX_GROUPS} are looked at here.`, ...OPERATIONS }] : needs;
}

/**
 * Returns what a status tells of.
 * @param {any} s as the API has it
 * @returns {Need[]}
 */
export const needsOfStatus = (s) => [
  ...(s.logError ? [{ what: 'The log', detail: s.logError, ...OPERATIONS }] : []),
  ...(s.stopped ? [{ what: `The projector has stopped at event ${s.stopped.seq}`, detail: s.stopped.reason, ...OPERATIONS }] : []),
  ...s.nodes.filter((/** @type {any} */ n) => !n.self && n.live && (n.error || !n.ready)).map((/** @type {any} */ n) => ({ what: `Node ${n.id} at ${n.address}`, detail: n.error ?? 'is not ready', ...OPERATIONS })),
  ...(s.preparing ? [preparing(s.preparing)] : []),
  ...(s.ruleErrors ?? []).map((/** @type {any} */ e) => ({ what: `Rule ${e.rule}`, detail: `failed ${count(e.count, 'time', 'times')}: ${e.error}`, ...placeOf(e.document) })),
  ...(s.queries ?? []).filter((/** @type {any} */ q) => q.suggest && q.documents - q.given >= IN_VAIN).map((/** @type {any} */ q) => (
    { what: `Queries of ${q.collection} need an index`, detail: `${shapeOf(q)}: ${q.queries.toLocaleString('en')} looked at ${count(q.documents, 'document', 'documents')} and gave ${q.given.toLocaleString('en')}. An index that serves them: ${indexOf(q)}`, ...OPERATIONS })),
];

/** @param {any} p @returns {Need} */
function preparing(p) {
  const share = p.phase === 'copying' || p.phase === 'computing' ? `, ${Math.round(100 * p.done / Math.max(p.total, 1))}%` : p.phase === 'following' ? `, event ${p.done} of ${p.total}` : '';
  return { what: 'A model is being prepared', detail: `that of event ${p.model}: ${p.phase}${share}${p.error ? ': ' + p.error : ''}`, ...MODEL };
}

/** @param {any} q the shape of queries */
const shapeOf = (q) => ['filter', 'sort', 'group'].filter((name) => q[name]).map((name) => `${name}=${q[name]}`).join(' ');

/** @param {any} q the shape of queries */
const indexOf = (q) => Object.entries(q.suggest.collections?.[q.collection]?.indexes ?? {}).map(([name, terms]) => `${name}: [${/** @type {string[]} */ (terms).join(', ')}]`).join(', ');

/** Returns the place of a document. @param {string | undefined} document its collection and id */
function placeOf(document) {
  const at = document?.indexOf('/') ?? -1;
  return document === undefined || at < 0 ? {} : { link: document, parts: [document.slice(0, at), document.slice(at + 1)] };
}

/**
 * @param {number} n
 * @param {string} one
 * @param {string} many
 */
const count = (n, one, many) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
