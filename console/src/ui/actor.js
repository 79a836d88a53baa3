import { effect, html, signal } from '../lib/html.js';
import { ask, hasRole, key } from '../lib/http.js';
import { Visible } from './parts.js';

/**
 * The names of keys by what events call their holders, as far as they are known.
 * @type {import('@preact/signals').Signal<Map<string, string>>}
 */
const names = signal(new Map());

/** Whose keys were asked for, undefined as long as nobody's were. */
let askedBy = /** @type {string | undefined} */ (undefined);

effect(() => {
  if (key.value === askedBy) return;
  askedBy = undefined;
  names.value = new Map();
});

/** Asks for the names once for each reader who may know them. The ids are shown where that fails. */
function learn() {
  if (askedBy === key.value || !hasRole('admin')) return;
  const by = (askedBy = key.value);
  ask({ path: ['_keys'] }).then(
    (of) => {
      if (by === key.value) names.value = new Map(of.keys.map((/** @type {any} */ one) => ['key:' + one.id, one.name]));
    },
    () => {},
  );
}

/**
 * Who wrote something: a key by its name, for whoever may know it. The title has what the event says.
 * @param {{ of: string }} props
 */
export function Actor({ of }) {
  if (of.startsWith('key:')) learn();
  const name = names.value.get(of);
  return name === undefined
    ? html`<${Visible} text=${of} max=${80} />`
    : html`<span title=${of}><${Visible} text=${name} max=${80} /></span>`;
}
