import { html } from '../lib/html.js';

/**
 * A region of a page with its heading.
 * @param {{ title: string, heading?: any, children?: any }} props heading is a ref to the heading, for one that takes the focus now and then
 */
export const Section = ({ title, heading, children }) => html`<section aria-label=${title}><h2 ref=${heading} tabindex=${heading && '-1'}>${title}</h2>${children}</section>`;
