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

/** Writes on their way, with the look at what they change. @type {Set<Promise<unknown>>} */
const writes = new Set();

/** Notes that a write is on its way, which never fails. @param {Promise<unknown>} write */
export function onItsWay(write) {
  writes.add(write);
  write.finally(() => writes.delete(write));
}

/** Waits until no write is on its way, and the place is shown to which the last one has led. */
export async function settled() {
  do {
    await Promise.allSettled(writes);
    await new Promise((resolve) => setTimeout(resolve)); // a place is shown by an event
  } while (writes.size > 0);
}

const isUnsaved = () => [...unsaved].some((has) => has());

/** Tells whether the page may go to another place: it asks where text would be lost. */
export const mayLeave = () => !isUnsaved() || confirm('Leave this page? What you typed is not saved.');

addEventListener('beforeunload', (event) => {
  if (isUnsaved()) event.preventDefault();
});
