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
 * @param {import('./drawn.js').DrawnEdge} edge
 */
export const labelOf = ({ relation, load }) => `${relation.name} · ${rulesIn(relation)}` + (load > 0 ? ` · hot, ${load.toLocaleString('en')} each` : '');

/**
 * Places a graph from left to right in the direction of copies: from what is referred to, to what refers to it.
 * @param {any} dagre the module
 * @param {{ nodes: import('./drawn.js').DrawnNode[], edges: import('./drawn.js').DrawnEdge[] }} of
 * @returns {Placed}
 */
export function placed(dagre, { nodes, edges }) {
  const graph = new dagre.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: 22, ranksep: 46, edgesep: 14, marginx: 8, marginy: 8 });
  for (const { name, size } of nodes) graph.setNode(name, { width: Math.max(drawnLength(name) * WIDE.name, 100) + 24 + size * 6, height: 42 + size * 6 });
  for (const edge of edges) {
    const { relation } = edge;
    graph.setEdge(relation.to, relation.collection, { width: (drawnLength(relation.name) + labelOf(edge).length - relation.name.length) * WIDE.label + (edge.failing ? 20 : 6), height: 18, labelpos: 'c' }, relation.name);
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
  const corner = (/** @type {number} */ side) => `${(tip.x - 10 * x + side * 5 * y).toFixed(1)},${(tip.y - 10 * y - side * 5 * x).toFixed(1)}`;
  return `M${tip.x.toFixed(1)},${tip.y.toFixed(1)} L${corner(1)} L${corner(-1)} Z`;
}
