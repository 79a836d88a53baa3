// The key that requests are sent with. It is kept in memory, or in the tab's sessionStorage where that was asked for.
import { signal } from './html.js';

const NAME = 'fanfold-key';

/** The key, empty for none. */
export const key = signal(sessionStorage.getItem(NAME) ?? '');

/**
 * The question for a key: nothing, or what is to be called with the answer.
 * @type {import('@preact/signals').Signal<null | { refused: boolean, answer: (given: boolean) => void }>}
 */
export const question = signal(null);

/** @type {Promise<boolean> | null} */
let asked = null;

/**
 * Asks for a key, once for all requests that wait for one. It returns whether one was given.
 * @returns {Promise<boolean>}
 */
export function askForKey() {
  asked ??= new Promise((resolve) => {
    question.value = { refused: key.value !== '', answer: (given) => { question.value = null; asked = null; resolve(given); } };
  });
  return asked;
}

/**
 * Takes a key for all requests from here on.
 * @param {string} text
 * @param {boolean} keep whether it stays in the tab when the page is loaded anew
 */
export function takeKey(text, keep) {
  key.value = text;
  if (keep) sessionStorage.setItem(NAME, text);
  else sessionStorage.removeItem(NAME);
}

/** Forgets the key, in memory and in the tab. */
export const forgetKey = () => takeKey('', false);

/** Returns the headers that a request needs for the key. @returns {Record<string, string>} */
export const keyHeaders = () => (key.value === '' ? {} : { Authorization: 'Bearer ' + key.value });
