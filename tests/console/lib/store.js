// A real server for a scenario, which the Go side starts, and what that server itself holds.
import { fill } from './data.js';

const control = process.env.FANFOLD_CONTROL;

/**
 * Asks the Go side for something, and returns its answer.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
async function ask(method, path, body) {
  const response = await fetch(control + path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/**
 * Starts a server with data.
 * @param {import('./scenario.js').Wanted} wanted
 */
export async function openStore({ data = 'empty', closed, process, prefix, shared, args, nats, held, bare }) {
  const name = typeof data === 'string' ? data : JSON.stringify(data);
  const store = new Store(await ask('POST', '/stores', { closed, process, prefix, args, nats, held, bare, shared: shared ? name : '' }));
  if (!store.isNew) return store;
  await fill(store, data);
  await ask('POST', `/stores/${store.name}/filled`);
  return store;
}

/** Prints a figure at the end of the suite. */
export const figure = (/** @type {string} */ What, /** @type {string} */ Got, /** @type {string} */ Goal) => ask('POST', '/figures', { What, Got, Goal });

/** What a server has answered, with the bytes of its body. */
export class Answer {
  /** @param {Response} response @param {Buffer} bytes */
  constructor(response, bytes) {
    this.status = response.status;
    this.headers = response.headers;
    this.bytes = bytes;
  }

  /** The body as text. */
  get text() { return this.bytes.toString('utf8'); }

  /** The body as a value. */
  get json() { return JSON.parse(this.text); }
}

/** A server behind the proxy that checks what passes. */
export class Store {
  /** @param {{ name: string, url: string, key: string, new: boolean }} of */
  constructor(of) {
    this.name = of.name;
    this.url = of.url; // for the browser, through the proxy
    this.key = of.key; // of an admin; empty where the store is open
    this.isNew = of.new;
    this.direct = `${control}/stores/${of.name}/direct`; // the server itself, as an admin
  }

  /**
   * Sends a request to the server itself, as an admin unless headers say otherwise.
   * @param {string} method
   * @param {string} path
   * @param {string | Buffer} [body]
   * @param {Record<string, string>} [headers]
   */
  async send(method, path, body, headers = {}) {
    /** @type {Record<string, string>} */
    const kind = body === undefined ? {} : { 'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
    const sent = /** @type {BodyInit | undefined} */ (/** @type {unknown} */ (body));
    const response = await fetch(this.direct + path, { method, body: sent, headers: { ...kind, 'Fanfold-Timeout': '60', ...headers } });
    return new Answer(response, Buffer.from(await response.arrayBuffer()));
  }

  /**
   * Sends a request to the server itself, and throws where it is refused.
   * @param {string} method
   * @param {string} path
   * @param {string | Buffer} [body]
   * @param {Record<string, string>} [headers]
   */
  async want(method, path, body, headers) {
    const answer = await this.send(method, path, body, headers);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }

  /** Reads from the server itself. @param {string} path @param {Record<string, string>} [headers] */
  get(path, headers) { return this.want('GET', path, undefined, headers); }

  /** The bytes of a document as it was written. @param {string} collection @param {string} id */
  async bytes(collection, id) { return (await this.get(pathOf(collection, id) + '?view=referenced')).bytes; }

  /** Writes a document, and waits for its fold. @param {string} collection @param {string} id @param {string | Buffer} body */
  put(collection, id, body) { return this.want('PUT', pathOf(collection, id), body); }

  /** Applies a merge patch, and waits for its fold. @param {string} collection @param {string} id @param {string} patch */
  merge(collection, id, patch) { return this.want('PATCH', pathOf(collection, id), patch); }

  /** Applies a model in YAML. @param {string} text */
  model(text) { return this.want('PUT', '/v1/_model?allowRemoval=true', text, { 'Content-Type': 'application/yaml' }); }

  /** Imports lines of NDJSON, and waits for their fold. @param {string} collection @param {string} text */
  async import(collection, text) {
    const answer = await this.want('POST', '/v1/_import?collection=' + encodeURIComponent(collection), text, { 'Content-Type': 'application/x-ndjson' });
    const last = JSON.parse(answer.text.trim().split('\n').at(-1) ?? '');
    if (!last.done || last.refused > 0) throw new Error('the import says ' + answer.text.slice(0, 1000));
    await this.get('/v1', { 'Fanfold-Min-Position': last.position });
  }

  /** Makes a key with roles, and returns its text. @param {string[]} roles */
  async newKey(...roles) {
    return (await this.want('POST', '/v1/_keys', JSON.stringify({ name: 'of ' + roles.join(' and '), roles }))).json.key;
  }

  /** Ends the server: one that is a process is killed. */
  stop() { return ask('POST', `/stores/${this.name}/stop`); }

  /** Starts the server again, with the data that it has. */
  start() { return ask('POST', `/stores/${this.name}/start`); }

  /** Ends the process, and serves what it had by one that takes no writes. */
  serveReadOnly() { return ask('POST', `/stores/${this.name}/read-only`); }

  /** The time that the process has computed, in milliseconds. @returns {Promise<number>} */
  cpu() { return ask('POST', `/stores/${this.name}/cpu`); }

  /** Stops the outside server that has the log. */
  loseLog() { return ask('POST', `/stores/${this.name}/lose-log`); }

  /** Starts that server again. */
  findLog() { return ask('POST', `/stores/${this.name}/find-log`); }

  /** Runs a statement of SQL on the read model, as whatever damages it would. @param {string} statement */
  damage(statement) { return ask('POST', `/stores/${this.name}/damage`, statement); }

  /** Lets models apply that are prepared, of a store that holds them. */
  release() { return ask('POST', `/stores/${this.name}/release`); }

  /** Cuts every connection to the proxy. */
  cut() { return ask('POST', `/stores/${this.name}/cut`); }

  /** Ends the server, once it is verified. It throws where something passed that openapi.json does not have. */
  async close() {
    const wrong = await ask('DELETE', '/stores/' + this.name);
    if (wrong.length > 0) throw new Error('openapi.json does not have ' + wrong.join('\n'));
  }
}

/** The path of a document. @param {string} collection @param {string} id */
export const pathOf = (collection, id) => `/v1/${encodeURIComponent(collection)}/${encodeURIComponent(id)}`;
