import { FanfoldError } from "./errors.js";

/** decoder returns a function that decodes UTF-8 piece by piece. Without a piece it ends. */
export function decoder(what = "the answer"): (part?: Uint8Array) => string {
  const d = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return (part) => {
    try {
      return d.decode(part, { stream: !!part });
    } catch (cause) {
      throw new FanfoldError("bad-answer", what + " is not UTF-8", { cause });
    }
  };
}

const tooLong = (what: string, max: number, status = 0) => new FanfoldError("bad-answer", `${what} is longer than ${max} bytes: set maxAnswer higher`, { status });

/** brokenOff is the error for an answer that ends early. */
export const brokenOff = (cause?: unknown) => new FanfoldError("connection", "the answer broke off: what was done by then stays", { cause });

/** textOf reads a body of at most max bytes. */
export async function textOf(response: Response, max: number): Promise<string> {
  const reader = response.body?.getReader(), decode = decoder();
  let text = "", size = 0;
  for (let part; reader && !(part = await reader.read()).done; ) {
    if ((size += part.value.length) > max) {
      reader.cancel().catch(() => {});
      throw tooLong("the answer", max, response.status);
    }
    text += decode(part.value);
  }
  return text + decode();
}

/** lines yields the lines of a stream of bytes, each of at most max bytes. next may end the wait for a part. The stream is cancelled at the end. */
export async function* lines(body: ReadableStream<Uint8Array>, max: number, next: <R>(read: Promise<R>) => Promise<R> = (r) => r): AsyncGenerator<string> {
  const reader = body.getReader(), decode = decoder();
  let rest = "", size = 0; // of the line that has not ended
  try {
    for (;;) {
      const part = await next(reader.read().catch((cause) => {
        throw brokenOff(cause);
      }));
      if (part.done) {
        if (rest + decode()) throw brokenOff();
        return;
      }
      const text = decode(part.value);
      let from = 0;
      size += part.value.length;
      for (let end; (end = text.indexOf("\n", from)) >= 0; from = end + 1, rest = "", size = text.length - from) {
        if (rest.length + end - from > max) throw tooLong("a line", max);
        yield rest + text.slice(from, end);
      }
      if (size > max) throw tooLong("a line", max);
      rest += text.slice(from);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
