import { draft } from '../../lib/draft.js';
import { html } from '../../lib/html.js';
import { request } from '../../lib/http.js';
import { useLoad } from '../../lib/load.js';
import { goTo, placeHref } from '../../lib/place.js';
import { ProblemAlert } from '../../ui/problem.js';
import { Section } from '../../ui/section.js';
import { Visible } from '../../ui/text.js';

/** How much of the text is shown. The editor has all. */
const MAX = 20_000;

/** A model that is proposed for what is stored, with the evidence. Nothing applies it but somebody, in the editor. */
export function Proposal() {
  const { value, problem, again, busy } = useLoad((signal) => request({ path: ['_suggest-model'], signal }), []);
  const edit = () => {
    draft.value = value?.text ?? null;
    goTo(placeHref(['_model'], { draft: '' }));
  };
  return html`<${Section} title="Proposed model">
    <${ProblemAlert} problem=${problem} again=${again} />
    ${busy && !value && html`<p role="status">The server looks at a sample of the documents.</p>`}
    ${value && html`<p>This is a guess from the values. The comments say how often each line holds. Nothing is applied: read it, change it, preview it.</p>
      <p class="actions"><button type="button" class="main" onClick=${edit}>Open it in the editor</button></p>
      <pre aria-label="Model in YAML"><${Visible} text=${value.text} max=${MAX} /></pre>`}
  <//>`;
}
