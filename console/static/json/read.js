import { scanning } from './scan.js';

/** How long a text is read before others may work, in milliseconds. */
const TURN = 25;

/**
 * Reads a text as scan does, in turns, so that a long one does not stop the page.
 * @param {string} text
 * @param {AbortSignal} [signal] ends it
 * @returns {Promise<import('./scan.js').Node>}
 */
export async function read(text, signal) {
  const steps = scanning(text);
  for (let turn = performance.now(); ;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() - turn < TURN) continue;
    await new Promise((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
    turn = performance.now();
  }
}
