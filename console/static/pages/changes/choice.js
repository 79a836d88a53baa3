import { html } from '../../lib/html.js';
import { goTo, placeHref } from '../../lib/place.js';

/**
 * The form that chooses what is followed. The place has it all.
 * @param {{ params: URLSearchParams, since: string, again: () => void }} props again begins anew where the place stays the same
 */
export function Choice({ params, since, again }) {
  const go = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const given = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const text = (/** @type {string} */ name) => String(given.get(name) ?? '').trim() || undefined;
    const names = text('collections')?.split(/[\s,]+/).filter(Boolean).join(',');
    const rest = Object.fromEntries(['params', 'cascades', 'partition'].map((name) => [name, params.get(name)]));
    const href = placeHref(['_changes'], { since: text('since'), collections: names, filter: text('filter'), derived: given.get('derived') ? undefined : 'exclude', ...rest });
    if (href === location.hash) again();
    else goTo(href);
  };
  // What is typed stays while rows come and the page is drawn anew.
  return html`<form aria-label="Feed" class="query" key=${params.toString()} onSubmit=${go}>
    <label>From <input name="since" defaultValue=${since} title="now, 0, a position or a time" autocomplete="off" /></label>
    <label>Collections <input name="collections" defaultValue=${params.get('collections') ?? ''} title="names, separated by commas; none for all" autocomplete="off" spellcheck=${false} /></label>
    <label>Filter <input name="filter" defaultValue=${params.get('filter') ?? ''} title="an expression over doc, previous and change" autocomplete="off" spellcheck=${false} /></label>
    <label class="box"><input type="checkbox" name="derived" defaultChecked=${params.get('derived') !== 'exclude'} /> Derived changes</label>
    <button type="submit">Follow</button>
  </form>`;
}
