import { useEffect, useRef, useState } from '../../lib/html.js';
import { useLive } from '../../lib/live.js';
import { asProblem } from '../../lib/load.js';
import { hasRole, me } from '../../lib/me.js';
import { isPending, loadCounts, loadModel, loadStatus } from './load.js';

/** How long until the model is asked for again, in milliseconds: a change of it need not change a document. */
const EVERY = 5_000;

/** The same while a model is being prepared. */
const OFTEN = 1_000;

/** How long nothing is asked after rows of the feed have come. */
const REST = 1_000;

/** How many collections the page follows. */
const FOLLOWED = 40;

/**
 * What the page shows.
 * @typedef {object} Shown
 * @property {any} [model]
 * @property {string} etag
 * @property {string} position
 * @property {Map<string, number>} counts
 * @property {any} [status] of the node, for who may read it
 * @property {boolean} [pending] a model is being prepared; undefined as long as that is not known
 */

/** @type {Shown} */
const NOTHING = { etag: '', position: '', counts: new Map() };

/**
 * Shows the model that applies, and follows it: the feed tells of the documents, and every few seconds the node is asked whether the
 * model is still the same.
 * @returns {{ shown: Shown, problem?: import('../../lib/http.js').Problem, again: () => void }}
 */
export function useModel() {
  const [shown, setShown] = useState(NOTHING);
  const [problem, setProblem] = useState(/** @type {import('../../lib/http.js').Problem | undefined} */ (undefined));
  const latest = useRef(shown);
  const looking = useRef(/** @type {AbortController | null} */ (null));
  const take = (/** @type {Partial<Shown>} */ more) => {
    latest.current = { ...latest.current, ...more };
    setShown(latest.current);
  };

  const look = async () => {
    looking.current?.abort();
    const ending = new AbortController();
    looking.current = ending;
    try {
      await lookAt(latest.current, take, ending.signal);
      if (!ending.signal.aborted) setProblem(undefined);
    } catch (error) {
      if (!ending.signal.aborted) setProblem(asProblem(error));
    } finally {
      if (looking.current === ending) looking.current = null;
    }
  };
  useEffect(() => {
    const lookIfSeen = () => { if (!document.hidden && !looking.current) look(); };
    const timer = setInterval(lookIfSeen, shown.pending ? OFTEN : EVERY);
    document.addEventListener('visibilitychange', lookIfSeen);
    return () => { clearInterval(timer); document.removeEventListener('visibilitychange', lookIfSeen); };
  }, [shown.pending]);
  const who = me.value;
  useEffect(() => {
    look();
    return () => looking.current?.abort();
  }, [who]);

  const soon = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => () => clearTimeout(soon.current), []);
  const names = shown.model ? Object.keys(shown.model.collections ?? {}).slice(0, FOLLOWED) : [];
  useLive(names, shown.position, () => { soon.current ??= setTimeout(() => { soon.current = undefined; look(); }, REST); });
  return { shown, problem, again: look };
}

/**
 * Asks for what may have changed. The tables need the model alone, so it is shown first.
 * @param {Shown} before
 * @param {(more: Partial<Shown>) => void} take
 * @param {AbortSignal} signal
 */
async function lookAt(before, take, signal) {
  const changed = await loadModel(signal, before.etag);
  signal.throwIfAborted();
  if (changed) take(changed);
  const [counts, status] = await Promise.all([loadCounts(signal), hasRole('monitor') ? loadStatus(signal) : undefined]);
  const pending = await pendingAfter(before.pending, status, signal);
  signal.throwIfAborted();
  take({ counts, status, pending });
}

/**
 * Tells whether a model is being prepared. Whoever reads the status learns from it that one is announced. Others ask once.
 * @param {boolean | undefined} before what was known
 * @param {any} status
 * @param {AbortSignal} signal
 * @returns {Promise<boolean | undefined>}
 */
async function pendingAfter(before, status, signal) {
  const asks = before || (status ? status.preparing !== undefined : me.value !== null && before === undefined);
  if (asks) return isPending(signal);
  return status ? false : before;
}
