const token = /[ \t\n\r]*([{}[\]:,]|"(?:[^"\\]|\\.)*"|[^ \t\n\r{}[\]:,"]+)/y;

/**
 * Returns where the tokens of a text begin and end, by turns, in UTF-16 code units.
 * @param {string} text JSON, as scan takes it
 * @returns {number[]}
 */
export function tokenize(text) {
  const out = [];
  token.lastIndex = 0;
  for (let found = token.exec(text); found; found = token.exec(text)) out.push(token.lastIndex - found[1].length, token.lastIndex);
  return out;
}
