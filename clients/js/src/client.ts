import { Changes, lines, type ChangesOptions } from "./changes.js";
import { Collection } from "./collection.js";
import { FanfoldError } from "./errors.js";
import { stringify } from "./json.js";
import { callOf, type ReadOptions, type Waits, type WriteOptions } from "./options.js";
import { consume, type ConsumerOptions } from "./consume.js";
import { Transaction } from "./transaction.js";
import { randomKey, Transport, type Options } from "./transport.js";
import { Watches } from "./watch.js";

/** TransactionResult is what came of a transaction. */
export interface TransactionResult {
  position: string;
  tx?: string;
  operations: { op: string; collection: string; id?: string; status?: number; revision?: number; etag?: string; assigned?: Record<string, string | number> }[];
  /** With dryRun: what would come of it. */
  report?: any;
}

/** Fanfold talks to one server. */
export class Fanfold {
  readonly #t: Transport;
  readonly #watches: Watches;
  readonly #collections = new Map<string, Collection<any>>();

  /** It does not connect. */
  constructor(server: string, options?: Options) {
    this.#t = new Transport(server, options);
    this.#watches = new Watches((since, signal) => this.changes({ since, signal, includeDocs: true }));
  }

  /** collection returns the documents of a collection as values of type T: the same object for the same name. Nothing is asked of the server. */
  collection<T = any>(name: string): Collection<T> {
    const c = this.#collections.get(name) ?? new Collection(this.#t, name, this.#watches);
    this.#collections.set(name, c);
    return c;
  }

  /** position is the newest that this client has seen in an answer, or was given by see; "" before any. */
  get position(): string {
    return this.#t.position;
  }

  /** see makes reads show at least a position, such as another client's that came with a message. */
  see(position: string): void {
    this.#t.see(position);
  }

  /** transaction does all operations that fn adds, or none. */
  async transaction(fn: (tx: Transaction) => void | PromiseLike<void>, options: Omit<WriteOptions, "ifMatch" | "ifNoneMatch" | "if" | "params" | "refresh"> = {}): Promise<TransactionResult> {
    const tx = new Transaction();
    await fn(tx);
    const o = this.#t.idempotencyKeys && !options.dryRun ? { idempotencyKey: randomKey(), ...options } : options;
    const a = await this.#t.request("transaction", "POST", "/v1/_transactions", callOf(o, {
      headers: { "Content-Type": "application/json" }, body: stringify({ operations: tx.operations }), idempotent: !!o.idempotencyKey || !!o.dryRun,
    }));
    const value = a.text ? this.#t.parse(a.text) : {};
    return options.dryRun ? { position: a.headers.get("Fanfold-Position") ?? "", operations: [], report: value } : { operations: [], ...value, position: value.position ?? a.headers.get("Fanfold-Position") };
  }

  /** changes follows the changes of documents. */
  changes<T = any>(options: ChangesOptions = {}): Changes<T> {
    return new Changes<T>(this.#t, options);
  }

  /** consume is a member of a consumer group until its signal ends: then it hands over, and returns. It throws what trying again does not help. */
  consume<T = any>(group: string, options: ConsumerOptions<T>): Promise<void> {
    return consume<T>(this.#t, group, options);
  }

  /** Consumer groups. */
  readonly groups = {
    /** put makes a group, or changes its settings. */
    put: (name: string, settings: object = {}, options?: Waits): Promise<any> =>
      this.#t.request("groups", "PUT", "/v1/_groups/" + encodeURIComponent(name), callOf(options, { idempotent: true, headers: { "Content-Type": "application/json" }, body: stringify(settings) })),
    /** get returns a group with its lag. */
    get: (name: string, options?: Waits): Promise<any> => this.#t.json("groups", "GET", "/v1/_groups/" + encodeURIComponent(name), callOf(options, { idempotent: true })),
    /** list returns all groups. */
    list: (options?: Waits): Promise<any> => this.#t.json("groups", "GET", "/v1/_groups", callOf(options, { idempotent: true })),
    /** delete takes a group away, and where it stands. */
    delete: (name: string, options?: Waits): Promise<any> => this.#t.request("groups", "DELETE", "/v1/_groups/" + encodeURIComponent(name), callOf(options, { once: true })),
  };

  /** collections returns the collections with their numbers of documents. */
  async *collections(options?: ReadOptions): AsyncGenerator<{ name: string; documents?: number; declared: boolean }> {
    for (let cursor: string | undefined, page; ; cursor = page.next) {
      page = await this.#t.json("collections", "GET", "/v1", callOf({ ...options, cursor } as ReadOptions, { read: true, idempotent: true }));
      yield* page.collections;
      if (!page.next) return;
    }
  }

  /** diff yields the documents that differ between two states. */
  async *diff(options: Waits & { from: string | Date; to?: string | Date; collections?: readonly string[]; derived?: "exclude"; limit?: number }): AsyncGenerator<any> {
    for (let cursor: string | undefined, page; ; cursor = page.next) {
      page = await this.#t.json("diff", "GET", "/v1/_diff", callOf({ ...options, cursor } as Waits, { read: true, idempotent: true }));
      yield* page.items;
      if (!page.next) return;
    }
  }

  /** status returns how the node stands. */
  status(options?: Waits): Promise<any> {
    return this.#t.json("status", "GET", "/v1/_status", callOf(options, { idempotent: true }));
  }

  /** me returns whom the server takes this client for, and what it may do. */
  me(options?: Waits): Promise<any> {
    return this.#t.json("me", "GET", "/v1/_me", callOf(options, { idempotent: true }));
  }

  /** ticket asks for a ticket by which a browser's EventSource follows a feed, such as /v1/_changes?feed=eventsource&since=now. url is a whole one. */
  async ticket(path: string, options: Waits & { ttl?: string } = {}): Promise<{ ticket: string; url: string; expires: string }> {
    const { ttl, ...rest } = options;
    const t = await this.#t.json("ticket", "POST", "/v1/_tickets", callOf(rest, { idempotent: true, headers: { "Content-Type": "application/json" }, body: stringify({ path, ttl }) }));
    return { ...t, url: new URL(t.url, this.#t.server).href };
  }

  /** The model: the collections, their rules, and who may do what. */
  readonly model = {
    /** get returns the model that applies. */
    get: (options?: ReadOptions): Promise<any> => this.#t.json("model", "GET", "/v1/_model", callOf(options, { read: true, idempotent: true })),
    /** put applies a whole model. A text is YAML. It is never tried again. */
    put: (model: object | string, options?: ModelOptions): Promise<any> => this.#model("PUT", model, options),
    /** patch changes the model by a merge patch. */
    patch: (patch: object, options?: ModelOptions): Promise<any> => this.#model("PATCH", patch, options),
  };

  async #model(method: string, model: object | string, options?: ModelOptions): Promise<any> {
    const yaml = typeof model === "string";
    const a = await this.#t.request("model", method, "/v1/_model", callOf(options, {
      once: true, slow: true, body: yaml ? model : stringify(model), headers: { "Content-Type": yaml ? "application/yaml" : method === "PUT" ? "application/json" : "application/merge-patch+json" },
    }));
    return a.text ? this.#t.parse(a.text) : undefined;
  }

  /** import writes documents of one collection, or lines { collection, doc } of several. refusals has the lines that were refused. It is never tried again by itself. */
  async import(documents: Iterable<object> | AsyncIterable<object>, options: Waits & { collection?: string; allowFanout?: boolean; restore?: boolean } = {}): Promise<ImportResult> {
    let body = "", result: any;
    for await (const d of documents) body += stringify(d) + "\n";
    const refusals: any[] = [];
    const a = await this.#t.request("import", "POST", "/v1/_import", callOf(options, { once: true, stream: true, body, headers: { "Content-Type": "application/x-ndjson" } }));
    for await (const line of lines(a.body!, this.#t.maxAnswer)) {
      const said = this.#t.parse(line);
      if (said.done) result = said;
      else if (!said.progress) refusals.push(said);
    }
    if (!result) throw new FanfoldError("connection", "the answer to the import broke off: what was imported by then stays", { status: a.status });
    return { ...result, refusals };
  }

  /** export returns the lines of an export, as an import takes them. */
  async *export(options: ReadOptions & { collections?: readonly string[] } = {}): AsyncGenerator<any> {
    const a = await this.#t.request("export", "GET", "/v1/_export", callOf(options, { read: true, idempotent: true, stream: true }));
    for await (const line of lines(a.body!, this.#t.maxAnswer)) if (line) yield this.#t.parse(line);
  }
}

/** ImportResult is what came of an import. */
export interface ImportResult {
  position?: string;
  written: number;
  refused: number;
  line: number;
  /** Each line that was refused, with the reason. */
  refusals: any[];
}

/** ModelOptions say how a model is applied. */
export interface ModelOptions extends Waits {
  dryRun?: boolean;
  ifMatch?: string;
  /** Lets it take away rules and guards. */
  allowRemoval?: boolean;
  allowMisfits?: boolean;
}

