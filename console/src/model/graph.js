import { html, useEffect, useMemo, useState } from '../lib/html.js';
import { Problem } from '../lib/http.js';
import { goTo, placeHref } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { Visible, counted } from '../ui/parts.js';
import { isFailing } from './declared.js';

/**
 * The graph of the model. It comes after the tables, which have the same in words.
 * @param {{ place: import('../lib/place.js').Place, model: any, declared: import('./declared.js').Declared, counts: Map<string, number>,
 *   largest: Map<string, import('./load.js').Largest>, found?: (rule: string) => import('./declared.js').Found }} props
 */
export function Graph({ place, model, declared, counts, largest, found }) {
  const all = useMemo(() => Object.keys(model.collections ?? {}), [model]);
  const asked = place.params.get('collection') ?? '';
  const chosen = all.length > MOST ? (all.includes(asked) ? asked : busiest(all, declared.relations)) : '';
  const { names, left } = drawnOf(all, declared.relations, counts, chosen);
  const drawn = drawing(names, declared, counts, largest, found);
  const { layout, failed } = useLayout(drawn, counts.size > 0 && all.length > 0);
  if (all.length === 0) return null;
  return html`<div role="group" aria-label="Model graph" class="graph">
    <h2>Graph</h2>
    ${chosen !== '' && html`<${Choice} place=${place} all=${all} chosen=${chosen} left=${left} />`}
    ${
      failed &&
      html`<${ProblemAlert}
      problem=${new Problem(0, { title: 'The graph cannot be drawn', detail: 'The tables have the same.' })} />`
    }
    <div class="scroll">${
      layout &&
      html`<svg width=${layout.width} height=${layout.height} viewBox=${`0 0 ${layout.width} ${layout.height}`}>
      ${drawn.edges.map(
        (edge) =>
          layout.edges.has(edge.relation.key) &&
          html`<${GraphEdge} key=${edge.relation.key} edge=${edge}
        place=${layout.edges.get(edge.relation.key)} />`,
      )}
      ${drawn.nodes.map(
        (node) =>
          layout.nodes.has(node.name) &&
          html`<${GraphNode} key=${node.name} node=${node}
        place=${layout.nodes.get(node.name)} chosen=${node.name === chosen} />`,
      )}
    </svg>`
    }</div>
    <p class="quiet">An arrow leads where values go, and has the number of its rules; a dashed line has none. A triangle marks what fails:
      an error, no room, or no value
      anywhere. A double line is hot: ${HOT.toLocaleString('en')} documents or more take their values from one, to which it leads.</p>
  </div>`;
}

/**
 * Places what is drawn, once the browser has shown the tables. Where only numbers change it stays as it is.
 * @param {Drawn} drawn
 * @param {boolean} ready whether sizes are known
 * @returns {{ layout?: Placed, failed?: boolean }}
 */
function useLayout(drawn, ready) {
  const [state, setState] = useState(/** @type {{ layout?: Placed, failed?: boolean }} */ ({}));
  const form = JSON.stringify([
    drawn.nodes.map((n) => [n.name, n.size]),
    drawn.edges.map((e) => [e.relation.key, e.relation.to, e.relation.rules.length, e.load > 0, e.failing > 0]),
  ]);
  useEffect(() => {
    if (!ready) return undefined;
    let ended = false;
    const draw = async () => {
      try {
        const dagre = await import('@dagrejs/dagre');
        if (ended) return;
        const start = performance.now();
        const layout = placed(dagre, drawn);
        performance.measure('model graph', { start });
        setState({ layout });
      } catch (error) {
        console.warn(error);
        if (!ended) setState({ failed: true });
      }
    };
    const timer = setTimeout(draw);
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [form, ready]);
  return state;
}

/**
 * Chooses the collection around which the graph is drawn.
 * @param {{ place: import('../lib/place.js').Place, all: string[], chosen: string, left: number }} props
 */
function Choice({ place, all, chosen, left }) {
  const go = (/** @type {any} */ event) => {
    const params = new URLSearchParams(place.params);
    params.set('collection', event.target.value);
    goTo(placeHref(place.parts, params));
  };
  return html`<p class="actions"><label>Around <select value=${chosen} onChange=${go}>${all.map(
    (name) => html`<option key=${name}
    value=${name}><${Visible} text=${name} max=${100} /></option>`,
  )}</select></label>
    <span class="quiet">with its neighbours, ${MOST - 1} at most,
      of ${all.length.toLocaleString('en')} collections${left > 0 && `; ${left.toLocaleString('en')} more have no place`}</span></p>`;
}

/** @param {string} text */
export const short = (text) => visible(text.length > LONGEST ? text.slice(0, LONGEST) + '…' : text);

/**
 * A relation: a line from what is referred to, to what refers to it. Heads of arrows are where values arrive.
 * @param {{ edge: DrawnEdge, place: { x: number, y: number, points: { x: number, y: number }[] } }} props
 */
export function GraphEdge({ edge, place: { x, y, points } }) {
  const { relation, down, up, failing, load, largest } = edge;
  const d = curve(points);
  const last = points.length - 1;
  const label = labelOf({ ...edge, relation: { ...relation, name: short(relation.name) } });
  const refer =
    largest?.id !== undefined && `${atLeast(largest)} ${largest.documents === 1 ? 'refers' : 'refer'} to ${relation.to}/${largest.id}`;
  const told = [
    load > 0 && label, // a link's name has what is seen of it
    `${relation.key} to ${relation.to}`,
    load === 0 && rulesIn(relation),
    failing > 0 && `${failing} failing`,
    refer,
  ]
    .filter(Boolean)
    .join(', ');
  const target = load > 0 && largest?.id !== undefined ? { href: placeHref([relation.to, largest.id]) } : { role: 'img' };
  return html`<${target.href ? 'a' : 'g'} ...${target} aria-label=${visible(told)}
    class=${'edge' + (relation.rules.length === 0 ? ' bare' : '') + (failing > 0 ? ' failing' : '') + (load > 0 ? ' hot' : '')}>
    ${refer && html`<title>${visible(refer)}</title>`}<path class="line" d=${d} />${load > 0 && html`<path class="core" d=${d} />`}
    ${down && html`<path class="head" d=${head(points[last], points[last - 1])} />`}
    ${up && html`<path class="head" d=${head(points[0], points[1])} />`}
    <text class="label" x=${x + (failing > 0 ? 8 : 0)} y=${y + 4} text-anchor="middle">${label}</text>
    ${failing > 0 && html`<${Warning} x=${x - label.length * 3.3 - 2} y=${y} />`}
  <//>`;
}

/**
 * The mark of what fails: a triangle, so that its form tells it.
 * @param {{ x: number, y: number }} props its middle
 */
export const Warning = ({ x, y }) =>
  html`<path class="warning" d=${`M${x},${y - 8} l8,14 h-16 z`} /><text class="warning-sign" x=${x} y=${y + 5}
    text-anchor="middle">!</text>`;

/**
 * A collection: a link to it, the bigger the more documents it has.
 * @param {{ node: DrawnNode, place: { x: number, y: number, width: number, height: number }, chosen: boolean }} props
 */
export function GraphNode({ node: { name, documents, failing }, place: { x, y, width, height }, chosen }) {
  const count = counted(documents, 'document');
  const told = `${name}, ${count}` + (failing > 0 ? `, ${failing} failing` : '');
  return html`<a href=${placeHref([name])} aria-label=${visible(told)}
    class=${'node' + (failing > 0 ? ' failing' : '') + (chosen ? ' chosen' : '')}>
    <rect x=${x - width / 2} y=${y - height / 2} width=${width} height=${height} rx="7" />
    <text class="name" x=${x} y=${y - 3} text-anchor="middle">${short(name)}</text>${' '}
    <text class="count" x=${x} y=${y + 14} text-anchor="middle">${count}</text>
    ${failing > 0 && html`<${Warning} x=${x + width / 2 - 12} y=${y - height / 2 + 12} />`}
  </a>`;
}

// What of the model is drawn: collections with their sizes, and the relations between them.

/** A graph of more collections shows one of them with its neighbours: the layout's work grows faster than the graph. */
export const MOST = 40;

/** From so many documents on that refer to one a relation with copies is hot: a write changes them all. */
export const HOT = 1000;

/**
 * @typedef {object} DrawnNode
 * @property {string} name
 * @property {number} documents
 * @property {number} size a step for each tenfold of documents
 * @property {number} failing rules of it that fail
 */

/**
 * @typedef {object} DrawnEdge
 * @property {import('./declared.js').Relation} relation
 * @property {boolean} down values of the target go to the documents that refer to it
 * @property {boolean} up counts and the like go the other way
 * @property {number} failing rules of it that fail
 * @property {number} load documents that refer to the largest target, 0 where that is not hot
 * @property {import('./load.js').Largest} [largest] undefined where it is not known
 */

/** @typedef {{ nodes: DrawnNode[], edges: DrawnEdge[] }} Drawn */

/**
 * Returns the names of the collections that are drawn: all, or the chosen one with those that most documents tie to it.
 * @param {string[]} all
 * @param {import('./declared.js').Relation[]} relations
 * @param {Map<string, number>} counts
 * @param {string} chosen
 * @returns {{ names: string[], left: number }} left is how many neighbours have no place
 */
export function drawnOf(all, relations, counts, chosen) {
  if (all.length <= MOST) return { names: all, left: 0 };
  const neighbours = new Set(relations.filter((r) => r.collection === chosen || r.to === chosen).flatMap((r) => [r.collection, r.to]));
  neighbours.delete(chosen);
  const documents = (/** @type {string} */ name) => counts.get(name) ?? 0;
  const sorted = [...neighbours].sort((a, b) => documents(b) - documents(a) || (a < b ? -1 : 1));
  return { names: [chosen, ...sorted.slice(0, MOST - 1)], left: Math.max(0, sorted.length - MOST + 1) };
}

/**
 * Returns the collection that is drawn where none was chosen: that with the most relations.
 * @param {string[]} all
 * @param {import('./declared.js').Relation[]} relations
 */
export function busiest(all, relations) {
  const ties = new Map();
  for (const r of relations) for (const name of [r.collection, r.to]) ties.set(name, (ties.get(name) ?? 0) + 1);
  return all.reduce((best, name) => ((ties.get(name) ?? 0) > (ties.get(best) ?? 0) ? name : best), all[0]);
}

/**
 * Returns what is drawn of some collections.
 * @param {string[]} names
 * @param {import('./declared.js').Declared} declared
 * @param {Map<string, number>} counts
 * @param {Map<string, import('./load.js').Largest>} largest targets, by the keys of relations
 * @param {((rule: string) => import('./declared.js').Found) | undefined} found
 * @returns {Drawn}
 */
export function drawing(names, { relations, rules }, counts, largest, found) {
  const isThere = new Set(names);
  const failing = (/** @type {import('./declared.js').Rule[]} */ of) =>
    found ? of.filter((rule) => isFailing(found(rule.name))).length : 0;
  const nodes = names.map((name) => {
    const documents = counts.get(name) ?? 0;
    return {
      name,
      documents,
      size: Math.min(8, Math.floor(Math.log10(documents + 1))),
      failing: failing(rules.filter((rule) => rule.collection === name)),
    };
  });
  const edges = relations
    .filter((r) => isThere.has(r.collection) && isThere.has(r.to))
    .map((relation) => {
      const down = relation.rules.some((rule) => rule.collection === relation.collection);
      const load = largest.get(relation.key)?.documents ?? 0;
      return {
        relation,
        down,
        up: relation.rules.some((rule) => rule.collection === relation.to && rule.kind !== 'copy'),
        failing: failing(relation.rules),
        load: down && load >= HOT ? load : 0,
        largest: largest.get(relation.key),
      };
    });
  return { nodes, edges };
}

// Where the parts of the graph stand. Texts are measured by their length, for they are drawn later.

/** @typedef {{ x: number, y: number }} Point */

/**
 * @typedef {object} Placed
 * @property {number} width
 * @property {number} height
 * @property {Map<string, Point & { width: number, height: number }>} nodes by name, with their middle
 * @property {Map<string, Point & { points: Point[] }>} edges by the relation's key, with the middle of the label
 */

/** Widths of a character, in units of the drawing. */
const WIDE = { name: 8, label: 6.6 };

/** How many characters of a name are drawn. */
export const LONGEST = 28;

/** @param {string} text */
const drawnLength = (text) => Math.min(LONGEST, text.length) + (text.length > LONGEST ? 1 : 0);

/** @param {import('./declared.js').Relation} relation */
export const rulesIn = ({ rules }) => (rules.length === 1 ? '1 rule' : rules.length === 0 ? 'no rule' : `${rules.length} rules`);

/**
 * Says what stands at an edge.
 * @param {DrawnEdge} edge
 */
export const labelOf = ({ relation, load, largest }) =>
  `${relation.name} · ${rulesIn(relation)}` + (load > 0 && largest ? ` · hot, ${atLeast(largest)} to one` : '');

/**
 * How many documents refer to the largest target, as far as is known.
 * @param {import('./load.js').Largest} largest
 */
const atLeast = ({ documents, partial }) => (partial ? 'at least ' : '') + documents.toLocaleString('en');

/**
 * Places a graph from left to right in the direction of copies: from what is referred to, to what refers to it.
 * @param {any} dagre the module
 * @param {{ nodes: DrawnNode[], edges: DrawnEdge[] }} of
 * @returns {Placed}
 */
export function placed(dagre, { nodes, edges }) {
  const graph = new dagre.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: 22, ranksep: 46, edgesep: 14, marginx: 8, marginy: 8 });
  for (const { name, size } of nodes)
    graph.setNode(name, { width: Math.max(drawnLength(name) * WIDE.name, 100) + 24 + size * 6, height: 42 + size * 6 });
  for (const edge of edges) {
    const { relation } = edge;
    graph.setEdge(
      relation.to,
      relation.collection,
      {
        width: (drawnLength(relation.name) + labelOf(edge).length - relation.name.length) * WIDE.label + (edge.failing ? 20 : 6),
        height: 18,
        labelpos: 'c',
      },
      relation.name,
    );
  }
  dagre.layout(graph);
  const { width, height } = graph.graph();
  return {
    width: width ?? 0,
    height: height ?? 0,
    nodes: new Map(nodes.map(({ name }) => [name, graph.node(name)])),
    edges: new Map(edges.map(({ relation }) => [relation.key, graph.edge(relation.to, relation.collection, relation.name)])),
  };
}

/**
 * Returns a smooth line through points, for the attribute d.
 * @param {Point[]} points
 */
export function curve(points) {
  const at = (/** @type {Point} */ p) => `${p.x.toFixed(1)},${p.y.toFixed(1)}`;
  const middle = (/** @type {Point} */ a, /** @type {Point} */ b) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const inner = points.slice(1, -1).map((p, i) => ` Q${at(p)} ${at(middle(p, points[i + 2]))}`);
  return `M${at(points[0])} L${at(middle(points[0], points[1]))}${inner.join('')} L${at(points[points.length - 1])}`;
}

/**
 * Returns the head of an arrow at a point, for the attribute d.
 * @param {Point} tip
 * @param {Point} from
 */
export function head(tip, from) {
  const length = Math.hypot(tip.x - from.x, tip.y - from.y) || 1;
  const [x, y] = [(tip.x - from.x) / length, (tip.y - from.y) / length];
  const corner = (/** @type {number} */ side) =>
    `${(tip.x - 10 * x + side * 5 * y).toFixed(1)},${(tip.y - 10 * y - side * 5 * x).toFixed(1)}`;
  return `M${tip.x.toFixed(1)},${tip.y.toFixed(1)} L${corner(1)} L${corner(-1)} Z`;
}
