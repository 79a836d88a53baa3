import { html, useMemo, useRef, useState } from '../../lib/html.js';
import { placeHref } from '../../lib/place.js';
import { stepsOf } from '../../json/pointer.js';
import { JsonView, named } from '../../ui/json.js';
import { Kind } from './kind.js';
import { idOf, isAt, kindOf, linksOf } from './model.js';
import { Origin } from './origin.js';
import { WholeText } from './whole.js';

/**
 * The region with the document itself. Derived values are marked once it is known which they are.
 * @param {{ doc: import('./load.js').Document, parts: string[], at: string | null, lineage: any, model: any, changed?: Set<string> }} props
 */
export function DocumentRegion({ doc, parts, at, lineage, model, changed }) {
  const [opened, setOpened] = useState('');
  const marks = useMemo(() => marksOf(lineage), [lineage]);
  const links = useMemo(() => linksOf(model, parts[0]), [model]);
  const opener = useRef(/** @type {HTMLElement | null} */ (null));
  const close = () => {
    opener.current?.focus();
    setOpened('');
  };
  const open = (/** @type {string} */ pointer, /** @type {Event} */ event) => {
    opener.current = /** @type {HTMLElement} */ (event.currentTarget);
    setOpened(pointer);
  };
  const adds = {
    marked: (/** @type {string} */ pointer) => marks.values.has(pointer),
    inside: (/** @type {string} */ pointer) => marks.inside.get(pointer) ?? 0,
    beside: (/** @type {string} */ pointer) => {
      const value = marks.values.get(pointer);
      return value && html` <${Kind} kind=${kindOf(value, model)} state=${value.state} /> <button type="button" class="small"
        aria-label=${`Origin of ${named(pointer)}`} aria-expanded=${opened === pointer} onClick=${(/** @type {Event} */ event) => (opened === pointer ? close() : open(pointer, event))}>Origin</button>`;
    },
    under: (/** @type {string} */ pointer) => opened === pointer && marks.values.has(pointer) && html`<${Origin} key=${pointer} value=${marks.values.get(pointer)} parts=${parts} model=${model} onClose=${close} />`,
    href: (/** @type {string} */ pointer, /** @type {import('../../json/scan.js').Node} */ node) => {
      const steps = links.length ? stepsOf(pointer) : [];
      const link = links.find((l) => isAt(steps, l.path));
      const id = link && idOf(node);
      return link && id !== undefined ? placeHref([link.to, id], { at }) : undefined;
    },
    changed,
  };
  return html`<section aria-label="Document">${doc.root
    ? html`<${JsonView} root=${doc.root} adds=${adds} />`
    : html`<${WholeText} text=${doc.text} name=${parts.join('-') + '.json'} />`}</section>`;
}

/**
 * Returns the derived values of a lineage by their pointers, and for each object or array how many are within it.
 * @param {any} lineage
 */
function marksOf(lineage) {
  const values = new Map();
  const inside = new Map();
  for (const value of lineage?.derived ?? []) {
    if (!value.path || value.state === 'no value') continue;
    values.set(value.path, value);
    for (let at = value.path.lastIndexOf('/'); at > 0; at = value.path.lastIndexOf('/', at - 1)) {
      const outer = value.path.slice(0, at);
      inside.set(outer, (inside.get(outer) ?? 0) + 1);
    }
  }
  return { values, inside };
}
