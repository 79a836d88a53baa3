import { Changes, type ChangesOptions } from "./changes.js";
import { Collection } from "./collection.js";
import { callOf, pages, pathOf, readOf, writeOf, type ReadOptions, type Waits, type WriteOptions } from "./options.js";
import { consume, type ConsumerOptions } from "./consume.js";
import { Transaction } from "./transaction.js";
import { importFrom, type ImportOptions, type ImportResult, type ImportSource } from "./transfer.js";
import { invalid, isPosition, Transport, type Options } from "./transport.js";
import { Watches } from "./watch.js";

/** TransactionResult is what came of a transaction. */
export interface TransactionResult {
  position: string;
  tx?: string;
  operations: { op: string; collection: string; id?: string; status?: number; revision?: number; etag?: string; assigned?: Record<string, string | number> }[];
  /** With dryRun: what would come of it. */
  report?: any;
}

/** CallOptions say how a function is called. */
export interface CallOptions extends Omit<WriteOptions, "ifMatch" | "ifNoneMatch" | "if" | "params" | "refresh" | "return" | "handling"> {
  /** With dryRun: the time at which the function runs. */
  now?: string | Date;
  /** With dryRun: an integer, which Math.random and new ids come from. */
  seed?: number;
}

/** CallResult is what came of a call. */
export interface CallResult<R> extends Pick<TransactionResult, "position" | "tx" | "operations"> {
  /** What the function returned. */
  result: R;
  /** How often it ran, because others changed what it had read. */
  attempts: number;
  /** With dryRun: what it gave to ctx.log, what it took, and what its writes would cause. */
  log?: string[];
  steps?: number;
  memory?: number;
  reads?: number;
  derived?: any;
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
    if (position && !isPosition(position)) throw invalid("this is no position");
    this.#t.see(position);
  }

  /** transaction does all operations that fn adds, or none. */
  async transaction(fn: (tx: Transaction) => void | PromiseLike<void>, options: Omit<WriteOptions, "ifMatch" | "ifNoneMatch" | "if" | "params" | "refresh"> = {}): Promise<TransactionResult> {
    const tx = new Transaction();
    await fn(tx);
    const a = await this.#t.request("POST", "/v1/_transactions", writeOf(this.#t, options, { json: { operations: tx.operations } }));
    const value = a.text ? this.#t.parse(a.text) : {}, position = a.headers.get("Fanfold-Position");
    return options.dryRun ? { position: position ?? "", operations: [], report: value } : { operations: [], ...value, position: value.position ?? position };
  }

  /** call calls a function of the model with arguments. It reads, decides and writes, all or nothing, and sees what this client has seen. */
  async call<R = any>(name: string, args: unknown = null, options: CallOptions = {}): Promise<CallResult<R>> {
    const value = await this.#t.json("POST", pathOf("_functions", name), writeOf(this.#t, options, { read: true, json: args }));
    return value.operations ? value : value.result;
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
    put: async (name: string, settings: object = {}, options?: Waits): Promise<any> =>
      this.#t.request("PUT", pathOf("_groups", name), callOf(options, { idempotent: true, json: settings })),
    /** get returns a group with its lag. */
    get: async (name: string, options?: Waits): Promise<any> => this.#t.json("GET", pathOf("_groups", name), callOf(options, { idempotent: true })),
    /** list returns all groups. */
    list: (options?: Waits): Promise<any> => this.#t.json("GET", "/v1/_groups", callOf(options, { idempotent: true })),
    /** delete takes a group away, and where it stands. */
    delete: async (name: string, options?: Waits): Promise<any> => this.#t.request("DELETE", pathOf("_groups", name), callOf(options)),
  };

  /** collections returns the collections with their numbers of documents. */
  async *collections(options?: ReadOptions): AsyncGenerator<{ name: string; documents?: number; declared: boolean }> {
    yield* pages("collections", options?.signal, (cursor) => this.#t.list("collections", "GET", "/v1", readOf({ ...options, cursor })));
  }

  /** diff yields the documents that differ between two states. */
  async *diff(options: Waits & { from: string | Date; to?: string | Date; collections?: readonly string[]; derived?: "exclude"; limit?: number }): AsyncGenerator<any> {
    yield* pages("items", options.signal, (cursor) => this.#t.list("items", "GET", "/v1/_diff", readOf({ ...options, cursor })));
  }

  /** status returns how the node stands. */
  status(options?: Waits): Promise<any> {
    return this.#t.json("GET", "/v1/_status", callOf(options, { idempotent: true }));
  }

  /** me returns whom the server takes this client for, and what it may do. */
  me(options?: Waits): Promise<any> {
    return this.#t.json("GET", "/v1/_me", callOf(options, { idempotent: true }));
  }

  /** ticket asks for a ticket by which a browser's EventSource follows a feed, such as /v1/_changes?feed=eventsource&since=now, or downloads /v1/_backup. url is a whole one. */
  async ticket(path: string, options: Waits & { ttl?: string } = {}): Promise<{ ticket: string; url: string; expires: string }> {
    const { ttl, ...rest } = options;
    const t = await this.#t.json("POST", "/v1/_tickets", callOf(rest, { idempotent: true, json: { path, ttl } }));
    return { ...t, url: new URL(t.url, this.#t.server).href };
  }

  /** The model: the collections, their rules, and who may do what. */
  readonly model = {
    /** get returns the model that applies. */
    get: (options?: ReadOptions): Promise<any> => this.#t.json("GET", "/v1/_model", readOf(options)),
    /** targets returns the target of each relation to which most documents refer. It needs the right to read every collection. */
    targets: (options?: Waits & Pick<ReadOptions, "consistency" | "maxLag" | "minPosition">): Promise<any> => this.#t.json("GET", "/v1/_model/_targets", readOf(options)),
    /** put applies a whole model. A text is YAML. It is never tried again. */
    put: (model: object | string, options?: ModelOptions): Promise<any> => this.#model("PUT", model, options),
    /** patch changes the model by a merge patch. */
    patch: (patch: object, options?: ModelOptions): Promise<any> => this.#model("PATCH", patch, options),
  };

  async #model(method: string, model: object | string, options?: ModelOptions): Promise<any> {
    const yaml = typeof model === "string";
    const a = await this.#t.request(method, "/v1/_model", callOf(options, {
      once: true, attempt: 0, ...(yaml ? { body: model } : { json: model }), headers: yaml ? { "Content-Type": "application/yaml" } : method === "PUT" ? {} : { "Content-Type": "application/merge-patch+json" },
    }));
    return a.text ? this.#t.parse(a.text) : undefined;
  }

  /** import writes documents of one collection, or lines { collection, doc } of several, as an export has them. It sends them in pieces of 1 MiB, one after the other, and is never tried again by itself. */
  import(documents: ImportSource, options: ImportOptions = {}): Promise<ImportResult> {
    return importFrom(this.#t, documents, options);
  }

  /** export yields the lines of an export, as an import takes them. It reads no faster than the loop. */
  async *export(options: ExportOptions = {}): AsyncGenerator<any> {
    yield* this.#t.objects(await this.#export(options), options.signal);
  }

  /** exportText yields the lines as the store sends them, byte for byte. An import takes them, too. */
  async *exportText(options: ExportOptions = {}): AsyncGenerator<string> {
    yield* this.#t.lines(await this.#export(options), options.signal);
  }

  #export(options: ExportOptions) {
    return this.#t.request("GET", "/v1/_export", readOf(options, { stream: true, attempt: 0 }));
  }
}

/** ExportOptions say what is exported. */
export interface ExportOptions extends ReadOptions {
  collections?: readonly string[];
}

/** ModelOptions say how a model is applied. */
export interface ModelOptions extends Waits {
  dryRun?: boolean;
  ifMatch?: string;
  /** Lets it take away rules and guards. */
  allowRemoval?: boolean;
  allowMisfits?: boolean;
}

