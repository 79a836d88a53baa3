// Characters that change how the text around them looks, or cannot be seen, are shown as their code points.

// Controls, blanks without width, marks of direction, variation selectors, tags, and what stands alone of a pair.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

/** @param {string} character */
export const codePoint = (character) => 'U+' + (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

/**
 * Returns pieces of a text: those at odd places are the code points of hidden characters.
 * @param {string} text
 * @returns {string[]}
 */
export function pieces(text) {
  const out = [];
  let from = 0;
  for (const found of text.matchAll(hidden)) {
    out.push(text.slice(from, found.index), codePoint(found[0]));
    from = found.index + found[0].length;
  }
  out.push(text.slice(from));
  return out;
}

/**
 * Returns a text with the code points of hidden characters in their places, for where no element may stand.
 * @param {string} text
 */
export const visible = (text) => pieces(text).map((piece, i) => (i % 2 ? '‹' + piece + '›' : piece)).join('');

/**
 * Returns a text with hidden characters as the escapes of JSON.
 * @param {string} text of a string in JSON
 */
export const escapeHidden = (text) => text.replace(hidden, (found) => Array.from({ length: found.length }, (_, i) => '\\u' + found.charCodeAt(i).toString(16).padStart(4, '0')).join(''));
