import { lines } from "./changes.js";
import { stringify } from "./json.js";
import { callOf, type ListOptions, type ReadOptions, type Waits, type WriteOptions } from "./options.js";
import { backOff, invalid, randomKey, sleep, type Answer, type Call, type Transport } from "./transport.js";
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
  /** With return: "representation". */
  doc?: T;
  /** With dryRun: what would come of the write. */
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
  refresh?: string | readonly string[];
  idempotencyKey?: string;
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

const query = Symbol();

/** Query is a query whose pages are read as they are needed. */
export class Query<T> implements AsyncIterable<Document<T>> {
  readonly #ask: (more: object) => Promise<any>;
  readonly #options: QueryOptions;

  /** @internal */
  constructor(_: typeof query, options: QueryOptions, ask: (more: object) => Promise<any>) {
    this.#options = options;
    this.#ask = ask;
  }

  /** The documents of all pages, each page from its own moment. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Document<T>> {
    for (let cursor: string | undefined, page; ; cursor = page.next) {
      page = await this.page(cursor);
      yield* page.items;
      if (!page.next) return;
    }
  }

  /** page returns one page, from a cursor that another one had as next. */
  async page(cursor?: string): Promise<DocumentPage<T>> {
    return pageOf<T>(await this.#ask({ cursor }));
  }

  /** count tells how many documents there are. */
  async count(): Promise<number> {
    return (await this.#ask({ count: true, limit: 1, sort: undefined })).count;
  }

  /** group returns groups of documents, and what is computed of each, such as group(["genre"], ["count", "sum(price)"]). */
  async *group(by: readonly string[], compute: readonly string[] = ["count"]): AsyncGenerator<{ key: any; values: any }> {
    for (let cursor: string | undefined, page; ; cursor = page.next) {
      page = await this.#ask({ group: by, compute, cursor, sort: this.#options.sort });
      yield* page.groups;
      if (!page.next) return;
    }
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

const e = encodeURIComponent;
const read: Call = { read: true, idempotent: true };

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

  #path(id?: string): string {
    if (id === "") throw invalid("the id of a document is not empty");
    return `/v1/${e(this.name)}${id === undefined ? "" : "/" + e(id)}`;
  }

  /** get returns a document. The code is not-found where there is none. */
  async get(id: string, options?: ReadOptions): Promise<Document<T>> {
    const a = await this.#t.request("get", "GET", this.#path(id), callOf(options, read));
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
    const a = await this.#t.request("get", "GET", this.#path(id), callOf(options, read));
    return { ...this.#found(id, a), doc: a.text };
  }

  #found(id: string, a: Answer) {
    const h = (name: string) => a.headers.get(name) ?? "";
    return { id, revision: +h("Fanfold-Revision"), etag: h("ETag"), position: h("Fanfold-Position"), updatedAt: new Date(h("Last-Modified")) };
  }

  /** getMany returns the documents with some ids, in this order, with null for each that is not there. */
  async getMany(ids: readonly string[], options?: ReadOptions): Promise<(Document<T> | null)[]> {
    const found = new Map<string, Document<T>>();
    for (let i = 0; i < ids.length; i += 100) {
      const page = await this.#t.json("getMany", "GET", this.#path(), callOf(options, { ...read, query: { id: ids.slice(i, i + 100) } }));
      for (const item of page.items) found.set(item.id, documentOf<T>(item));
    }
    return ids.map((id) => found.get(id) ?? null);
  }

  /** watch yields a document as it is now, then as it is after each change; null where it is not there. All watches of a client share one feed. */
  watch(id: string, options: Waits = {}): AsyncGenerator<T | null> {
    return this.#watches.watch(`${this.name}/${id}`, async () => {
      try {
        const a = await this.#t.request("watch", "GET", this.#path(), callOf(options, { ...read, query: { id: [id] } })), [item] = this.#t.parse(a.text).items;
        return { doc: item ? documentOf<T>(item).doc : null, position: a.headers.get("Fanfold-Position")! };
      } catch (error) {
        if (error instanceof FanfoldError && error.code === "unknown-collection" && error.position) return { doc: null, position: error.position }; // its first document makes it
        throw error;
      }
    }, options.signal);
  }

  /** list returns all documents by id, page by page. */
  list(options?: ListOptions): Query<T> {
    return new Query<T>(query, {}, (more) => this.#t.json("list", "GET", this.#path(), callOf({ ...options, ...more }, read)));
  }

  /** query returns what meets a filter, in an order. */
  query(options: QueryOptions = {}): Query<T> {
    const { signal, minPosition, timeout, consistency, maxLag, ...asked } = options;
    return new Query<T>(query, options, (more) =>
      this.#t.json("query", "POST", this.#path() + "/_query", callOf({ signal, minPosition, timeout, consistency, maxLag },
        { ...read, headers: { "Content-Type": "application/json" }, body: stringify(clean({ ...asked, fields: listOf(asked.fields), ...more })) })));
  }

  /** children returns the documents of this collection that refer to one of another, in order of creation. */
  children(parent: string, id: string, options: QueryOptions & { relation?: string } = {}): Query<T> {
    return new Query<T>(query, options, (more) => this.#t.json("children", "GET", `/v1/${e(parent)}/${e(id)}/${e(this.name)}`, callOf({ ...options, ...more }, read)));
  }

  /** page returns one of the fixed pages of the documents that refer to one of another collection: from 1 on, or the last. */
  async page(parent: string, id: string, number: number | "last", options: ReadOptions & { relation?: string } = {}): Promise<{ page: number; pages: number; items: T[] }> {
    const p = await this.#t.json("page", "GET", `/v1/${e(parent)}/${e(id)}/${e(this.name)}`, callOf({ ...options, page: number } as ReadOptions, read));
    return { page: p.page, pages: p.pages, items: p[this.name] };
  }

  /** lineage tells where a document's derived values come from, and which documents have copies of it. */
  lineage(id: string, options?: ReadOptions): Promise<any> {
    return this.#t.json("lineage", "GET", this.#path(id) + "/_lineage", callOf(options, read));
  }

  /** history returns a document's versions, the newest first unless order is asc. */
  async *history(id: string, options: ReadOptions & { order?: "asc" | "desc"; limit?: number; from?: string | Date; to?: string | Date; derived?: "exclude"; includeDocs?: boolean } = {}): AsyncGenerator<any> {
    const { includeDocs, ...rest } = options;
    for (let cursor: string | undefined, page; ; cursor = page.next) {
      page = await this.#t.json("history", "GET", this.#path(id) + "/_history", callOf({ ...rest, cursor, include_docs: includeDocs === false ? "false" : undefined } as ReadOptions, read));
      yield* page.items;
      if (!page.next) return;
    }
  }

  /** create writes a new document. Without an id the store makes one. */
  create(doc: T, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("create", "POST", this.#path(), stringify(doc), options);
  }

  /** put writes a whole document. */
  put(id: string, doc: T, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("put", "PUT", this.#path(id), stringify(doc), options);
  }

  /** putText does what put does with JSON as it is. */
  putText(id: string, text: string, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("put", "PUT", this.#path(id), text, options);
  }

  /** patch changes a document: by a JSON Patch, which is a list, or by a merge patch (RFC 7396). */
  patch(id: string, patch: readonly PatchOperation[] | MergePatch, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("patch", "PATCH", this.#path(id), stringify(patch), options, Array.isArray(patch) ? "json-patch+json" : "merge-patch+json");
  }

  /** delete deletes a document. With steps it goes on, step by step, until all that the delete causes is done. */
  async delete(id: string, options: WriteOptions & { steps?: boolean } = {}): Promise<Written<T>> {
    for (;;) {
      const w = await this.#write("delete", "DELETE", this.#path(id), null, options);
      if (!options.steps || options.dryRun || !w.report || w.report.done) return w;
    }
  }

  /** revert writes a document as it was written at a position or a time. */
  revert(id: string, at: string | Date, options?: WriteOptions): Promise<Written<T>> {
    return this.#write("revert", "POST", this.#path(id) + "/_revert", stringify({ at: at instanceof Date ? at.toISOString() : at }), options);
  }

  /** updateByQuery patches all documents of which a filter is true. With dryRun it writes nothing, and tells what would come of it. */
  updateByQuery(filter: string, patch: readonly PatchOperation[] | MergePatch, options?: ByQueryOptions): Promise<ByQueryResult> {
    return this.#byQuery("PATCH", filter, stringify(patch), options, Array.isArray(patch) ? "json-patch+json" : "merge-patch+json");
  }

  /** deleteByQuery deletes all documents of which a filter is true. */
  deleteByQuery(filter: string, options?: ByQueryOptions): Promise<ByQueryResult> {
    return this.#byQuery("DELETE", filter, null, options);
  }

  /** It goes on under its key where the answer breaks off. */
  async #byQuery(method: string, filter: string, body: string | null, options: ByQueryOptions = {}, type?: string): Promise<ByQueryResult> {
    const o = options.dryRun ? options : { idempotencyKey: randomKey(), ...options }, next = backOff();
    for (let tries = 0; ; tries++) {
      const refusals: any[] = [];
      try {
        const a = await this.#t.request("byQuery", method, this.#path(), callOf({ ...o, filter } as WriteOptions, { body, stream: true, idempotent: true, headers: type ? { "Content-Type": "application/" + type } : {} }));
        for await (const line of lines(a.body!, this.#t.maxAnswer)) {
          const said = this.#t.parse(line);
          if (said.done || options.dryRun) {
            this.#t.see(said.position);
            return { refusals, ...said };
          }
          if (!said.progress) refusals.push(said);
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        if (tries === 100 || (error instanceof FanfoldError && error.code !== "connection")) throw error;
      }
      if (tries === 100) throw new FanfoldError("connection", "the answer broke off again and again: what was written by then stays");
      await sleep(next(), options.signal);
    }
  }

  async #write(operation: string, method: string, path: string, body: string | null, options: WriteOptions = {}, type = "json"): Promise<Written<T>> {
    const o = this.#t.idempotencyKeys && !options.dryRun ? { idempotencyKey: randomKey(), ...options } : options;
    const a = await this.#t.request(operation, method, path, callOf(o, { body, headers: body === null ? {} : { "Content-Type": "application/" + type }, idempotent: !!o.idempotencyKey || !!o.dryRun }));
    const h = (name: string) => a.headers.get(name) ?? "", derived = h("Fanfold-Derived-Changes"), value = a.text ? this.#t.parse(a.text) : undefined;
    return {
      id: /\/([^/]+)$/.test(h("Location")) ? decodeURIComponent(RegExp.$1) : path.split("/")[3] ? decodeURIComponent(path.split("/")[3]!) : value?.id,
      created: a.status === 201, revision: +h("Fanfold-Revision"), etag: h("ETag"), position: h("Fanfold-Position"),
      ...(derived && { derivedChanges: +derived }),
      ...(value !== undefined && (o.return === "representation" && !o.dryRun ? { doc: value } : { report: value })),
    };
  }
}

export const clean = (o: object) => Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined));
const listOf = (v: string | readonly string[] | undefined) => (typeof v === "string" ? v.split(",") : v);
export type { Waits };
