import { scanning } from './scan.js';

/** How long a text is read before others may work, in milliseconds. */
const TURN = 12;

/**
 * Reads a text as scan does, in turns, so that a long one does not stop the page.
 * @param {string} text
 * @param {AbortSignal} [signal] ends it
 * @returns {Promise<import('./scan.js').Node>}
 */
export async function read(text, signal) {
  const steps = scanning(text);
  for (let turn = performance.now(), turns = 1; ; turns++) {
    let step = steps.next();
    while (!step.done && performance.now() - turn < TURN) step = steps.next();
    // What is done with a long text has a turn of its own, too.
    if (!step.done || turns > 1) await new Promise((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
    if (step.done) return step.value;
    turn = performance.now();
  }
}
