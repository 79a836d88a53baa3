import type { Numbers } from "./json.js";
import { stringify } from "./json.js";
import { invalid, type Call, type Transport } from "./transport.js";

export type { Numbers };

/** Waits says how a call ends. */
export interface Waits {
  /** Ends the call at once: it then throws the signal's reason. */
  signal?: AbortSignal;
}

/** ReadOptions say how documents are read. They are called as the parameters of the routes. */
export interface ReadOptions extends Waits {
  /** Documents with derived fields, or as they were written. */
  view?: "embedded" | "referenced";
  /** Relations, with dots between, such as authors.publisher. Their documents come in the member _expanded. */
  expand?: string | readonly string[];
  /** Paths that are kept of each document, such as title or lines[].sku. The id always stays. */
  fields?: string | readonly string[];
  /** Documents as they were at a position or a time. */
  at?: string | Date;
  consistency?: "strong" | "bounded" | "session" | "prefix" | "eventual";
  /** With bounded: a number of events, or a time such as 30s. */
  maxLag?: string | number;
  /** Shows at least this position. */
  minPosition?: string;
  /** How long the server waits for what is to be shown, in milliseconds; a text such as 5s goes as it is. */
  timeout?: number | string;
}

/** ListOptions say how lists are read. */
export interface ListOptions extends ReadOptions {
  /** How many documents a page has at most, up to 1,000; the server's default is 100. */
  limit?: number;
}

/** WriteOptions say under which conditions and how documents are written. They are called as the parameters of the routes. */
export interface WriteOptions extends Waits {
  /** Writes only where the document has the revision of this tag; "*" where it is there. The code is stale otherwise. */
  ifMatch?: string;
  /** "*" writes only where the document is not there. */
  ifNoneMatch?: string;
  /** CEL that must be true of the document as it was written, such as doc.stock >= params.n. The code is condition-failed otherwise. */
  if?: string;
  params?: object;
  /** The write happens once under this key, whoever sends it. If not given, each write has one of its own. */
  idempotencyKey?: string;
  /** representation answers with the document as it is after the write. */
  return?: "representation" | "minimal";
  /** strict refuses members that the store derives or adds, instead of dropping them. */
  handling?: "strict";
  /** Answers as soon as the write is stored, before its copies are right. */
  respondAsync?: boolean;
  /** How long the server waits until it shows the write, in milliseconds. */
  timeout?: number | string;
  /** Writes nothing, and tells in report what would come of it. */
  dryRun?: boolean;
  /** With dryRun: how many derived changes are shown, up to 20. */
  examples?: number;
  /** Writes also what changes more documents than the model's fanout.limit. */
  allowFanout?: boolean;
  /** Takes frozen copies anew, by their paths. */
  refresh?: string | readonly string[];
}

const headerNames: Record<string, string> = {
  ifMatch: "If-Match", ifNoneMatch: "If-None-Match", idempotencyKey: "Idempotency-Key", minPosition: "Fanfold-Min-Position", timeout: "Fanfold-Timeout",
};

/** callOf returns a call with options: as headers those that are headers, as parameters all others. */
export function callOf(options?: object, call: Call = {}): Call {
  const query = { ...call.query }, headers = { ...call.headers }, prefer: string[] = [];
  let { signal } = call;
  for (const [name, value] of Object.entries(options ?? {})) {
    if (value == null || value === false) continue;
    const header = headerNames[name];
    if (name === "signal") signal = value;
    else if (header) headers[header] = typeof value === "number" ? value + "ms" : value;
    else if (name === "return" || name === "handling") prefer.push(name + "=" + value);
    else if (name === "respondAsync") prefer.push("respond-async");
    else if (name !== "consistency" || value !== "session") query[name] = value;
  }
  if (call.json !== undefined) {
    headers["Content-Type"] ??= "application/json";
    call = { ...call, body: stringify(call.json) };
  }
  if (prefer[0]) headers.Prefer = prefer.join(", ");
  return { ...call, query, headers, signal };
}

/** readOf returns the call of a read, which joins the session. */
export const readOf = (options?: object, call?: Call): Call => callOf(options, { read: true, idempotent: true, ...call });

/** writeOf returns the call of a write, under a key of its own where none is given. */
export function writeOf(t: Transport, options: { idempotencyKey?: string; dryRun?: boolean }, call: Call): Call {
  const idempotencyKey = t.keyOf(options);
  return callOf({ ...options, idempotencyKey }, { idempotent: !!idempotencyKey || !!options.dryRun, ...call });
}

/** pathOf returns the path of names below /v1. A URL has no . and no .. as a name: they would lead elsewhere. */
export function pathOf(...names: string[]): string {
  return "/v1" + names.map((name) => {
    if (/^\.{0,2}$/.test(name)) throw invalid("a name is empty, . or .., which no URL has");
    try {
      return "/" + encodeURIComponent(name);
    } catch {
      throw invalid("a name is no text of Unicode");
    }
  }).join("");
}

/** pages yields the items of all pages, until the signal ends. */
export async function* pages(member: string, signal: AbortSignal | undefined, ask: (cursor?: string) => Promise<any>): AsyncGenerator<any> {
  for (let cursor: string | undefined; ; ) {
    const page = await ask(cursor);
    for (const item of page[member]) {
      signal?.throwIfAborted();
      yield item;
    }
    if (!(cursor = page.next)) return;
  }
}
