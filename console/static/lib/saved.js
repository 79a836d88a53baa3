// What was saved last, for the page that is shown then.
import { signal } from './html.js';
import { key } from './key.js';

/**
 * @typedef {object} Saved
 * @property {string} href the place that tells it
 * @property {string} what the document and what was done, such as "books/b1 is saved"
 * @property {import('./write.js').Written} written
 * @property {string} [by] the key it was saved with
 */

/** @type {import('@preact/signals').Signal<Saved | null>} */
export const saved = signal(null);

/** Tells what was saved, on the page that is shown next. @param {Saved} of */
export const tellSaved = (of) => { saved.value = { ...of, by: key.value }; };

/** Forgets what was saved with another key than the one in use. */
export const forgetSavedByOthers = () => { if (saved.value?.by !== key.value) saved.value = null; };
