// Differences between two models, in words.

/** @typedef {{ path: string, change: 'added' | 'removed' | 'changed', detail?: string, removes?: boolean }} Difference */

/** What the parts of a collection's declaration are called. */
const PARTS = /** @type {Record<string, string>} */ ({ derive: 'rule', relations: 'relation', indexes: 'index', unique: 'unique in', schema: 'schema of', access: 'access to', trigger: 'trigger of', pages: 'pages of', release: 'released path of' });

/** What members outside the collections are called. */
const WHOLE = /** @type {Record<string, string>} */ ({ 'fanout.limit': 'the limit of derived changes (fanout.limit)', 'embedded.limit': 'the limit of an embedded document (embedded.limit)', open: 'whether undeclared collections are open (open)' });

/** What becomes of a declaration. */
export const CHANGES = { added: 'New', removed: 'Gone', changed: 'Changed' };

/**
 * Returns what a difference is about.
 * @param {Difference} difference
 */
export function subjectOf({ path }) {
  if (path === '') return 'more declarations';
  const [first, collection, part, ...rest] = path.split('.'); // a collection's name has no dot
  if (first === 'functions' && collection !== undefined) return (part === undefined ? '' : part + ' of ') + 'function ' + collection;
  if (first !== 'collections' || collection === undefined) return WHOLE[path] ?? path;
  if (part === undefined) return 'collection ' + collection;
  const name = rest.join('.');
  const policy = part === 'relations' ? /^(.+)\.(onDelete|strict)$/.exec(name) : null;
  if (policy) return `${policy[2]} of relation ${collection}.${policy[1]}`;
  return `${PARTS[part] ?? part} ${collection}${name && '.' + name}`;
}

/**
 * Returns what is declared now, and what was before. A rule that differs in nothing of its own loses values.
 * @param {Difference} difference
 */
export function detailOf({ path, change, detail = '' }) {
  const [now, was] = detail.split(', was ', 2);
  return change === 'changed' && path.includes('.derive.') && now === was ? 'it keeps no values any more that nobody can compute again' : detail;
}

/**
 * Returns what access opens and closes.
 * @param {Difference[]} differences
 * @returns {{ opens: boolean, collection: string, text: string }[]}
 */
export const accessOf = (differences) => differences.filter(({ path }) => /^collections\.[^.]+\.access$/.test(path)).flatMap(({ path, detail = '' }) => {
  const collection = path.split('.')[1];
  const text = detail.startsWith(collection + ': ') ? detail.slice(collection.length + 2) : detail;
  return text.split('; ').filter((one) => one !== '').map((one) => ({ opens: !/ may not /.test(one), collection, text: one }));
});

/**
 * Returns what a model takes away, and how many declarations that are.
 * @param {Difference[]} differences
 * @returns {{ removals: Difference[], count: string }}
 */
export function removalsOf(differences) {
  const removals = differences.filter((one) => one.removes);
  const named = removals.filter((one) => one.path !== '').length;
  return { removals, count: named < removals.length ? `${named} and more` : String(removals.length) };
}
