// The place is what stands behind the # of the address: the path and the query that the API would have behind /v1.
import { signal } from './html.js';
import { mayLeave } from './leave.js';

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
export const pathOf = (parts) => '/' + parts.map((part) => encodeURIComponent(part).replace(/^\.{1,2}$/, (dots) => dots.replaceAll('.', '%2E'))).join('/');

/**
 * Returns the query of parameters with its question mark. A parameter without a value has no equals sign.
 * @param {Record<string, string | number | boolean | null | undefined> | URLSearchParams} params those that are undefined or null are left out
 */
export function queryOf(params) {
  const pairs = params instanceof URLSearchParams ? [...params] : Object.entries(params);
  const given = pairs.filter(([, value]) => value !== undefined && value !== null);
  const text = given.map(([name, value]) => encodeURIComponent(name) + (value === '' ? '' : '=' + encodeURIComponent(String(value)))).join('&');
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
  shown = location.hash;
  place.value = parsePlace(shown);
});

/**
 * Goes to a place, as a link does.
 * @param {string} href as placeHref gives it
 */
export const goTo = (href) => { location.hash = href; };

/**
 * Replaces the place by another without a step in the history.
 * @param {string} href as placeHref gives it
 */
export function replacePlace(href) {
  history.replaceState(null, '', href);
  shown = location.hash;
  place.value = parsePlace(shown);
}
