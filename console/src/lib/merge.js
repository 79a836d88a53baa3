// Three versions of a document become one: as it was opened, as others have left it, and as it was edited here. What only one side
// changed is taken, what both changed is asked. All that was not edited here keeps the bytes of theirs.
import { below } from './json.js';
import { same } from './jsontext.js';

/** @typedef {import('./json.js').Node} Node */
/** @typedef {import('./json.js').Member} Member */
/** @typedef {'theirs' | 'mine'} Side */

/**
 * A place that both sides changed, each in its own way.
 * @typedef {object} Asked
 * @property {string} key that no other place has, whatever stands before it
 * @property {string} path a JSON Pointer in theirs, or in the edited document where theirs has no such place
 * @property {Node} [opened] what stood there; none of the three need be there
 * @property {Node} [theirs]
 * @property {Node} [mine]
 */

/**
 * Merges documents. Elements of arrays are matched by their members `id`; an array without them is one value.
 * @param {Node | undefined} opened undefined where there was no document
 * @param {Node} theirs
 * @param {Node} mine
 * @param {Map<string, Side>} [chosen] answers by keys; theirs stands where none is given
 * @returns {{ text: string, asked: Asked[] }}
 */
export function merge(opened, theirs, mine, chosen = new Map()) {
  const merging = new Merging(chosen);
  return { text: merging.value({ key: '', path: '' }, opened, theirs, mine) ?? '', asked: merging.asked };
}

/** Where a value stands. @typedef {{ key: string, path: string }} Place */

/** A member or an element of what is made: its text, and what it is in theirs. @typedef {{ text: string, from?: Item }} Made */

/** A member or an element with where it begins and ends. @typedef {{ start: number, end: number }} Item */

class Merging {
  /** @param {Map<string, Side>} chosen */
  constructor(chosen) {
    this.chosen = chosen;
    /** @type {Asked[]} */
    this.asked = [];
  }

  /**
   * Returns the text of what is to stand at a place, undefined for nothing.
   * @param {Place} at
   * @param {Node | undefined} opened
   * @param {Node | undefined} theirs
   * @param {Node | undefined} mine
   * @returns {string | undefined}
   */
  value(at, opened, theirs, mine) {
    if (same(theirs, mine) || same(opened, mine)) return textIn(theirs);
    if (theirs?.members && mine?.members && (!opened || opened.members)) return this.object(at, opened, theirs, mine);
    if (same(opened, theirs)) return textIn(mine);
    if (theirs?.elements && mine?.elements && (!opened || opened.elements)) {
      const made = this.array(at, opened, theirs, mine);
      if (made !== undefined) return made;
    }
    this.asked.push({ ...at, opened, theirs, mine });
    return textIn(this.chosen.get(at.key) === 'mine' ? mine : theirs);
  }

  /**
   * @param {Place} at
   * @param {Node | undefined} opened
   * @param {Node} theirs
   * @param {Node} mine
   */
  object(at, opened, theirs, mine) {
    const old = byName(opened);
    const edited = byName(mine);
    const others = byName(theirs);
    const one = (/** @type {string} */ name) =>
      this.value(
        { key: below(at.key, name), path: below(at.path, name) },
        old.get(name)?.value,
        others.get(name)?.value,
        edited.get(name)?.value,
      );
    /** @type {Map<string, Made>} */
    const made = new Map();
    for (const [name, of] of [...others, ...[...edited].filter(([name]) => !others.has(name))]) {
      const text = one(name);
      if (text === undefined) continue;
      const from = others.has(name) ? { start: of.start, end: of.value.end } : undefined;
      made.set(name, { text: (from ? theirs : mine).raw.slice(of.start, of.value.start) + text, from });
    }
    const order = inserted([...others.keys()], [...edited.keys()]);
    return laid(
      theirs,
      mine,
      order.flatMap((name) => made.get(name) ?? []),
    );
  }

  /**
   * Merges arrays by the ids of their elements. It returns undefined where they have none, or where both sides moved elements.
   * @param {Place} at
   * @param {Node | undefined} opened
   * @param {Node} theirs
   * @param {Node} mine
   */
  array(at, opened, theirs, mine) {
    const [old, others, edited] = [opened, theirs, mine].map((node) => byId(node));
    if (!old || !others || !edited) return undefined;
    const order = orderOf([...old.keys()], [...others.keys()], [...edited.keys()]);
    if (!order) return undefined;
    const made = order.flatMap((id) => {
      const [then, now, here] = [old.get(id), others.get(id), edited.get(id)];
      const text = this.value(
        { key: below(at.key, id), path: below(at.path, (now ?? here ?? { i: 0 }).i) },
        then?.node,
        now?.node,
        here?.node,
      );
      return text === undefined ? [] : [{ text, from: now?.node }];
    });
    return laid(theirs, mine, made);
  }
}

/** @param {Node | undefined} node */
const textIn = (node) => node && (node.members || node.elements ? node.raw.slice(node.start, node.end) : node.raw);

/** Returns members by their names, the last of equal ones. @param {Node | undefined} object @returns {Map<string, Member>} */
const byName = (object) => new Map(object?.members?.map((m) => [m.name, m]));

/**
 * Returns elements by their ids, undefined where one has none, or two have the same.
 * @param {Node | undefined} array
 */
function byId(array) {
  /** @type {Map<string, { node: Node, i: number }>} */
  const found = new Map();
  for (const [i, node] of (array?.elements ?? []).entries()) {
    const id = node.members?.findLast((m) => m.name === 'id')?.value;
    if (!id || (id.kind !== 'string' && id.kind !== 'number')) return undefined;
    const key = id.kind === 'string' ? JSON.stringify(JSON.parse(id.raw)) : id.raw; // one text is written in many ways
    if (found.has(key)) return undefined;
    found.set(key, { node, i });
  }
  return found;
}

/**
 * Returns the order of what either side has, undefined where both have moved what both have.
 * @param {string[]} opened
 * @param {string[]} theirs
 * @param {string[]} mine
 */
function orderOf(opened, theirs, mine) {
  const [hasTheirs, hasMine] = [new Set(theirs), new Set(mine)];
  const common = (/** @type {string[]} */ ids) => ids.filter((id) => hasTheirs.has(id) && hasMine.has(id)).join('\n');
  const [then, now, here] = [common(opened), common(theirs), common(mine)];
  if (now === here || then === here) return inserted(theirs, mine);
  return then === now ? inserted(mine, theirs) : undefined;
}

/**
 * Returns a list with what another has besides: each stands after the same one as there, and after what the first has there alone.
 * @param {string[]} list
 * @param {string[]} other
 */
function inserted(list, other) {
  const [inList, inOther] = [new Set(list), new Set(other)];
  /** @type {Map<string | undefined, string[]>} what follows on each that both have, undefined for the beginning */
  const after = new Map();
  /** @type {string | undefined} */
  let last;
  for (const one of other) {
    if (inList.has(one)) last = one;
    else if (after.has(last)) after.get(last)?.push(one);
    else after.set(last, [one]);
  }
  const out = [];
  let waiting = after.get(undefined) ?? [];
  for (const one of list) {
    if (inOther.has(one)) {
      for (const more of waiting) out.push(more); // not spread: arguments are bounded
      waiting = after.get(one) ?? [];
    }
    out.push(one);
  }
  return out.concat(waiting);
}

const blanks = /[ \t\n\r]*/y;

/**
 * Returns the blanks before and after each member or element.
 * @param {Node} node
 */
function blanksOf(node) {
  const items = node.members?.map((m) => ({ start: m.start, end: m.value.end })) ?? node.elements ?? [];
  let from = node.start + 1;
  return items.map(({ start, end }) => {
    const before = node.raw.slice(from, start);
    blanks.lastIndex = end;
    blanks.test(node.raw);
    from = blanks.lastIndex + 1; // a comma stands there, or the end
    return { start, before, after: node.raw.slice(end, from - 1) };
  });
}

/**
 * Returns an object or an array of what was made for it, with the blanks that theirs has. What came has those of its neighbours.
 * @param {Node} theirs
 * @param {Node} mine
 * @param {Made[]} made
 */
function laid(theirs, mine, made) {
  const own = blanksOf(theirs);
  const known = new Map(own.map((one) => [one.start, one]));
  const style = own.length ? own : blanksOf(mine);
  const items = made.map(({ text, from }, i) => {
    const stood = from && known.get(from.start);
    const isFirst = stood !== undefined && stood === own[0];
    const before = i === 0 ? style[0].before : stood && !isFirst ? stood.before : (style[1] ?? style[0]).before;
    const after = i === made.length - 1 ? style[style.length - 1].after : stood && stood !== own[own.length - 1] ? stood.after : '';
    return before + text + after;
  });
  const [open, close] = theirs.members ? '{}' : '[]';
  return open + items.join(',') + close;
}
