import { html, useState } from '../../lib/html.js';
import { ask } from '../../lib/http.js';
import { useLoad } from '../../lib/load.js';
import { placeHref } from '../../lib/place.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Visible } from '../../ui/text.js';

/** The collections of the store. */
export function CollectionsPage() {
  const asked = { path: [], query: { limit: 100 } };
  const { value, problem, again } = useLoad((signal) => ask({ ...asked, signal }), []);
  return html`<${ProblemAlert} problem=${problem} again=${again} />
    ${value && html`<div class="scroll"><table aria-label="Collections">
      <thead><tr><th scope="col">Name</th><th scope="col" class="number">Documents</th><th scope="col">Declared</th></tr></thead>
      <tbody>${value.collections.map((/** @type {any} */ c) => html`<tr key=${c.name}>
        <td><a href=${placeHref([c.name])}><${Visible} text=${c.name} /></a></td><td class="number">${c.documents}</td><td>${c.declared ? 'yes' : 'no'}</td></tr>`)}</tbody>
    </table></div>`}
    <${CopyAsCurl} asked=${asked} />`;
}
