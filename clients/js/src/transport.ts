import { FanfoldError } from "./errors.js";
import { parse, stringify, type Numbers } from "./json.js";

/** Key is a key as `fanfold keys create` prints it. A function is asked before each request, and once more, with again, after a 401. */
export type Key = string | ((again: boolean) => string | null | undefined | PromiseLike<string | null | undefined>);

export interface Options {
  /** It is sent with every request, to this server alone. No error and no print shows it. */
  key?: Key;
  /** Lets a key go to another machine without TLS. */
  insecure?: boolean;
  /** How long what may be tried again is tried, in milliseconds: 30,000 if not given, 0 for never, at most an hour. */
  retryFor?: number;
  /** How long an answer may take before the connection counts as lost, in milliseconds: 120,000 if not given. Streams take as long as they take. */
  attempt?: number;
  /** Bounds an answer, and a line of a stream, in bytes: 256 MiB if not given. */
  maxAnswer?: number;
  /** false lets a read show less than this client has written and seen before. */
  session?: boolean;
  /** false sends writes without an Idempotency-Key. A connection that breaks beneath a write is then an error. */
  idempotencyKeys?: boolean;
  /** How numbers are read: exact, the default, loses no digit. */
  numbers?: Numbers;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Sends the requests, in the place of the global fetch. */
  fetch?: typeof fetch;
}

/** Call is what is asked of the server besides method and path. */
export interface Call {
  query?: Record<string, unknown>;
  headers?: Record<string, string>;
  body?: string | null;
  signal?: AbortSignal | undefined;
  /** A read, which joins the session. */
  read?: boolean;
  /** Doing it twice is the same as once. */
  idempotent?: boolean;
  /** It is never tried again. */
  once?: boolean;
  /** The answer takes as long as it takes. */
  slow?: boolean;
  /** The answer's body comes as a stream. */
  stream?: boolean;
  /** Set where it was sent again after the server may have done it. */
  unsure?: boolean;
}

/** Answer is an answer whose status is below 400. */
export interface Answer {
  status: number;
  headers: Headers;
  /** The body, "" under stream. */
  text: string;
  /** The body under stream. */
  body: ReadableStream<Uint8Array> | null;
}

const maxProblem = 1 << 20;
const problemPrefix = "urn:fanfold:problem:";

/** invalid returns the error for what cannot be sent. */
export const invalid = (detail: string, more: Partial<FanfoldError> = {}) => new FanfoldError("invalid", detail, more);

/** within settles as a promise does, or rejects with the signal's reason at once. */
export function within<T>(promise: PromiseLike<T>, signal?: AbortSignal | null): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal!.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
    const done = () => signal?.removeEventListener("abort", stop);
    promise.then((value) => (done(), resolve(value)), (error) => (done(), reject(error)));
  });
}

/** sleep waits, and rejects with the signal's reason at once. */
export function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  return within(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))), signal).finally(() => clearTimeout(timer));
}

/** backOff returns a function that gives pauses, each twice as long as the one before, up to two seconds, with a random part. */
export function backOff(): (atLeast?: number) => number {
  let pause = 50;
  return (atLeast = 0) => {
    const wait = (pause / 2) * (1 + Math.random());
    pause = Math.min(2 * pause, 2000);
    return Math.max(wait, atLeast);
  };
}

/** randomKey returns a text that nobody has had: 128 bits by crypto.getRandomValues, for randomUUID is absent on plain HTTP. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
}

/** textOf reads a body of at most max bytes. */
async function textOf(response: Response, max: number): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "", size = 0;
  const reader = response.body?.getReader();
  for (let part; reader && !(part = await reader.read()).done; ) {
    if ((size += part.value.length) > max) {
      reader.cancel().catch(() => {});
      throw new FanfoldError("bad-answer", `the answer is longer than ${max} bytes: ask for less, or set maxAnswer higher`, { status: response.status });
    }
    text += decode(decoder, part.value);
  }
  return text + decode(decoder);
}

function decode(decoder: TextDecoder, part?: Uint8Array): string {
  try {
    return decoder.decode(part, { stream: !!part });
  } catch (cause) {
    throw new FanfoldError("bad-answer", "the answer is not UTF-8", { cause });
  }
}

/** problemError returns the error that a problem document stands for, undefined where the text is none. */
export function problemError(text: string, status: number, headers?: Headers): FanfoldError | undefined {
  let p: any;
  try {
    p = JSON.parse(text);
  } catch {
    return;
  }
  if (!p?.type?.startsWith?.(problemPrefix)) return;
  const { type, title: _, detail, instance: __, ...more } = p;
  const wait = headers?.get("Retry-After");
  return new FanfoldError(type.slice(problemPrefix.length), detail, {
    ...more, status,
    ...(headers?.get("X-Request-Id") && { requestId: headers.get("X-Request-Id")! }),
    ...(headers?.get("Fanfold-Position") && { position: headers.get("Fanfold-Position")! }),
    ...(headers?.get("ETag") && { etag: headers.get("ETag")! }),
    ...(wait && { retryAfter: Math.max(0, isNaN(+wait) ? Date.parse(wait) - Date.now() : +wait * 1000) || 0 }),
  });
}

/** isLoopback tells whether a host is this machine. */
const isLoopback = (host: string) => /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** Transport sends requests to one server: with the key, again where that is right, and in a session. */
export class Transport {
  readonly server: string;
  readonly maxAnswer: number;
  readonly numbers: Numbers;
  readonly idempotencyKeys: boolean;
  /** The newest position that an answer had, "" for none. */
  position = "";
  #key: Key | undefined;
  #headers: Record<string, string>;
  #fetch: typeof fetch;
  #retryFor: number;
  #attempt: number;
  #session: boolean;

  constructor(server: string, o: Options = {}) {
    let url: URL;
    try {
      url = new URL(server);
    } catch {
      throw invalid("the server's URL is none: give one such as http://127.0.0.1:8080");
    }
    if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
      throw invalid("the server's URL must be of http or https, without a user, a query and a fragment: a key goes into the option key");
    this.server = url.origin + url.pathname.replace(/\/$/, "");
    this.#key = o.key;
    this.#headers = o.headers ?? {};
    this.#fetch = o.fetch ?? ((...of) => fetch(...of));
    this.#retryFor = o.retryFor ?? 30_000;
    this.#attempt = o.attempt ?? 120_000;
    this.#session = o.session ?? true;
    this.maxAnswer = o.maxAnswer ?? 256 << 20;
    this.numbers = o.numbers ?? "exact";
    this.idempotencyKeys = o.idempotencyKeys ?? true;
    if (!(this.#retryFor >= 0 && this.#retryFor <= 3_600_000 && this.#attempt > 0 && this.#attempt < 2 ** 31 && this.maxAnswer > 0))
      throw invalid("retryFor is from 0 to 3600000, attempt and maxAnswer are more than 0");
    if (typeof o.key === "string") bearer(o.key);
    if (o.key && !o.insecure && url.protocol === "http:" && !isLoopback(url.hostname))
      throw invalid("a key would go to another machine without TLS, where everybody between can read it: use https, or set insecure: true");
  }

  /** see makes reads show at least a position. An older one than the newest changes nothing. */
  see(at: string | null | undefined): void {
    if (!at) return;
    const [seq, n, store] = at.split("-") as [string, string, string?], [seq0, n0, store0] = this.position.split("-") as [string, string, string?];
    if (!this.position || store !== store0 || +seq > +seq0 || (seq === seq0 && +n >= +n0)) this.position = at;
  }

  /** request sends a request until the server answers it, and returns the answer. It throws FanfoldError, and the signal's reason. */
  async request(operation: string, method: string, path: string, call: Call = {}): Promise<Answer> {
    const { signal } = call, began = Date.now(), next = backOff();
    signal?.throwIfAborted();
    const headers: Record<string, string> = { ...this.#headers, ...call.headers };
    if (call.read && this.#session && this.position && !headers["Fanfold-Min-Position"] && call.query?.consistency !== "eventual")
      headers["Fanfold-Min-Position"] = this.position;
    const url = this.server + path + search(call.query);
    for (let again = false; ; ) {
      try {
        const answer = await this.#send(operation, method, url, headers, call, again);
        this.see(answer.headers.get("Fanfold-Position"));
        return answer;
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof FanfoldError)) throw error;
        if (error.code === "store-changed") {
          this.position = "";
          if (/^0*[1-9]\d*-\d+-./.test(error.oldest ?? "")) this.see(error.oldest);
        }
        if (error.status === 401 && !again && typeof this.#key === "function" && !call.once) {
          again = true;
          continue;
        }
        const wait = next(error.retryAfter);
        if (call.once || !mayRetry(error, call) || Date.now() - began + wait > this.#retryFor) throw error;
        await sleep(wait, signal);
        call.unsure ||= error.code === "outcome-unknown" || error.code === "connection";
      }
    }
  }

  /** json returns the value in an answer. */
  async json<T = any>(operation: string, method: string, path: string, call?: Call): Promise<T> {
    return this.parse((await this.request(operation, method, path, call)).text);
  }

  /** parse returns the value of an answer's text. */
  parse(text: string): any {
    try {
      return parse(text, this.numbers);
    } catch (cause) {
      throw new FanfoldError("bad-answer", `the answer is not JSON: ${text.slice(0, 200)}`, { cause });
    }
  }

  /** #send sends a request once. */
  async #send(operation: string, method: string, url: string, headers: Record<string, string>, call: Call, again: boolean): Promise<Answer> {
    const stop = new AbortController(), { signal } = call;
    const lost = (why: string, more: Partial<FanfoldError> = {}) =>
      new FanfoldError("connection", `no answer from ${this.server} to ${operation}: ${why}`, more);
    const passOn = () => stop.abort(signal!.reason);
    signal?.addEventListener("abort", passOn);
    const timer = call.slow || call.stream ? undefined : setTimeout(() => stop.abort(lost(`nothing within ${this.#attempt} ms`)), this.#attempt);
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", passOn);
    };
    const exchange = async () => {
      const key = typeof this.#key === "function" ? await this.#key(again) : this.#key;
      const init: RequestInit & { duplex?: string } = {
        method, body: call.body ?? null, signal: stop.signal, cache: "no-store", duplex: "half",
        headers: key ? { ...headers, Authorization: bearer(key) } : headers,
      };
      let response: Response;
      try {
        response = await this.#fetch(url, init);
      } catch (cause) {
        throw lost(String((cause as any)?.cause?.message ?? (cause as any)?.message), { cause });
      }
      const { status } = response, answer = { status, headers: response.headers, text: "", body: response.body };
      if (call.stream && status < 400) return answer;
      try {
        answer.text = await textOf(response, status < 400 ? this.maxAnswer : maxProblem);
      } catch (cause) {
        throw cause instanceof FanfoldError ? cause : lost("it broke off", { cause });
      }
      if (status < 400) return answer;
      throw problemError(answer.text, status, response.headers) ?? new FanfoldError(status === 429 || status > 501 ? "connection" : "bad-answer",
        `${this.server} answered ${status}, and no problem document: ${answer.text.slice(0, 200)}`, { status });
    };
    try {
      return await within(exchange(), stop.signal);
    } finally {
      done();
    }
  }
}

/** bearer returns the header of a key. */
function bearer(key: string): string {
  if (!/^[!-~]{0,4096}$/.test((key = key.trim()))) throw invalid("the key is none: one has at most 4096 visible characters of ASCII");
  return "Bearer " + key;
}

/** mayRetry tells whether a request may be sent again after an error. One that may not be done twice is sent again only where the store says that nothing happened. */
function mayRetry(error: FanfoldError, call: Call): boolean {
  const { code, status } = error;
  return /^(busy|unavailable|catching-up|lagging|rights-stale)$/.test(code) ||
    (!!call.idempotent && code !== "log-damaged" && (code === "connection" || status === 429 || status > 502));
}

/** search returns the query of a URL. A list has commas between, but for id, which is repeated. */
function search(query: Record<string, unknown> = {}): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value != null)
      for (const one of name === "id" && Array.isArray(value) ? value : [value])
        all.append(name, one instanceof Date ? one.toISOString() : Array.isArray(one) ? one.join() : typeof one === "object" ? stringify(one) : String(one));
  return all.size || String(all) ? "?" + all : "";
}
