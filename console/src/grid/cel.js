// Filters as rows of member, operator and value, and back. What rows cannot say stays text.

/**
 * A condition. One that rows cannot say has its text alone.
 * @typedef {object} Condition
 * @property {string} [member] its path, such as authors[].name
 * @property {string} [op] one of OPERATORS
 * @property {string} [value] CEL: a literal, a parameter, or several by commas
 * @property {string} [text] CEL that rows cannot say
 */

/** What may be asked of a member, and how it reads. */
export const OPERATORS = /** @type {[string, string][]} */ ([
  ['==', 'is'],
  ['!=', 'is not'],
  ['<', 'is less than'],
  ['<=', 'is at most'],
  ['>', 'is more than'],
  ['>=', 'is at least'],
  ['startsWith', 'begins with'],
  ['endsWith', 'ends with'],
  ['contains', 'contains'],
  ['matches', 'matches'],
  ['in', 'is one of'],
  ['has', 'is there'],
  ['!has', 'is not there'],
]);

/** Operators without a value. @param {string | undefined} op */
export const isBare = (op) => op === 'has' || op === '!has';

const TEXT = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const LITERAL = String.raw`(?:${TEXT}|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|params\.[A-Za-z_]\w*)`;
const STEPS = String.raw`(?:\.[A-Za-z_]\w*|\[(?:${TEXT})\])`;
const isLiteral = new RegExp(`^${LITERAL}$`);
const isText = new RegExp(`^(?:${TEXT})$`);

/**
 * Cuts a text at a separator that stands in no brackets and in no quotation marks.
 * @param {string} text
 * @param {string} separator
 * @returns {string[]}
 */
export function cut(text, separator) {
  const out = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"' || c === "'") {
      for (i++; i < text.length && text[i] !== c; i++) if (text[i] === '\\') i++;
    } else if ('([{'.includes(c)) depth++;
    else if (')]}'.includes(c)) depth--;
    else if (depth === 0 && text.startsWith(separator, i)) {
      out.push(text.slice(from, i));
      from = i + separator.length;
      i = from - 1;
    }
  }
  out.push(text.slice(from));
  return out;
}

/** Whether a text is weaker bound than "and". @param {string} text */
const isLoose = (text) => cut(text, '||').length > 1 || cut(text, '?').length > 1;

/**
 * Returns the conditions of a filter.
 * @param {string} filter
 * @returns {Condition[]}
 */
export function conditionsOf(filter) {
  const text = filter.trim();
  if (text === '') return [];
  if (isLoose(text)) return [{ text }];
  return cut(text, '&&').map((part) => conditionOf(part.trim(), 'doc') ?? { text: part.trim() });
}

/**
 * Returns the condition that a text is, undefined where rows cannot say it.
 * @param {string} text
 * @param {string} root the variable that members are of
 * @returns {Condition | undefined}
 */
function conditionOf(text, root) {
  const m = `${root}(${STEPS}${root === 'doc' ? '+' : '*'})`;
  const found = (/** @type {string} */ pattern) => new RegExp(`^${pattern}$`, 's').exec(text);
  let of = found(String.raw`${m}\s*(==|!=|<=|>=|<|>)\s*(${LITERAL})`);
  if (of) return made(of[1], of[2], of[3]);
  of = found(String.raw`${m}\.(startsWith|endsWith|contains|matches)\(\s*(${LITERAL})\s*\)`);
  if (of) return made(of[1], of[2], of[3]);
  of = found(String.raw`(!?)has\(\s*${m}\s*\)`);
  if (of) return made(of[2], of[1] + 'has', '');
  of = found(String.raw`${m}\s+in\s+\[\s*(${LITERAL}(?:\s*,\s*${LITERAL})*)\s*\]`);
  if (of) return made(of[1], 'in', of[2]);
  of = found(String.raw`(${LITERAL})\s+in\s+${m}`);
  if (of) return made(of[2], '==', of[1], '[]');
  of = root === 'doc' ? found(String.raw`${m}\.exists\(\s*([A-Za-z_]\w*)\s*,\s*(.*)\)`) : null;
  const inner = of && conditionOf(of[3].trim(), of[2]);
  if (!of || !inner || inner.member === undefined || isBare(inner.op)) return undefined;
  return made(of[1], inner.op ?? '', inner.value ?? '', inner.member === '' ? '[]' : '[].' + inner.member);
}

/**
 * @param {string} steps of CEL
 * @param {string} op
 * @param {string} value
 * @param {string} [after] the path within its elements
 * @returns {Condition | undefined}
 */
function made(steps, op, value, after = '') {
  const names = [...steps.matchAll(new RegExp(STEPS, 'g'))].map(([step]) =>
    step[0] === '.' ? step.slice(1) : textOfLiteral(step.slice(1, -1)),
  );
  if (names.some((name) => /[.,[\](){}"']|^\s|\s$|^$/.test(name))) return undefined;
  return { member: names.join('.') + after, op, value };
}

/** Returns the text that a literal of CEL stands for. @param {string} literal */
export function textOfLiteral(literal) {
  const inside = literal.slice(1, -1).replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, code, c) => {
    if (code) return String.fromCharCode(parseInt(code, 16));
    return /** @type {Record<string, string>} */ ({ n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' })[c] ?? c;
  });
  return inside;
}

/**
 * Returns the filter of conditions. Those that lack something are left out.
 * @param {Condition[]} conditions
 */
export function filterOf(conditions) {
  const parts = conditions.map(textOfCondition).filter((text) => text !== '');
  return parts.length === 1 ? parts[0] : parts.map((text) => (isLoose(text) ? `(${text})` : text)).join(' && ');
}

/** @param {Condition} of */
function textOfCondition({ member = '', op = '', value = '', text }) {
  if (text !== undefined) return text.trim();
  if (member.trim() === '' || (value === '' && !isBare(op))) return '';
  return term('doc', member.trim(), op, value);
}

/**
 * @param {string} root
 * @param {string} path
 * @param {string} op
 * @param {string} value
 * @returns {string}
 */
function term(root, path, op, value) {
  const at = path.indexOf('[]');
  const of = root + stepsOf(at < 0 ? path : path.slice(0, at));
  if (isBare(op)) return `${op}(${of})`;
  if (at >= 0) {
    const after = path.slice(at + 2).replace(/^\./, '');
    if (after === '' && op === '==') return `${value} in ${of}`;
    return `${of}.exists(e, ${term('e', after, op, value)})`;
  }
  if (op === 'in') return `${of} in [${value}]`;
  return /^\w/.test(op) ? `${of}.${op}(${value})` : `${of} ${op} ${value}`;
}

/** Returns the steps of CEL to a path. @param {string} path */
export const stepsOf = (path) =>
  path === ''
    ? ''
    : path
        .split('.')
        .map((name) => (/^[A-Za-z_]\w*$/.test(name) ? '.' + name : `[${JSON.stringify(name)}]`))
        .join('');

/**
 * Returns the literal for what somebody typed: a number, a word or a parameter as it is, anything else as a text.
 * @param {string} typed
 * @param {boolean} isTexts whether the member has texts
 * @param {boolean} [several] by commas
 * @returns {string}
 */
export function literalOf(typed, isTexts, several = false) {
  if (several)
    return cut(typed, ',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
      .map((one) => literalOf(one, isTexts))
      .join(', ');
  const text = typed.trim();
  if (text === '') return '';
  if (isText.test(text) || /^params\.[A-Za-z_]\w*$/.test(text) || text === 'null') return text;
  return isLiteral.test(text) && !isTexts ? text : JSON.stringify(text);
}

/**
 * Returns how a literal is shown to somebody who types: a text without quotation marks, where it is taken for the same text again.
 * @param {string} literal
 * @param {boolean} isTexts
 * @param {boolean} [several]
 * @returns {string}
 */
export function typedOf(literal, isTexts, several = false) {
  if (several)
    return cut(literal, ',')
      .map((one) => typedOf(one.trim(), isTexts))
      .join(', ');
  if (!isText.test(literal)) return literal;
  const text = textOfLiteral(literal);
  return text === text.trim() && !/[,"']/.test(text) && literalOf(text, isTexts) === JSON.stringify(text) ? text : literal;
}

// What may come next while somebody types a filter.

const WORDS = [
  'doc.',
  'params.',
  'meta.createdAt',
  'meta.updatedAt',
  'has(',
  'size(',
  'lower(',
  'upper(',
  'timestamp(',
  'true',
  'false',
  'null',
];
const METHODS = ['startsWith(', 'endsWith(', 'contains(', 'matches(', 'exists(', 'all(', 'filter(', 'map('];

/** How many words are offered. */
const MAX_OFFERED = 8;

/**
 * Returns what may stand at a place of a filter, and which part of it that replaces.
 * @param {string} text
 * @param {number} at
 * @param {{ paths: string[], params: string[] }} known paths of members, and names of parameters
 * @returns {{ from: number, words: string[] }}
 */
export function offered(text, at, known) {
  const before = text.slice(0, at);
  const none = { from: at, words: /** @type {string[]} */ ([]) };
  if (/^(?:[^"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*$/s.exec(before) === null) return none; // within a text
  const found = /(?:\b(doc|params)((?:\.\w+)*)\.(\w*)|(?<![\w.])([A-Za-z_]\w*))$/.exec(before);
  if (!found) return none;
  const [, root, steps = '', part = '', word] = found;
  const typed = root ? part : word;
  const all = root === 'params' ? known.params : root ? [...namesBelow(known.paths, steps.slice(1)), ...(steps ? METHODS : [])] : WORDS;
  const words = [...new Set(all)].filter((one) => one !== typed && one.toLowerCase().startsWith(typed.toLowerCase())).slice(0, MAX_OFFERED);
  return { from: at - typed.length, words };
}

/**
 * @param {string[]} paths
 * @param {string} path
 */
const namesBelow = (paths, path) =>
  paths
    .filter((one) => path === '' || one.startsWith(path + '.'))
    .map((one) => one.slice(path === '' ? 0 : path.length + 1).split(/[.[]/)[0])
    .filter((name) => /^[A-Za-z_]\w*$/.test(name));
