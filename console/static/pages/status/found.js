// What the detail of a wrong value says. The API has it as a text for people: a JSON Patch behind a few words, or a sentence.
import { scan } from '../../json/scan.js';
import { member, textOf, tokens } from '../../json/value.js';

const PATCH = 'from stored (old) to right: ';

/**
 * Where a value is, what it should be and what it is, each undefined where there is none.
 * @typedef {{ path: string, expected?: string, found?: string }} Found
 */

/**
 * Reads a detail.
 * @param {string} detail
 * @returns {Found[] | undefined} undefined where it is a sentence, or was cut
 */
export function foundIn(detail) {
  if (!detail.startsWith(PATCH)) return undefined;
  try {
    const patch = scan(detail.slice(PATCH.length));
    return patch.elements?.map((op) => ({ path: textOf(member(op, 'path')) ?? '', expected: tokenOf(member(op, 'value')), found: tokenOf(member(op, 'old')) }));
  } catch {
    return undefined; // it was cut
  }
}

/** @param {import('../../json/scan.js').Node | undefined} node */
const tokenOf = (node) => node && tokens(node);
