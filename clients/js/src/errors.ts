/** Code says what failed. The server's codes are those of docs/use/http.md; connection and bad-answer are the client's own. */
export type Code =
  | "invalid" | "unauthenticated" | "read-only" | "forbidden" | "not-found" | "unknown-collection" | "method-not-allowed" | "too-slow" | "exists" | "conflict"
  | "restricted" | "model-removes" | "lease-lost" | "position-gone" | "store-changed" | "rights-changed" | "condition-failed"
  | "stale" | "too-large" | "unsupported-media" | "unprocessable" | "takes-long" | "check-failed" | "needs-index" | "fanout-limit"
  | "key-reused" | "busy" | "internal" | "unavailable" | "outcome-unknown" | "catching-up" | "lagging" | "rights-stale"
  | "log-damaged" | "timeout" | "function-failed" | "function-error" | "function-limit"
  /** No answer came, or not to its end, or something between client and store answered. */
  | "connection"
  /** The answer is none that this client takes, or is longer than maxAnswer. */
  | "bad-answer";

/** Problem describes one mistake of several. */
export interface Problem {
  path: string;
  detail: string;
  line?: number;
  column?: number;
}

/** FanfoldError is what every call throws that fails, except that an abort throws the signal's reason. */
export class FanfoldError extends Error {
  override name = "FanfoldError";
  /** What failed, where, and what to do about it. */
  declare detail: string;
  /** The status of the answer, 0 where there was none. */
  declare status: number;
  declare problems: Problem[];
  /** The index of the transaction's operation at fault. */
  declare operation?: number;
  /** The document's revision and tag as they are, where a condition does not hold. */
  declare revision?: number;
  declare etag?: string;
  /** The position that the answer shows, such as the one at which there is no such collection. */
  declare position?: string;
  /** The server's log has the request under it. */
  declare requestId?: string;
  /** How long the server asks to wait, in milliseconds. */
  declare retryAfter?: number;
  /** The position from which to go on, after a 410. */
  declare oldest?: string;
  /** With needs-index: a patch for db.model.patch that declares the missing index. */
  declare suggest?: unknown;
  /** The function that was called, or the trigger that ran for a write, and is at fault. */
  declare function?: string;
  declare trigger?: string;
  /** With function-failed: what the function gave to ctx.fail. */
  declare failCode?: string;
  declare details?: unknown;
  /** With function-limit: the bound that the function passed. */
  declare limit?: string;
  declare line?: number;
  declare column?: number;

  constructor(readonly code: Code, detail: string, more: Partial<FanfoldError> = {}) {
    super([`${code}: ${detail}`, ...(more.problems ?? []).map((p) => `  ${p.path}: ${p.detail}`)].join("\n"), "cause" in more ? { cause: more.cause } : undefined);
    Object.assign(this, { detail, status: 0, problems: [] }, more);
  }
}
