// Positions: an event, the number of a change within it, the store, and perhaps a version of the fold.

/**
 * The number of the event that a position is of, as text.
 * @param {string} position
 */
export const eventOf = (position) => position.split('-')[0];

/**
 * Tells whether a position is later than another of the same store.
 * @param {string} position
 * @param {string} than
 */
export function isLater(position, than) {
  const [event, change] = position.split('-').map(Number);
  const [otherEvent, otherChange] = than.split('-').map(Number);
  return event > otherEvent || (event === otherEvent && change > otherChange);
}
