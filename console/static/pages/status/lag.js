import { html } from '../../lib/html.js';
import { counted, duration } from '../../ui/amounts.js';

/**
 * A lag in words. One that nobody knows says so, and is not 0.
 * @param {{ of: Lag }} props
 */
export const LagText = ({ of }) => (of.unknown === undefined ? of.text : html`<strong>unknown</strong> <span class="quiet">${of.unknown}${of.text && `; when last heard ${of.text}`}</span>`);

/**
 * @typedef {object} Lag
 * @property {string} text what is known of it
 * @property {string} [unknown] why it is not known
 */

/**
 * Returns the lag of a node, as the one that was asked knows it.
 * @param {any} node of the status
 * @param {any} status
 * @returns {Lag}
 */
export function nodeLag(node, status) {
  if (node.error) return { text: '', unknown: 'as its entry cannot be read' };
  if (node.self) return ownLag(status);
  return unheard(node) ?? (node.live ? { text: heard(node) } : { text: heard(node), unknown: 'as it is away' });
}

/**
 * Returns the lag of the node that was asked.
 * @param {any} status
 * @returns {Lag}
 */
export function ownLag(status) {
  const lapsed = status.nodes.some((/** @type {any} */ node) => node.self && !node.live);
  return unheard(status) ?? (status.logError || lapsed ? { text: heard(status), unknown: 'as the log cannot be reached' } : { text: heard(status) });
}

/**
 * Returns the lag of a node that knows of no event, but has no proof of it since a time: the log does not answer. It is undefined for another.
 * @param {{ lag: number, lagSeconds: number }} of
 * @returns {Lag | undefined}
 */
const unheard = ({ lag, lagSeconds }) => (lag === 0 && lagSeconds > 0 ? { text: '', unknown: `as the log has told nothing for ${duration(lagSeconds)}` } : undefined);

/** @param {{ lag: number, lagSeconds: number }} of */
const heard = ({ lag, lagSeconds }) => counted(lag, 'event') + (lag > 0 && lagSeconds > 0 ? `, at most ${duration(lagSeconds)} old` : '');

/**
 * Returns the lag of a group, or of one of its partitions.
 * @param {any} group
 * @param {any} of the group or the partition
 * @returns {Lag}
 */
export function groupLag(group, of) {
  const { changes, seconds } = of.lag;
  const isGone = of.gone || of.partitions?.some((/** @type {any} */ p) => p.gone);
  if (changes !== undefined && !isGone) return { text: counted(changes, 'change') + (changes > 0 ? `, the oldest ${duration(seconds)} old` : '') };
  if (isGone) return { text: '', unknown: 'as changes behind the checkpoint are not kept any more' };
  return { text: '', unknown: group.settings.filter ? 'as the group has a filter' : 'as more than 20,000 changes are behind the checkpoint' };
}
