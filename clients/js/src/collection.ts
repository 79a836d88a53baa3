import { stringify } from "./json.js";
import { callOf, pages, pathOf, readOf, writeOf, type ListOptions, type ReadOptions, type Waits, type WriteOptions } from "./options.js";
import { brokenOff } from "./streams.js";
import { endOf, type Answer, type Transport } from "./transport.js";
import type { Watches } from "./watch.js";
import { FanfoldError } from "./errors.js";

/** Document is a document as it was read. */
export interface Document<T> {
  id: string;
  doc: T;
  revision: number;
  /** Goes into ifMatch. Of a document of a list it is "", for a list has none. */
  etag: string;
  /** Of get: what the answer shows. Of a list: the document's last change. */
  position: string;
  updatedAt: Date;
  /** Of a list. */
  createdAt?: Date;
}

/** Written is what came of a write. */
export interface Written<T> {
  id: string;
  /** The document was not there before. */
  created: boolean;
  revision: number;
  etag: string;
  position: string;
  /** How many documents changed by it; undefined where that is not told. */
  derivedChanges?: number;
  /** With return: "representation", unless another write came between. */
  doc?: T;
  /** false where the write is stored and this node does not show it yet: ask for position. */
  shown: boolean;
  /** With dryRun: what would come of the write. Of a delete with steps: what came of all steps. */
  report?: any;
}

/** QueryOptions say which documents, in which order, and what of them. */
export interface QueryOptions extends ListOptions {
  /** CEL over doc, params and meta. */
  filter?: string;
  params?: object;
  /** Paths, with - before one for descending order. */
  sort?: readonly string[];
  maxScan?: number;
  partial?: boolean;
}

/** DocumentPage is a page of a list. */
export interface DocumentPage<T> {
  items: Document<T>[];
  /** Where the next page begins; undefined on the last one. */
  next?: string;
  count?: number;
  position: string;
}

/** PatchOperation is one of a JSON Patch (RFC 6902), or an increment. */
export type PatchOperation = { op: "add" | "remove" | "replace" | "move" | "copy" | "test" | "increment"; path: string; from?: string; value?: unknown; min?: unknown; max?: unknown };

/** MergePatch is a merge patch (RFC 7396): members to set, and null for those to remove. */
export type MergePatch = ({ readonly [member: string]: unknown } | object) & { readonly push?: never };

/** ByQueryOptions say how many documents are written at once. */
export interface ByQueryOptions extends Waits {
  params?: object;
  dryRun?: boolean;
  /** With dryRun: how many derived changes are shown, up to 20. */
  examples?: number;
  allowFanout?: boolean;
  refresh?: string | readonly string[];
  idempotencyKey?: string;
  /** Is told what came of it so far, after each step. */
  progress?: (sum: Omit<ByQueryResult, "refusals">) => void;
}

/** ByQueryResult is what came of it. */
export interface ByQueryResult {
  matched: number;
  written: number;
  unchanged: number;
  refused: number;
  refusals: any[];
  position?: string;
}

/** Query is a query whose pages are read as they are needed. */
export class Query<T> implements AsyncIterable<Document<T>> {
  readonly #ask: (member: string, more: object) => Promise<any>;
  readonly #options: QueryOptions;

  /** @internal */
  constructor(options: QueryOptions, ask: (member: string, more: object) => Promise<any>) {
    this.#options = options;
    this.#ask = ask;
  }

  /** The documents of all pages, each page from its own moment. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Document<T>> {
    yield* pages("items", this.#options.signal, (cursor) => this.page(cursor));
  }

  /** page returns one page, from a cursor that another one had as next. */
  async page(cursor?: string): Promise<DocumentPage<T>> {
    return pageOf<T>(await this.#ask("items", { cursor }));
  }

  /** count tells how many documents there are. */
  async count(): Promise<number> {
    return (await this.#ask("items", { count: true, limit: 1, sort: undefined })).count;
  }

  /** group returns groups of documents, and what is computed of each, such as group(["genre"], ["count", "sum(price)"]). */
  async *group(by: readonly string[], compute: readonly string[] = ["count"]): AsyncGenerator<{ key: any; values: any }> {
    yield* pages("groups", this.#options.signal, (cursor) => this.#ask("groups", { group: by, compute, cursor }));
  }
}

function pageOf<T>(page: any): DocumentPage<T> {
  const { items, ...rest } = page;
  return { ...rest, items: items.map(documentOf<T>) };
}

function documentOf<T>(item: any): Document<T> {
  const { _meta: m, ...doc } = item;
  return { id: doc.id, doc, revision: m?.rev, etag: "", position: m?.position, updatedAt: new Date(m?.updatedAt), createdAt: new Date(m?.createdAt) };
}

/** Collection reads and writes the documents of one collection. */
export class Collection<T = any> {
  readonly name: string;
  readonly #t: Transport;
  readonly #watches: Watches;

  /** @internal */
  constructor(transport: Transport, name: string, watches: Watches) {
    this.#t = transport;
    this.name = name;
    this.#watches = watches;
  }

  #path(...id: string[]): string {
    return pathOf(this.name, ...id);
  }

  /** get returns a document. The code is not-found where there is none. */
  async get(id: string, options?: ReadOptions): Promise<Document<T>> {
    const a = await this.#t.request("GET", this.#path(id), readOf(options));
    return { ...this.#found(id, a), doc: this.#t.parse(a.text) };
  }

  /** find does what get does, and returns null where there is none. */
  async find(id: string, options?: ReadOptions): Promise<Document<T> | null> {
    try {
      return await this.get(id, options);
    } catch (error) {
      if (error instanceof FanfoldError && error.code === "not-found") return null;
      throw error;
    }
  }

  /** getText returns a document as the text that the store has, byte for byte. */
  async getText(id: string, options?: ReadOptions): Promise<Document<string>> {
    const a = await this.#t.request("GET", this.#path(id), readOf(options));
    return { ...this.#found(id, a), doc: a.text };
  }

  #found(id: string, a: Answer) {
    const h = (name: string) => a.headers.get(name) ?? "";
    return { id, revision: +h("Fanfold-Revision"), etag: h("ETag"), position: h("Fanfold-Position"), updatedAt: new Date(h("Last-Modified")) };
  }

  /** getMany returns the documents with some ids, in this order, with null for each that is not there. */
  async getMany(ids: readonly string[], options?: ReadOptions): Promise<(Document<T> | null)[]> {
    const found = new Map<string, Document<T>>();
    // The longest 50 ids go into the 64 KiB that the headers of a request may have.
    for (let i = 0; i < ids.length; i += 50) {
      const page = await this.#t.list("items", "GET", this.#path(), readOf(options, { query: { id: ids.slice(i, i + 50) } }));
      for (const item of page.items) found.set(item.id, documentOf<T>(item));
    }
    return ids.map((id) => found.get(id) ?? null);
  }

  /** watch yields a document as it is now, then as it is after each change; null where it is not there. All watches of a client share one feed. */
  watch(id: string, options: Waits = {}): AsyncGenerator<T | null> {
    return this.#watches.watch(`${this.name}/${id}`, async (minPosition) => {
      try {
        const a = await this.#t.request("GET", this.#path(), readOf({ ...options, minPosition }, { query: { id: [id] } })), [item] = this.#t.parse(a.text).items;
        return { doc: item ? documentOf<T>(item).doc : null, position: a.headers.get("Fanfold-Position")! };
      } catch (error) {
        if (error instanceof FanfoldError && error.code === "unknown-collection" && error.position) return { doc: null, position: error.position }; // its first document makes it
        throw error;
      }
    }, options.signal);
  }

  /** list returns all documents by id, page by page. */
  list(options?: ListOptions): Query<T> {
    return new Query<T>({ ...options }, async (member, more) => this.#t.list(member, "GET", this.#path(), readOf({ ...options, ...more })));
  }

  /** query returns what meets a filter, in an order. */
  query(options: QueryOptions = {}): Query<T> {
    const { signal, minPosition, timeout, consistency, maxLag, ...asked } = options;
    return new Query<T>(options, async (member, more) =>
      this.#t.list(member, "POST", this.#path() + "/_query", readOf({ signal, minPosition, timeout, consistency, maxLag },
        { json: clean({ ...asked, fields: listOf(asked.fields), ...more }) })));
  }

  /** children returns the documents of this collection that refer to one of another, in order of creation. */
  children(parent: string, id: string, options: QueryOptions & { relation?: string } = {}): Query<T> {
    return new Query<T>(options, async (member, more) => this.#t.list(member, "GET", pathOf(parent, id, this.name), readOf({ ...options, ...more })));
  }

  /** page returns one of the fixed pages of the documents that refer to one of another collection: from 1 on, or the last. */
  async page(parent: string, id: string, number: number | "last", options: ReadOptions & { relation?: string } = {}): Promise<{ page: number; pages: number; items: T[] }> {
    const p = await this.#t.list(this.name, "GET", pathOf(parent, id, this.name), readOf({ ...options, page: number }));
    return { page: p.page, pages: p.pages, items: p[this.name] };
  }

  /** lineage tells where a document's derived values come from, and which documents have copies of it. With at it tells what it would have told then. */
  async lineage(id: string, options?: ReadOptions): Promise<any> {
    return this.#t.json("GET", this.#path(id) + "/_lineage", readOf(options));
  }

  /** history returns a document's versions, the newest first unless order is asc. */
  async *history(id: string, options: ReadOptions & { order?: "asc" | "desc"; limit?: number; from?: string | Date; to?: string | Date; derived?: "exclude"; includeDocs?: boolean } = {}): AsyncGenerator<any> {
    const { includeDocs, ...rest } = options;
    yield* pages("items", options.signal, (cursor) =>
      this.#t.list("items", "GET", this.#path(id) + "/_history", readOf({ ...rest, cursor, include_docs: includeDocs === false ? "false" : undefined })));
  }

  /** create writes a new document. Without an id the store makes one. */
  async create(doc: T, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("POST", this.#path(), stringify(doc), options);
  }

  /** put writes a whole document. */
  async put(id: string, doc: T, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("PUT", this.#path(id), stringify(doc), options);
  }

  /** putText does what put does with JSON as it is. */
  async putText(id: string, text: string, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("PUT", this.#path(id), text, options);
  }

  /** patch changes a document: by a JSON Patch, which is a list, or by a merge patch (RFC 7396). */
  async patch(id: string, patch: readonly PatchOperation[] | MergePatch, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("PATCH", this.#path(id), stringify(patch), options, Array.isArray(patch) ? "json-patch+json" : "merge-patch+json");
  }

  /** delete deletes a document. With steps it goes on, step by step, until all that the delete causes is done. */
  async delete(id: string, options: WriteOptions & { steps?: boolean } = {}): Promise<Written<T>> {
    if (!options.steps || options.dryRun) return this.#write("DELETE", this.#path(id), null, options);
    const sum = { done: false, steps: 0, deleted: 0, changed: 0, position: "" };
    for (let call; !sum.done; ) {
      try {
        const a = await this.#t.request("DELETE", this.#path(id), (call = callOf(options, { idempotent: true }))), said = this.#t.parse(a.text), step = said?.result ?? said;
        if (typeof step?.done !== "boolean") throw new FanfoldError("bad-answer", "a step does not say whether it is done");
        Object.assign(sum, { done: step.done, steps: sum.steps + 1, deleted: sum.deleted + step.deleted, changed: sum.changed + step.changed, position: step.position });
      } catch (error) {
        // Nothing is there any more: an earlier step, whose answer was lost, was the last one, or somebody else's was.
        if (!(error instanceof FanfoldError) || error.code !== "not-found" || (!sum.steps && !call?.unsure)) throw error;
        sum.done = true;
      }
    }
    return { id, created: false, revision: 0, etag: "", position: sum.position, shown: true, report: sum };
  }

  /** revert writes a document as it was written at a position or a time. */
  async revert(id: string, at: string | Date, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("POST", this.#path(id) + "/_revert", stringify({ at: at instanceof Date ? at.toISOString() : at }), options);
  }

  /** updateByQuery patches all documents of which a filter is true. With dryRun it writes nothing, and tells what would come of it. */
  async updateByQuery(filter: string, patch: readonly PatchOperation[] | MergePatch, options?: ByQueryOptions): Promise<ByQueryResult> {
    return this.#byQuery("PATCH", filter, stringify(patch), options, Array.isArray(patch) ? "json-patch+json" : "merge-patch+json");
  }

  /** deleteByQuery deletes all documents of which a filter is true. */
  async deleteByQuery(filter: string, options?: ByQueryOptions): Promise<ByQueryResult> {
    return this.#byQuery("DELETE", filter, null, options);
  }

  /** It goes on under its key where the answer breaks off. */
  async #byQuery(method: string, filter: string, body: string | null, options: ByQueryOptions = {}, type?: string): Promise<ByQueryResult> {
    const { progress, ...rest } = options;
    let result: any;
    const call = writeOf(this.#t, { ...rest, filter } as object, {
      body, headers: type ? { "Content-Type": "application/" + type } : {}, stream: !options.dryRun,
    });
    const a = await this.#t.request(method, this.#path(), options.dryRun ? call : { ...call, finish: async (a) => {
      const refusals: any[] = [];
      for await (const said of this.#t.objects(a, options.signal)) {
        if (said.done === false) throw endOf(said);
        if (said.done) result = { refusals, ...said };
        else if (!said.progress) refusals.push(said);
        else {
          call.since = Date.now();
          progress?.({ ...said.progress, position: said.position });
        }
      }
      if (!result) throw brokenOff();
      this.#t.see(result.position);
    } });
    return result ?? this.#t.parse(a.text);
  }

  async #write(method: string, path: string, body: string | null, options: WriteOptions = {}, type = "json"): Promise<Written<T>> {
    const a = await this.#t.request(method, path, writeOf(this.#t, options, { body, headers: body === null ? {} : { "Content-Type": "application/" + type } }));
    const h = (name: string) => a.headers.get(name) ?? "", derived = h("Fanfold-Derived-Changes"), value = a.text ? this.#t.parse(a.text) : undefined;
    const id = path.split("/")[3] ?? /\/([^/]+)$/.exec(h("Location"))?.[1];
    return {
      id: id ? decodeURIComponent(id) : value?.id,
      created: a.status === 201, revision: +h("Fanfold-Revision"), etag: h("ETag"), position: h("Fanfold-Position"), shown: a.status !== 202,
      ...(derived && { derivedChanges: +derived }),
      ...(value !== undefined && (options.return === "representation" && !options.dryRun && a.status !== 202 ? { doc: value } : { report: value })),
    };
  }
}

export const clean = (o: object) => Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined));
const listOf = (v: string | readonly string[] | undefined) => (typeof v === "string" ? v.split(",") : v);
export type { Waits };
