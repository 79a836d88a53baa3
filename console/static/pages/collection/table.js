import { html } from '../../lib/html.js';
import { DocumentLink } from '../../ui/link.js';
import { Visible } from '../../ui/text.js';
import { MAX_CELL, cellOf } from './columns.js';

/**
 * Documents as rows: their ids, and their values' own texts.
 * @param {{ collection: string, at: string | null, page: import('./load.js').Page, changed: import('./follow.js').Changed }} props
 */
export const DocumentsTable = ({ collection, at, page, changed }) => html`<div class="scroll" tabindex="0" role="group" aria-label="Table of documents"><table aria-label="Documents" class="grid">
    <thead><tr><th scope="col">id</th>${page.columns.map((path) => html`<th scope="col" key=${path}><${Visible} text=${path} max=${100} /></th>`)}</tr></thead>
    <tbody>${page.documents.map((doc, i) => {
      const id = page.ids[i];
      const now = changed.get(id);
      return html`<${Row} key=${id} collection=${collection} at=${at} id=${id} doc=${now ?? doc} columns=${page.columns} mark=${now === null ? 'gone' : now && 'changed'} />`;
    })}</tbody>
  </table></div>`;

/**
 * @param {{ collection: string, at: string | null, id: string, doc: import('../../json/scan.js').Node, columns: string[], mark?: string }} props
 */
const Row = ({ collection, at, id, doc, columns, mark }) => html`<tr class=${mark}>
    <th scope="row"><div class="cell"><${DocumentLink} collection=${collection} id=${id} at=${at} short />${mark && html` <span class="kind">${mark}</span>`}</div></th>
    ${columns.map((path) => html`<td key=${path}><div class="cell"><${Visible} text=${cellOf(doc, path)} max=${MAX_CELL} /></div></td>`)}
  </tr>`;
