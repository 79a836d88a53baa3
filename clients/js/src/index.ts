export * from "./client.js";
export { Changes, type Change, type ChangesOptions } from "./changes.js";
export type { Batch, ConsumerOptions } from "./consume.js";
export { Collection, Query, type ByQueryOptions, type ByQueryResult, type Document, type DocumentPage, type MergePatch, type PatchOperation, type Written, type QueryOptions } from "./collection.js";
export * from "./errors.js";
export { parse, RawNumber, stringify, type Numbers } from "./json.js";
export type { ListOptions, ReadOptions, Waits, WriteOptions } from "./options.js";
export type { OperationOptions, Transaction } from "./transaction.js";
export type { Key, Options } from "./transport.js";
