import { html, useMemo } from '../../lib/html.js';
import { hasRole } from '../../lib/me.js';
import { moved } from '../../lib/moving.js';
import { placeHref } from '../../lib/place.js';
import { CopyAsCurl } from '../../ui/curl.js';
import { ProblemAlert } from '../../ui/problem.js';
import { declaredIn, foundBy } from './declared.js';
import { Editor } from './editor.js';
import { useModel } from './follow.js';
import { Functions } from './functions.js';
import { Graph } from './graph.js';
import { asked } from './load.js';
import { Preparation } from './preparation.js';
import { Relations } from './relations.js';
import { Rules } from './rules.js';

/**
 * The model: its relations, rules and functions as tables, a graph, and its editor.
 * @param {{ place: import('../../lib/place.js').Place }} props
 */
export function ModelPage({ place }) {
  const { shown, problem, again } = useModel();
  const { model, status, counts, etag, pending = false } = shown;
  const mayEdit = hasRole('admin');
  const declared = useMemo(() => model && declaredIn(model), [model]);
  const found = useMemo(() => foundBy(status), [status]);
  return html`<${ProblemAlert} problem=${problem} again=${again} />
    ${declared && html`<${Preparation} pending=${pending} status=${status} mayEdit=${mayEdit} onChanged=${again} />
      <${Relations} relations=${declared.relations} />
      <${Rules} rules=${declared.rules} found=${found} />
      <${Functions} functions=${declared.functions} />
      <${Graph} place=${place} model=${model} declared=${declared} counts=${counts} found=${found} />
      ${mayEdit && !status?.readOnly && html`<${Editor} etag=${etag} suggest=${place.params.get('suggest')} isDrafted=${place.params.has('draft')} pending=${pending} onChanged=${again} />`}`}
    ${moved.value.some(({ phase }) => phase === 'stored') && html`<p><a href=${placeHref(['_import'])}>Compare the imported files with the model that applies</a></p>`}
    <${CopyAsCurl} asked=${asked} />`;
}
