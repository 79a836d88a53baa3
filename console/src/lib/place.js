// The place is what stands behind the # of the address: the path and the query that the API would have behind /v1.
import { signal } from './html.js';
import { key } from './http.js';

/**
 * @typedef {object} Place
 * @property {string[]} parts the segments of the path, without their percent-encoding
 * @property {URLSearchParams} params the query
 */

/**
 * Reads a place from the part of an address from # on. A segment that is no valid encoding stands for itself.
 * @param {string} hash
 * @returns {Place}
 */
function parsePlace(hash) {
  const text = hash.replace(/^#?\/?/, '');
  const at = text.indexOf('?');
  const path = at < 0 ? text : text.slice(0, at);
  return {
    parts: path === '' ? [] : path.split('/').map(decoded),
    params: new URLSearchParams(at < 0 ? '' : text.slice(at + 1)),
  };
}

/** @param {string} segment */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * Returns the path of segments as the API and a place have it.
 * @param {string[]} parts
 */
export const pathOf = (parts) =>
  '/' + parts.map((part) => encodeURIComponent(part).replace(/^\.{1,2}$/, (dots) => dots.replaceAll('.', '%2E'))).join('/');

/**
 * Returns the query of parameters with its question mark. A parameter without a value has no equals sign.
 * @param {Record<string, string | number | boolean | null | undefined> | URLSearchParams} params those that are undefined or null are left
 * out
 */
export function queryOf(params) {
  const pairs = params instanceof URLSearchParams ? [...params] : Object.entries(params);
  const given = pairs.filter(([, value]) => value !== undefined && value !== null);
  const text = given
    .map(([name, value]) => encodeURIComponent(name) + (value === '' ? '' : '=' + encodeURIComponent(String(value))))
    .join('&');
  return text === '' ? '' : '?' + text;
}

/**
 * Returns the address of a place, for href.
 * @param {string[]} parts
 * @param {Record<string, string | number | boolean | null | undefined> | URLSearchParams} [params]
 */
export const placeHref = (parts, params = {}) => '#' + pathOf(parts) + queryOf(params);

/** The place that the page shows. */
export const place = signal(parsePlace(location.hash));

let shown = location.hash;

addEventListener('hashchange', () => {
  if (location.hash === shown) return;
  if (!mayLeave()) {
    history.pushState(null, '', shown || '#/');
    return;
  }
  come();
});

/** Shows the place of the address. */
function come() {
  if (waiting === 0) answered = shown || '#/';
  shown = location.hash;
  place.value = parsePlace(shown);
  visit();
}

/** How many places the tab remembers. */
const VISITED = 20;

/**
 * The places that the tab has shown, the newest first. They go with the tab.
 * @type {import('@preact/signals').Signal<(Place & { href: string })[]>}
 */
export const visited = signal([]);

/** Remembers the place that is shown. */
function visit() {
  const href = shown || '#/';
  visited.value = [{ ...place.value, href }, ...visited.value.filter((one) => one.href !== href)].slice(0, VISITED);
}
visit();

/**
 * Goes to a place, as a link does.
 * @param {string} href as placeHref gives it
 */
export const goTo = (href) => {
  location.hash = href;
};

/**
 * Replaces the place by another without a step in the history.
 * @param {string} href as placeHref gives it
 */
export function replacePlace(href) {
  history.replaceState(null, '', href);
  come();
}

// What is waited for: a page whose answer does not come can be left for the last one that was shown whole.

/** How many parts of the page wait for an answer to another question than the one that they show. */
let waiting = 0;

/** The last place that waited for nothing when it was left. @type {string | null} */
let answered = null;

/** Says that a part of the page waits for its answer. It returns a function that ends that. */
export function wait() {
  waiting++;
  return () => {
    waiting--;
  };
}

/** Goes back to the last place that was answered, in the place of this one. */
export const backToAnswered = () => {
  if (answered !== null && answered !== (shown || '#/')) replacePlace(answered);
};

// Text that is not saved yet: leaving it asks.

/** @type {Set<() => boolean>} */
const unsaved = new Set();

/**
 * Lets a function tell whether there is text that is not saved. It returns a function that ends that.
 * @param {() => boolean} has
 */
export function guard(has) {
  unsaved.add(has);
  return () => {
    unsaved.delete(has);
  };
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

// What was saved last, for the page that is shown then.

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
export const tellSaved = (of) => {
  saved.value = { ...of, by: key.value };
};

/** Forgets what was saved with another key than the one in use. */
export const forgetSavedByOthers = () => {
  if (saved.value?.by !== key.value) saved.value = null;
};

// The text of a model that another page proposes, for the editor of the model.

/** @type {import('@preact/signals').Signal<string | null>} */
export const draft = signal(null);
