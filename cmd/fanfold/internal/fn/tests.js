
// It stands after the text of a test file, as one module. Calls of the store go through ctx.query, which the program that runs the tests answers.
function test(name, fn) { (test.all ??= []).push([String(name), fn]) }
export default async (ctx, at) => {
  const all = test.all ?? []
  if (at === null) return all.map(([name]) => name)
  const ask = (...given) => ctx.query(...given)
  const failure = (message, more) => Object.assign(new Error(message), { failure: more })
  const same = (a, b) => {
    if (Object.is(a, b) || a === b) return true
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false
    const names = Object.keys(a)
    return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]))
  }
  const shown = (value) => {
    try {
      const text = JSON.stringify(value)
      return text.length > 8192 ? text.slice(0, 8192) + "…" : value
    } catch {
      return value // it has a BigInt
    }
  }
  const t = {
    put: (collection, id, doc) => ask("put", collection, id, doc),
    create: (collection, doc) => ask("create", collection, doc),
    patch: (collection, id, patch) => ask("patch", collection, id, patch),
    delete: (collection, id) => ask("delete", collection, id),
    get: (collection, id) => ask("get", collection, id),
    query: (collection, options) => ask("query", collection, options),
    children: (collection, id, child, options) => ask("children", collection, id, child, options),
    call: (name, args) => ask("call", name, args),
    equal(actual, expected) {
      if (!same(actual, expected)) throw failure("the values differ", { expected: shown(expected), actual: shown(actual) })
    },
    fails(code, fn) {
      const missing = failure("it should have failed", { expected: code, actual: null })
      const threw = (error) => {
        if (error?.code === code) return error
        throw failure("it failed otherwise: " + (error?.message ?? error), { expected: code, actual: error?.code ?? null })
      }
      let given
      try {
        given = fn()
      } catch (error) {
        return threw(error)
      }
      if (typeof given?.then !== "function") throw missing
      return given.then(() => { throw missing }, threw)
    },
  }
  try {
    await all[at][1](Object.freeze(t))
    return null
  } catch (error) {
    if (typeof error !== "object" || error === null) return { message: "it threw " + String(error) }
    const name = error.code ?? (error.failure || error.name === "Error" ? "" : error.name)
    return { message: (name ? name + ": " : "") + error.message, stack: String(error.stack ?? ""), ...error.failure }
  }
}
