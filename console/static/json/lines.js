/**
 * Returns the line and the column of a place in a text, both from 1. Columns count code points.
 * @param {string} text
 * @param {number} at offset in UTF-16 code units
 */
export function lineAndColumn(text, at) {
  const before = text.slice(0, at).split(/\r\n|\r|\n/);
  return { line: before.length, column: [...before[before.length - 1]].length + 1 };
}

/**
 * Returns the place in a text of a line and a column, both from 1. Columns count code points.
 * @param {string} text
 * @param {number} line
 * @param {number} column
 * @returns {number} an offset in UTF-16 code units
 */
export function offsetOf(text, line, column) {
  const lines = text.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return Math.min(text.length, before + [...(lines[line - 1] ?? '')].slice(0, column - 1).join('').length);
}
