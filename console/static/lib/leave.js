// Text that is not saved yet: leaving it asks.

/** @type {Set<() => boolean>} */
const unsaved = new Set();

/**
 * Lets a function tell whether there is text that is not saved. It returns a function that ends that.
 * @param {() => boolean} has
 */
export function guard(has) {
  unsaved.add(has);
  return () => { unsaved.delete(has); };
}

const isUnsaved = () => [...unsaved].some((has) => has());

/** Tells whether the page may go to another place: it asks where text would be lost. */
export const mayLeave = () => !isUnsaved() || confirm('Leave this page? What you typed is not saved.');

addEventListener('beforeunload', (event) => {
  if (isUnsaved()) event.preventDefault();
});
