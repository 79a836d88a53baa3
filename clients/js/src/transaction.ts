import type { Collection, MergePatch, PatchOperation } from "./collection.js";
import { clean } from "./collection.js";

/** Conditions of an operation, as of a write by itself. */
export interface OperationOptions {
  ifMatch?: string;
  ifNoneMatch?: string;
  if?: string;
  params?: object;
}

/** Transaction collects operations that are done all, or not at all. Each document is named once at most. */
export class Transaction {
  /** @internal */
  readonly operations: object[] = [];

  /** put writes a whole document. */
  put<T>(c: Collection<T>, id: string, body: T, options?: OperationOptions): void {
    this.#add("put", c, { id, body }, options);
  }

  /** create writes a new document. as names it for references of later operations. */
  create<T>(c: Collection<T>, body: T, options: { as?: string } = {}): void {
    this.#add("create", c, { body, ...options });
  }

  /** patch changes a document: by a JSON Patch, which is a list, or by a merge patch. */
  patch<T>(c: Collection<T>, id: string, patch: readonly PatchOperation[] | MergePatch, options?: OperationOptions): void {
    this.#add("patch", c, { id, patch }, options);
  }

  /** delete deletes a document. */
  delete<T>(c: Collection<T>, id: string, options?: OperationOptions): void {
    this.#add("delete", c, { id }, options);
  }

  /** check writes nothing, and makes the transaction fail where its conditions do not hold. */
  check<T>(c: Collection<T>, id: string, options: OperationOptions): void {
    this.#add("check", c, { id }, options);
  }

  #add(op: string, c: { name: string }, what: object, options: OperationOptions = {}): void {
    this.operations.push(clean({ op, collection: c.name, ...what, ...options }));
  }
}
