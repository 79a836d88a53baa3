// What was saved last, for the page that is shown then.
import { signal } from './html.js';

/**
 * @typedef {object} Saved
 * @property {string} href the place that tells it
 * @property {string} what the document and what was done, such as "books/b1 is saved"
 * @property {import('./write.js').Written} written
 */

/** @type {import('@preact/signals').Signal<Saved | null>} */
export const saved = signal(null);
