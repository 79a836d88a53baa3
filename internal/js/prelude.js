// The JavaScript side of a run. The engine evaluates it once, before any source; no call changes what stands here for another.
// host(name, text) gives the text of a JSON array to the Go side, and returns the text of the answer.
(host) => {
  "use strict"
  const { String, Number, Error, TypeError, BigInt, WeakMap } = globalThis
  const { parse, stringify } = JSON
  const { defineProperty, freeze, keys, prototype: { hasOwnProperty } } = Object
  const uncurried = Function.prototype.bind.bind(Function.prototype.call)
  const slice = uncurried(String.prototype.slice)
  const indexOf = uncurried(String.prototype.indexOf)
  const join = uncurried(Array.prototype.join)
  const test = uncurried(RegExp.prototype.test)
  const owns = uncurried(hasOwnProperty)
  const lookUp = uncurried(WeakMap.prototype.get)
  const store = uncurried(WeakMap.prototype.set)
  const then = uncurried(Promise.prototype.then)
  const settled = Promise.resolve.bind(Promise)
  const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/
  const code = /^[a-z0-9-]{1,64}$/
  const failures = new WeakMap()
  const refusals = new WeakMap()
  let mark = ""       // what a string begins with that stands for a number, while a value is written
  let writing = false
  let outcome = ""

  // A number that no double holds, and that is no plain integer. It is written as it came.
  class RawNumber {
    constructor(raw) {
      if (typeof raw !== "string" || !test(number, raw)) throw new TypeError("RawNumber takes the text of a JSON number")
      defineProperty(this, "raw", { value: raw, enumerable: true })
      freeze(this)
    }
    valueOf() { return Number(this.raw) }
    toString() { return this.raw }
    toJSON() { return writing ? mark + this.raw : { raw: this.raw } }
  }
  const hidden = (object, name, value) =>
    defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false })
  hidden(globalThis, "RawNumber", RawNumber)
  hidden(BigInt.prototype, "toJSON", function () {
    if (!writing) throw new TypeError("JSON has no BigInt: use String(n)")
    return mark + this
  })

  const write = (value) => {
    const outer = writing // a toJSON may give a value to ctx
    writing = true
    try {
      const text = stringify(value)
      return text === undefined ? "null" : text
    } finally {
      writing = outer
    }
  }

  // An answer is "v" and JSON, or "m", the name of a member, a line's end and JSON. An object with that member alone is a number:
  // a string for an integer, an array of a string for another one.
  const read = (text) => {
    if (text[0] === "v") return parse(slice(text, 1))
    const end = indexOf(text, "\n")
    return numbered(parse(slice(text, end + 1)), slice(text, 1, end))
  }
  const numbered = (value, name) => {
    if (typeof value !== "object" || value === null) return value
    if (owns(value, name)) {
      const raw = value[name]
      return typeof raw === "string" ? BigInt(raw) : new RawNumber(raw[0])
    }
    const names = keys(value)
    for (let i = 0; i < names.length; i++) value[names[i]] = numbered(value[names[i]], name)
    return value
  }

  const ask = (name, given) => {
    const answer = host(name, write(given))
    if (answer[0] !== "e") return read(answer)
    const problem = parse(slice(answer, 1))
    const error = new Error(problem.message)
    error.code = problem.code
    store(refusals, error, problem.index)
    throw error
  }
  const shown = (value) => {
    if (typeof value === "string") return value
    if (typeof value === "object" && value !== null) {
      try { return stringify(value) } catch { /* it is shown as text */ }
    }
    return String(value)
  }
  const api = {
    log(...values) {
      const parts = []
      for (let i = 0; i < values.length; i++) parts[i] = slice(shown(values[i]), 0, 4096)
      host("log", slice(join(parts, " "), 0, 4096))
    },
    fail(id, message, details) {
      if (typeof id !== "string" || !test(code, id)) throw new TypeError("ctx.fail takes a code of 1 to 64 of a-z, 0-9 and -")
      const error = new Error(message === undefined ? id : String(message))
      error.code = id
      store(failures, error, details === undefined ? "" : write(details))
      throw error
    },
    uuid() { return ask("uuid", []) },
  }
  const names = ["get", "query", "children", "put", "create", "patch", "delete"]
  for (let i = 0; i < names.length; i++) {
    const name = names[i]
    api[name] = { [name](...given) { return ask(name, given) } }[name]
  }

  let a = 0, b = 0, c = 0, d = 0 // the state of sfc32
  const draw = () => {
    const t = (a + b | 0) + d | 0
    d = d + 1 | 0
    a = b ^ b >>> 9
    b = c + (c << 3) | 0
    c = (c << 21 | c >>> 11) + t | 0
    return t >>> 0
  }
  hidden(Math, "random", () => ((draw() >>> 5) * 67108864 + (draw() >>> 6)) / 9007199254740992)

  const described = (error) => {
    try {
      if (typeof error !== "object" || error === null) return { message: slice(String(error), 0, 2048) }
      const of = (name) => slice(String(error[name] ?? ""), 0, 2048)
      return { name: of("name"), message: of("message"), stack: of("stack") }
    } catch {
      return { message: "something was thrown that says nothing of itself" }
    }
  }
  const thrown = (error) => {
    const isObject = typeof error === "object" && error !== null
    const details = isObject ? lookUp(failures, error) : undefined
    if (details !== undefined) return "f" + stringify({ code: String(error.code), message: slice(String(error.message), 0, 2048) }) + "\n" + details
    const refused = isObject ? lookUp(refusals, error) : undefined
    return refused !== undefined ? "h" + refused : "x" + stringify(described(error))
  }
  const fails = (error) => {
    try { outcome = thrown(error) } catch (other) { outcome = "x" + stringify(described(other)) }
  }
  const succeeds = (value) => {
    try { outcome = "r" + write(value) } catch (error) { fails(error) }
  }

  // start calls main. The first line of its text is a JSON object of mark, now, seed and caller; an answer with the arguments follows.
  const start = (main, text) => {
    const end = indexOf(text, "\n")
    const head = parse(slice(text, 0, end))
    const seed = head.seed
    mark = head.mark
    a = seed[0] | 0
    b = seed[1] | 0
    c = seed[2] | 0
    d = seed[3] | 0
    api.now = head.now
    api.caller = head.caller
    try {
      const result = main(freeze(api), read(slice(text, end + 1)))
      if ((typeof result === "object" || typeof result === "function") && result !== null && typeof result.then === "function") {
        then(settled(result), succeeds, fails)
      } else {
        succeeds(result)
      }
    } catch (error) {
      fails(error)
    }
  }
  return [start, () => outcome, (error) => "x" + stringify(described(error))]
}
