/**
 * Returns the line and the column of a place in a text, both from 1. Columns count code points.
 * @param {string} text
 * @param {number} at offset in UTF-16 code units
 */
export function lineAndColumn(text, at) {
  const before = text.slice(0, at).split(/\r\n|\r|\n/);
  return { line: before.length, column: [...before[before.length - 1]].length + 1 };
}
