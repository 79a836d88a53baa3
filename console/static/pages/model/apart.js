import { html } from '../../lib/html.js';
import { OtherDocument } from '../../ui/effects.js';

/**
 * A link to a document that the API names in one text. It opens in a tab of its own, so that the text that is edited stays.
 * @param {{ document: string }} props as collection/id
 */
export function Apart({ document }) {
  const at = document.indexOf('/'); // a collection's name has no slash
  return html`<${OtherDocument} collection=${document.slice(0, at)} id=${document.slice(at + 1)} />`;
}
