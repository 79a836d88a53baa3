// The text of a model that another page proposes, for the editor of the model.
import { signal } from './html.js';

/** @type {import('@preact/signals').Signal<string | null>} */
export const draft = signal(null);
