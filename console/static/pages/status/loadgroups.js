// What is asked about consumer groups.
import { ask } from '../../lib/http.js';

/** How many groups are asked for at a time. */
const AT_ONCE = 4;

/** How many of a group's parked batches the table of groups shows. */
export const SHOWN = 3;

/**
 * @typedef {object} GroupState
 * @property {string} name
 * @property {any} [group] undefined where it went meanwhile, or cannot be read
 * @property {any[]} parked its parked batches
 * @property {import('../../lib/http.js').Problem} [problem] why it cannot be read
 */

/**
 * Returns the first groups by name, and how many there are.
 * @param {number} max
 * @param {AbortSignal} signal
 * @returns {Promise<{ groups: GroupState[], all: number }>}
 */
export async function loadGroups(max, signal) {
  const names = /** @type {string[]} */ ((await ask({ path: ['_groups'], signal })).groups.map((/** @type {any} */ one) => one.name));
  const shown = names.slice(0, max);
  /** @type {GroupState[]} */
  const groups = [];
  const next = async (/** @type {number} */ i) => {
    for (; i < shown.length; i += AT_ONCE) groups[i] = await loadGroup(shown[i], signal).catch((problem) => ({ name: shown[i], parked: [], problem }));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => next(i)));
  signal.throwIfAborted();
  return { groups, all: names.length };
}

/**
 * Returns a group with its parked batches.
 * @param {string} name
 * @param {AbortSignal} signal
 * @returns {Promise<GroupState>}
 */
export async function loadGroup(name, signal) {
  const group = await ask({ path: ['_groups', name], signal });
  const some = group.partitions.some((/** @type {any} */ one) => one.parked > 0);
  return { name, group, parked: some ? (await ask({ path: ['_groups', name, '_parked'], signal })).parked : [] };
}
