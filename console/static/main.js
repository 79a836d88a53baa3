import { html, render } from './lib/html.js';
import { App } from './frame/app.js';

render(html`<${App} />`, document.body);
