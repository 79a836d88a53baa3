// How a document stands in a text box: a member or an element a line, its tokens as they are.
import { escapeHidden } from './hidden.js';
import { tokenize } from './tokenize.js';

/**
 * Returns how a token stands in a text box. Characters that cannot be seen are JSON escapes there.
 * @param {string} token
 */
export const shown = (token) => (token[0] === '"' ? escapeHidden(token) : token);

/**
 * Returns a text with its blanks replaced: two for each level, and a line for each member and element.
 * @param {string} text JSON
 */
export function indent(text) {
  const at = tokenize(text);
  const out = [];
  let depth = 0;
  for (let i = 0; i < at.length; i += 2) {
    const token = text.slice(at[i], at[i + 1]);
    const next = text[at[i + 2]];
    if (token === '{' || token === '[') {
      out.push(token);
      if (next !== '}' && next !== ']') out.push(newLine(++depth));
    } else if (token === '}' || token === ']') {
      const before = text[at[i - 2]];
      if (before !== '{' && before !== '[') out.push(newLine(--depth));
      out.push(token);
    } else if (token === ',') out.push(token, newLine(depth));
    else if (token === ':') out.push(': ');
    else out.push(shown(token));
  }
  return out.join('');
}

/** @param {number} depth */
const newLine = (depth) => '\n' + '  '.repeat(depth);
