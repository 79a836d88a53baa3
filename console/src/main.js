import { html, render } from './lib/html.js';
import { App } from './shell/app.js';

document.body.replaceChildren(); // the header that was there before the modules came
render(html`<${App} />`, document.body);
