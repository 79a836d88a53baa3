// What the suite takes of node:assert/strict, where there is none.

/** show writes a value for a message. */
const show = (value) => (typeof value === "bigint" ? value + "n" : value instanceof Error ? String(value) : JSON.stringify(value, (_, v) => (typeof v === "bigint" ? v + "n" : v)));

function fail(message = "failed") {
  throw message instanceof Error ? message : new Error(message);
}

function ok(value, message) {
  if (!value) fail(message ?? `${show(value)} is not true`);
}

function equal(got, want, message) {
  if (!Object.is(got, want)) fail(message ?? `got ${show(got)}, want ${show(want)}`);
}

/** same tells whether two values have the same members, in any order. */
function same(a, b) {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b || Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Date) return a.getTime() === b.getTime();
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
}

function deepEqual(got, want, message) {
  if (!same(got, want)) fail(message ?? `got ${show(got)}, want ${show(want)}`);
}

/** match looks whether an error is the one that is wanted: by its text, its class, or a function. */
function match(error, want, message) {
  const right = want === undefined || (want instanceof RegExp ? want.test(String(error)) : want.prototype instanceof Error || want === Error ? error instanceof want : want(error) === true);
  ok(right, `${message ?? ""} ${error} is another error than the one that is wanted`);
}

function throws(fn, want, message) {
  try {
    fn();
  } catch (error) {
    return match(error, want, message);
  }
  fail(`${message ?? ""} nothing was thrown`);
}

async function rejects(what, want, message) {
  try {
    await (typeof what === "function" ? what() : what);
  } catch (error) {
    return match(error, want, message);
  }
  fail(`${message ?? ""} nothing was thrown`);
}

export default { deepEqual, equal, fail, ok, rejects, throws };
