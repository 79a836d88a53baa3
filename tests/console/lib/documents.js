// Documents at random, with all that JSON lets somebody write.

/** @typedef {import('../../../console/src/lib/json.js').Node} Node */

/**
 * Returns a source of numbers from 0 to 1, the same for the same seed (mulberry32).
 * @param {number} seed
 */
export function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const NUMBERS = ['0', '-0', '1', '-7', '2.50', '1e400', '-1E-5', '9007199254740993', '0.1e+2', '12345678901234567890.000'];
const STRINGS = ['""', '"a"', '"\\/"', '"/"', '"\\u0041"', '"A"', '"\\ud83d\\ude00"', '"😀"', '"\u202e"', '"\\u202e"', '"{"', '",\\" :"', '"\\\\"', '"ä\u0300"', '"\u2028"', '"\u{e0041}"'];
const NAMES = ['"10"', '"2"', '"__proto__"', '"rev"', '"id"', '"a"', '"a/b~"', '"\\u0061"', '""', '"constructor"'];
const BLANKS = ['', '', '', ' ', '  ', '\n', '\r\n', '\t', '\r\n\t ', '\r'];

/** Makes documents, and edits of them. */
export class Documents {
  /** @param {() => number} random */
  constructor(random) {
    this.random = random;
  }

  /** @template T @param {T[]} list @returns {T} */
  pick(list) {
    return list[Math.floor(this.random() * list.length)];
  }

  blank() {
    return this.pick(BLANKS);
  }

  /** Returns a value without others in it. */
  scalar() {
    return this.pick([() => this.pick(NUMBERS), () => this.pick(STRINGS), () => this.pick(['true', 'false', 'null'])])();
  }

  /** @param {number} depth how deep it may be @returns {string} */
  value(depth) {
    const kind = depth > 0 ? this.random() : 1;
    if (kind < 0.25) return this.object(depth);
    if (kind > 0.5) return this.scalar();
    return '[' + this.list(() => this.value(depth - 1)) + ']';
  }

  /** @returns {string} */
  object(depth = 4) {
    return '{' + this.list(() => this.pick(NAMES) + this.blank() + ':' + this.blank() + this.value(depth - 1)) + '}';
  }

  /** @param {() => string} item */
  list(item) {
    const items = Array.from({ length: Math.floor(this.random() * 5) }, () => this.blank() + item() + this.blank());
    return items.length ? items.join(',') : this.blank();
  }

  /** Returns a text whose blanks between tokens are others. @param {string} text */
  otherBlanks(text) {
    return text.replace(/("(?:[^"\\]|\\.)*")|[ \n]+/g, (_, string) => string ?? this.blank());
  }

  /** Returns all values, parents first. @param {Node} root @returns {Node[]} */
  nodes(root) {
    const inside = root.members?.map((m) => m.value) ?? root.elements ?? [];
    return [root, ...inside.flatMap((node) => this.nodes(node))];
  }

  /**
   * Returns a text in which members or elements of one object or array are others, more or fewer.
   * @param {string} text
   * @param {Node} root of the text
   */
  edit(text, root) {
    const around = this.pick(this.nodes(root).filter((node) => node.members || node.elements));
    const items = (around.members?.map((m) => [m.start, m.value.end]) ?? around.elements?.map((e) => [e.start, e.end]) ?? []).map(([from, to]) => text.slice(from, to));
    const item = () => (around.members ? this.pick(NAMES) + this.blank() + ':' + this.blank() : '') + this.value(2);
    const fresh = Array.from({ length: Math.floor(this.random() * 3) }, item);
    items.splice(Math.floor(this.random() * (items.length + 1)), Math.floor(this.random() * 3), ...fresh);
    const inside = items.length ? items.map((one) => this.blank() + one + this.blank()).join(',') : this.blank();
    return text.slice(0, around.start + 1) + inside + text.slice(around.end - 1);
  }
}
