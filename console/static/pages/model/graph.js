import { html, useEffect, useMemo, useState } from '../../lib/html.js';
import { goTo, placeHref } from '../../lib/place.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Problem } from '../../lib/http.js';
import { Visible } from '../../ui/text.js';
import { busiest, drawing, drawnOf, HOT, MOST } from './drawn.js';
import { GraphEdge } from './graphedge.js';
import { GraphNode } from './graphnode.js';
import { placed } from './layout.js';

/**
 * The graph of the model. It comes after the tables, which have the same in words.
 * @param {{ place: import('../../lib/place.js').Place, model: any, declared: import('./declared.js').Declared, counts: Map<string, number>,
 *   found?: (rule: string) => import('./declared.js').Found }} props
 */
export function Graph({ place, model, declared, counts, found }) {
  const all = useMemo(() => Object.keys(model.collections ?? {}), [model]);
  const asked = place.params.get('collection') ?? '';
  const chosen = all.length > MOST ? (all.includes(asked) ? asked : busiest(all, declared.relations)) : '';
  const { names, left } = drawnOf(all, declared.relations, counts, chosen);
  const drawn = drawing(names, declared, counts, found);
  const { layout, failed } = useLayout(drawn, counts.size > 0 && all.length > 0);
  if (all.length === 0) return null;
  return html`<div role="group" aria-label="Model graph" class="graph">
    <h2>Graph</h2>
    ${chosen !== '' && html`<${Choice} place=${place} all=${all} chosen=${chosen} left=${left} />`}
    ${failed && html`<${ProblemAlert} problem=${new Problem(0, { title: 'The graph cannot be drawn', detail: 'The tables have the same.' })} />`}
    <div class="scroll">${layout && html`<svg width=${layout.width} height=${layout.height} viewBox=${`0 0 ${layout.width} ${layout.height}`}>
      ${drawn.edges.map((edge) => layout.edges.has(edge.relation.key) && html`<${GraphEdge} key=${edge.relation.key} edge=${edge} place=${layout.edges.get(edge.relation.key)} />`)}
      ${drawn.nodes.map((node) => layout.nodes.has(node.name) && html`<${GraphNode} key=${node.name} node=${node} place=${layout.nodes.get(node.name)} chosen=${node.name === chosen} />`)}
    </svg>`}</div>
    <p class="quiet">An arrow leads where values go, and has the number of its rules; a dashed line has none. A triangle marks what fails: an error, no room, or no value
      anywhere. A double line is hot: ${HOT.toLocaleString('en')} documents or more take their values from one.</p>
  </div>`;
}

/**
 * Places what is drawn, once the browser has shown the tables. Where only numbers change it stays as it is.
 * @param {import('./drawn.js').Drawn} drawn
 * @param {boolean} ready whether sizes are known
 * @returns {{ layout?: import('./layout.js').Placed, failed?: boolean }}
 */
function useLayout(drawn, ready) {
  const [state, setState] = useState(/** @type {{ layout?: import('./layout.js').Placed, failed?: boolean }} */ ({}));
  const form = JSON.stringify([drawn.nodes.map((n) => [n.name, n.size]), drawn.edges.map((e) => [e.relation.key, e.relation.to, e.relation.rules.length, e.load > 0, e.failing > 0])]);
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
    return () => { ended = true; clearTimeout(timer); };
  }, [form, ready]);
  return state;
}

/**
 * Chooses the collection around which the graph is drawn.
 * @param {{ place: import('../../lib/place.js').Place, all: string[], chosen: string, left: number }} props
 */
function Choice({ place, all, chosen, left }) {
  const go = (/** @type {any} */ event) => {
    const params = new URLSearchParams(place.params);
    params.set('collection', event.target.value);
    goTo(placeHref(place.parts, params));
  };
  return html`<p class="actions"><label>Around <select value=${chosen} onChange=${go}>${all.map((name) => html`<option key=${name} value=${name}><${Visible} text=${name} max=${100} /></option>`)}</select></label>
    <span class="quiet">with its neighbours, ${MOST - 1} at most, of ${all.length.toLocaleString('en')} collections${left > 0 && `; ${left.toLocaleString('en')} more have no place`}</span></p>`;
}
