import { html, useId } from '../lib/html.js';
import { leave, look, read } from '../lib/moving.js';
import { placeHref } from '../lib/place.js';
import { visible } from '../lib/text.js';
import { ProblemAlert } from '../ui/dialogs.js';
import { Visible, counted, number, size } from '../ui/parts.js';
import { HowItIsRead } from './page.js';

/** What formats are called. @type {Record<string, string>} */
const FORMATS = {
  json: 'JSON',
  fanfold: 'an export of Fanfold',
  cosmos: 'an export of Cosmos DB',
  mongo: 'an export of MongoDB',
  couch: 'an export of CouchDB',
  firestore: 'documents of Firestore',
};

/**
 * A file that is moved in: what it was taken for, what is asked about it, and what became of it.
 * @param {{ one: import('../lib/moving.js').Moved, storing: boolean }} props storing says that a file is being stored
 */
export function FileToMove({ one, storing }) {
  const { file, phase, found, stored, problem, number: of } = one;
  const id = useId();
  const busy = phase === 'looking' || phase === 'storing';
  return html`<section class="moved" aria-labelledby=${id}><h2 id=${id}><${Visible} text=${file.name} max=${200} /></h2>
    ${
      busy &&
      html`<p role="status">
      ${phase === 'looking' ? 'The server looks at it, and stores nothing' : 'The server stores it'}: ${size(file.size)}.</p><progress
        aria-label=${`Progress of ${visible(file.name.slice(0, 200))}`} />`
    }
    <${ProblemAlert} problem=${problem} />
    ${!busy && (stored ?? found) && html`<${Report} report=${stored ?? found} />`}
    ${
      phase === 'looked' &&
      html`${found && html`<${Questions} one=${one} />`}<${HowItIsRead} one=${one} formats=${FORMATS} />
      <p class="actions"><button type="button" onClick=${() => look(of)}>Look again</button></p>`
    }
    ${
      phase !== 'stored' &&
      !storing &&
      html`<p><button type="button" class="small"
      aria-label=${`Leave it out: ${visible(file.name.slice(0, 200))}`} onClick=${() => leave(of)}>Leave it out</button></p>`
    }
  </section>`;
}

/**
 * What is asked about a file that was looked at: where its documents go, and what their ids are.
 * @param {{ one: import('../lib/moving.js').Moved }} props
 */
function Questions({ one: { number: of, found, reading } }) {
  return html`<form class="query" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${
      (found.proposed || reading.collection) &&
      html`<label>Collection <input required value=${reading.collection}
      pattern="[a-zA-Z][a-zA-Z0-9_\\-]*" maxlength="64" autocapitalize="off" autocomplete="off" spellcheck=${false}
        onInput=${(/** @type {any} */ event) => read(of, { collection: event.target.value.trim() })} /></label>`
    }
    ${
      found.withoutId > 0 &&
      html`<label>Id of the documents <select value=${reading.id}
        onChange=${(/** @type {any} */ event) => read(of, { id: event.target.value })}>
      <option value="">a new one each</option>${(found.ids ?? []).map(
        (/** @type {string} */ name) => html`<option value=${name}>
        ${visible(name)}</option>`,
      )}</select></label>`
    }
  </form>
  ${
    found.withoutId > 0 &&
    !reading.id &&
    html`<p>
    ${counted(found.withoutId, 'document')} without an id: loaded twice, they are there twice.</p>`
  }`;
}

/**
 * What a file has, or what became of it.
 * @param {{ report: any }} props as the server tells it
 */
function Report({ report }) {
  const collections = Object.entries(report.collections ?? {});
  const counts = (/** @type {any} */ of) =>
    Object.entries(of)
      .map(([name, n]) => `${name} ${number(/** @type {number} */ (n))}`)
      .join(', ');
  return html`<dl>
      <dt>Taken for</dt><dd>${FORMATS[report.from] ?? report.from}</dd>
      <dt>Documents</dt><dd>${number(report.documents)}
        ${
          collections.length > 0 &&
          html`: ${collections.map(
            ([name, n], i) =>
              html`${i > 0 && ', '}${
                report.dryRun
                  ? html`<${Visible}
          text=${name} />`
                  : html`<a href=${placeHref([name])}><${Visible} text=${name} /></a>`
              } ${number(/** @type {number} */ (n))}`,
          )}`
        }
            </dd>
      ${!report.dryRun && html`<dt>Stored</dt><dd>${number(report.written)}</dd>`}
      ${report.dropped && html`<dt>Dropped members</dt><dd><${Visible} text=${counts(report.dropped)} max=${2000} /></dd>`}
      ${report.left && html`<dt>Left out</dt><dd><${Visible} text=${counts(report.left)} max=${2000} /></dd>`}
      <dt>Refused lines</dt><dd>${number(report.refused)}</dd>
    </dl>
    ${
      report.refusals &&
      html`<ul aria-label="Refused lines" class="mistakes">
        ${report.refusals.map(
          (/** @type {any} */ one) => html`<li>Line ${number(one.line)}: <${Visible} text=${one.detail} max=${500} />
          </li>`,
        )}
      ${
        report.refused > report.refusals.length &&
        html`<li
        class="quiet">and ${number(report.refused - report.refusals.length)} more: <code>fanfold import --errors FILE</code> has all</li>`
      }
          </ul>`
    }
    ${
      !report.done &&
      html`<div role="alert" class="problem"><strong>It was not read to the end</strong><p><${Visible}
      text=${report.detail ?? ''} max=${1000} /></p></div>`
    }
    ${report.done && report.folded === false && html`<p><${Visible} text=${report.detail ?? ''} max=${1000} /></p>`}`;
}
