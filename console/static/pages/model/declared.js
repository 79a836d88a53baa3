// What a model declares, as rows: its relations, rules and functions, and what the node has found about them.

/**
 * @typedef {object} Relation
 * @property {string} key collection.name
 * @property {string} collection whose documents hold the ids
 * @property {string} name
 * @property {string} path
 * @property {string} to
 * @property {string} onDelete
 * @property {boolean} strict
 * @property {Rule[]} rules that use it
 */

/**
 * @typedef {object} Rule
 * @property {string} name such as books.authors[].name
 * @property {string} collection
 * @property {string} path
 * @property {string} kind
 * @property {string} from the collection whose documents it reads
 * @property {string} by the key of its relation, empty for a value of the document's own
 * @property {string} says its expressions and paths, in the model's words
 */

/**
 * @typedef {object} Func
 * @property {string} name
 * @property {string[]} call the roles that call it; none for admin alone
 * @property {string[]} reads collections
 * @property {string[]} triggers the collections whose trigger it is
 * @property {boolean} authority it may do everything, whoever calls it
 * @property {string} source
 */

/** @typedef {{ relations: Relation[], rules: Rule[], functions: Func[] }} Declared */

/** What goes with a relation to a target's own value. */
const AGGREGATES = ['count', 'sum', 'min', 'avg', 'ids'];

/** @param {any} object @returns {[string, any][]} */
const entries = (object) => Object.entries(object ?? {});

/**
 * Returns the relations, the rules and the functions of a model, in its order.
 * @param {any} model as the API gives it
 * @returns {Declared}
 */
export function declaredIn(model) {
  const collections = entries(model?.collections);
  const relations = collections.flatMap(([collection, of]) => entries(of?.relations).map(([name, r]) => (
    { key: collection + '.' + name, collection, name, path: String(r.path), to: String(r.to), onDelete: String(r.onDelete ?? 'clear'), strict: r.strict === true, rules: /** @type {Rule[]} */ ([]) })));
  const byKey = new Map(relations.map((r) => [r.key, r]));
  const rules = collections.flatMap(([collection, of]) => entries(of?.derive).map(([path, rule]) => ruleOf(collection, path, rule, byKey)));
  for (const rule of rules) byKey.get(rule.by)?.rules.push(rule);
  return { relations, rules, functions: functionsOf(model, collections) };
}

/**
 * @param {any} model
 * @param {[string, any][]} collections
 * @returns {Func[]}
 */
const functionsOf = (model, collections) => entries(model?.functions).map(([name, f]) => ({
  name, call: f.call ?? ['write'], reads: f.reads ?? [], triggers: collections.filter(([, of]) => of?.trigger === name).map(([collection]) => collection), authority: f.authority === 'model', source: String(f.source) }));

/**
 * @param {string} collection
 * @param {string} path
 * @param {any} rule
 * @param {Map<string, Relation>} relations
 * @returns {Rule}
 */
function ruleOf(collection, path, rule, relations) {
  const name = collection + '.' + path;
  if (rule.copy !== undefined) {
    const by = collection + '.' + rule.copy;
    return { name, collection, path, kind: rule.frozen ? 'frozen copy' : 'copy', from: relations.get(by)?.to ?? '', by, says: String(rule.value) };
  }
  const kind = rule.recent !== undefined ? 'recent' : AGGREGATES.find((word) => rule[word] !== undefined) ?? (rule.max !== undefined ? 'max' : '');
  if (kind === '') return { name, collection, path, kind: 'computed', from: collection, by: '', says: String(rule.value) };
  const by = String(rule[kind]);
  const order = typeof rule.orderBy === 'object' ? '_meta.' + rule.orderBy?._meta : rule.orderBy;
  const says = [rule.of, rule.fields?.join(', '), order && 'order by ' + order, rule.where && 'where ' + rule.where].filter(Boolean).join('; ');
  if (by.includes('[]')) return { name, collection, path, kind, from: collection, by: '', says: [by, says].filter(Boolean).join('; ') };
  return { name, collection, path, kind, from: by.slice(0, by.indexOf('.')), by, says };
}

/**
 * What the node has found about a rule. What is undefined is not known.
 * @typedef {object} Found
 * @property {{ count: number, document: string, error: string }} [failed] since the start of the node
 * @property {number} [withoutRoom] documents that have no room for its value
 */

/**
 * Returns what a status tells of each rule, undefined where there is no status.
 * @param {any} status
 * @returns {((rule: string) => Found) | undefined}
 */
export function foundBy(status) {
  if (!status) return undefined;
  const errors = new Map((status.ruleErrors ?? []).map((/** @type {any} */ e) => [e.rule, e]));
  const rooms = new Map((status.omitted ?? []).map((/** @type {any} */ o) => [o.rule, o.documents]));
  return (rule) => ({ failed: errors.get(rule), withoutRoom: rooms.get(rule) });
}

/**
 * Tells whether a rule fails: its expression has an error, or its values have no room.
 * @param {Found} found
 */
export const isFailing = ({ failed, withoutRoom }) => failed !== undefined || withoutRoom !== undefined;
