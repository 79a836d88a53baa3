import { html } from '../../lib/html.js';
import { number } from '../../ui/amounts.js';
import { shortOrLong } from '../../ui/longtext.js';
import { Table } from '../../ui/table.js';
import { Visible } from '../../ui/text.js';
import { CollectionLink } from './relations.js';

/**
 * The functions of the model, and whose triggers they are. It is empty where there is none, as in most models.
 * @param {{ functions: import('./declared.js').Func[] }} props
 */
export function Functions({ functions }) {
  if (functions.length === 0) return null;
  return html`<h2>Functions</h2>
    <${Table} label="Functions" head=${['Function', 'Called by', 'Reads', 'Trigger of', ['Lines']]}>${functions.map((one) => html`<tr key=${one.name}>
      <td><${Visible} text=${one.name} max=${100} /></td>
      <td>${one.call.length === 0 ? 'admin' : one.call.join(', ')}${one.authority && html` <strong>may do everything</strong>`}</td>
      <td><${Links} names=${one.reads} /></td>
      <td><${Links} names=${one.triggers} /></td>
      <td class="number">${number(one.source.trimEnd().split('\n').length)}</td></tr>`)}<//>
    ${functions.map((one) => html`<details key=${one.name}><summary>Source of <${Visible} text=${one.name} max=${100} /></summary><pre><code>${shortOrLong(one.source, one.name, 5000)}</code></pre></details>`)}`;
}

/**
 * Links to collections.
 * @param {{ names: string[] }} props
 */
const Links = ({ names }) => names.map((name, i) => html`${i > 0 && ', '}<${CollectionLink} name=${name} />`);
