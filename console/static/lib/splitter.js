import { Problem } from './http.js';

/** How long a line may be, in characters. A row has at most the old and the new text of a document, and what surrounds them. */
const LONGEST = 64 << 20;

/** Puts pieces of a text together to lines. */
export class Splitter {
  constructor() {
    /** @type {string[]} */
    this.pieces = [];
    this.length = 0;
  }

  /**
   * Returns the lines that a piece has completed.
   * @param {string} piece
   * @returns {string[]}
   * @throws {Problem} where a line is too long to keep
   */
  add(piece) {
    const lines = piece.split('\n');
    const rest = /** @type {string} */ (lines.pop());
    if (lines.length > 0) {
      lines[0] = this.pieces.join('') + lines[0];
      this.pieces = [];
      this.length = 0;
    }
    if (rest !== '') this.pieces.push(rest);
    this.length += rest.length;
    if (this.length > LONGEST) throw new Problem(0, { title: 'A change is too long to be shown', detail: 'A row of the feed has more than 64 MiB. Begin later, or without its collection.' });
    return lines;
  }
}
