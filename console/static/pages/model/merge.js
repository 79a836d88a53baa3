// A suggestion, a JSON merge patch that only adds, is put into the model's text. That text is the API's: YAML in block style, one
// member a line.

/** The longest suggestion that a place may have, in UTF-16 code units of its JSON. */
export const LONGEST_SUGGESTION = 4096;

/**
 * Reads the suggestion of a place.
 * @param {string | null} text
 * @returns {Record<string, any> | undefined} undefined where there is none that can be taken
 */
export function suggestionOf(text) {
  if (!text || text.length > LONGEST_SUGGESTION) return undefined;
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Words that YAML takes for other values than texts, and names that need no quotation marks. */
const words = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
const bare = /^[A-Za-z][\w-]*$/;

/** A member that begins a line: its blanks, its name, and what stands behind the colon. */
const memberLine = /^( *)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"{}[\],&*!|>%@`-][^#]*?):(?: +(.*))?$/;

/** @param {string} name */
const quoted = (name) => (bare.test(name) && !words.test(name) ? name : JSON.stringify(name));

/**
 * @param {string} token
 * @returns {string}
 */
function nameOf(token) {
  if (token.startsWith("'")) return token.slice(1, -1).replaceAll("''", "'");
  if (!token.startsWith('"')) return token;
  try {
    return JSON.parse(token);
  } catch {
    return token;
  }
}

/**
 * Returns a model's text with a patch in it.
 * @param {string} text
 * @param {Record<string, any>} patch
 * @returns {string | undefined} undefined where the text has another form, or the patch takes something away
 */
export function merged(text, patch) {
  const lines = text === '' || text.trim() === '{}' ? [] : text.replace(/\n$/, '').split('\n');
  return put(lines, 0, lines.length, 0, patch) === undefined ? undefined : lines.join('\n') + '\n';
}

/**
 * Puts members into those that stand in a run of lines.
 * @param {string[]} lines
 * @param {number} from
 * @param {number} to
 * @param {number} depth blanks before a member
 * @param {Record<string, any>} members
 * @returns {number | undefined} how many lines came, undefined where it cannot be done
 */
function put(lines, from, to, depth, members) {
  let end = to;
  for (const [name, value] of Object.entries(members)) {
    if (value === null) return undefined;
    const isObject = typeof value === 'object' && !Array.isArray(value);
    const at = lineOf(lines, from, end, depth, name);
    if (at === undefined) {
      const fresh = written(name, value, depth);
      lines.splice(end, 0, ...fresh);
      end += fresh.length;
      continue;
    }
    const rest = memberLine.exec(lines[at])?.[3] ?? '';
    const last = endOf(lines, at + 1, end, depth);
    let came = 0;
    if (!isObject || rest === '{}' || rest === 'null') {
      const fresh = written(name, value, depth);
      came = fresh.length - (last - at);
      lines.splice(at, last - at, ...fresh);
    } else {
      if (rest !== '' || last === at + 1) return undefined;
      const more = put(lines, at + 1, last, depthOf(lines[at + 1]), value);
      if (more === undefined) return undefined;
      came = more;
    }
    end += came;
  }
  return end - to;
}

/** @param {string} line */
const depthOf = (line) => line.length - line.trimStart().length;

/**
 * Returns where the member of a name stands, undefined where it does not.
 * @param {string[]} lines
 * @param {number} from
 * @param {number} to
 * @param {number} depth
 * @param {string} name
 */
function lineOf(lines, from, to, depth, name) {
  for (let i = from; i < to; i++) {
    const found = memberLine.exec(lines[i]);
    if (found && found[1].length === depth && nameOf(found[2]) === name) return i;
  }
  return undefined;
}

/**
 * Returns where a member's lines end: before the next one that is not deeper. An item of a list may stand as deep as its member.
 * @param {string[]} lines
 * @param {number} from
 * @param {number} to
 * @param {number} depth
 */
function endOf(lines, from, to, depth) {
  let i = from;
  while (i < to && (lines[i].trim() === '' || depthOf(lines[i]) > depth || depthOf(lines[i]) === depth && lines[i].trimStart().startsWith('- '))) i++;
  return i;
}

/**
 * Returns the lines of a member.
 * @param {string} name
 * @param {any} value
 * @param {number} depth
 * @returns {string[]}
 */
function written(name, value, depth) {
  const start = ' '.repeat(depth) + quoted(name) + ':';
  const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
  if (!isObject || Object.keys(value).length === 0) return [start + ' ' + JSON.stringify(value)];
  return [start, ...Object.entries(value).flatMap(([inner, of]) => written(inner, of, depth + 4))];
}
