package js

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// bombs are functions that would take without end. Each names the bound that ends it, "thrown" where the engine refuses, or "" where
// it gives a result within the bounds.
var bombs = []struct{ name, source, ends string }{
	{"repeat", `() => "x".repeat(2 ** 40)`, "thrown"},
	{"repeat within", `() => { let s = "x".repeat(2 ** 29); return s.length }`, LimitMemory},
	{"repeats", `() => { let s = "x"; for (;;) s += s }`, "thrown"},
	{"buffer", `() => new ArrayBuffer(8 * 2 ** 30)`, "thrown"},
	{"buffer within 4 GiB", `() => new ArrayBuffer(2 ** 31 - 1)`, LimitMemory},
	{"buffers", `() => { const all = []; for (;;) all.push(new Uint8Array(2 ** 20)) }`, LimitMemory},
	{"buffers let go", `() => { for (;;) new Uint8Array(2 ** 24) }`, LimitSteps},
	{"fill", `() => { const a = new Uint8Array(2 ** 24); for (;;) a.fill(1) }`, LimitSteps},
	{"set", `() => { const a = new Uint8Array(2 ** 23), b = new Uint8Array(2 ** 23); for (;;) a.set(b) }`, LimitSteps},
	{"copyWithin", `() => { const a = new Uint8Array(2 ** 24); for (;;) a.copyWithin(0, 1) }`, LimitSteps},
	{"slices", `() => { const a = new Uint8Array(2 ** 22); for (;;) a.slice() }`, LimitSteps},
	{"resizable buffer", `() => { const b = new ArrayBuffer(8, { maxByteLength: 2 ** 30 }); b.resize(2 ** 30) }`, LimitMemory},
	{"regular expression", `() => /(?=(a+))\1+b|(a+)+$(?!x)c/.test("a".repeat(40))`, LimitSteps},
	{"nested quantifiers", `() => /^(([a-z])+.)+[A-Z]([a-z])+$/.test("a".repeat(60))`, LimitSteps},
	{"sticky lookbehind", `() => /(?<=(a*)*)b/.test("a".repeat(30000))`, LimitSteps},
	{"long regular expression", `() => new RegExp("(?:".repeat(20000) + ")".repeat(20000)).test("")`, LimitStack},
	{"counted quantifier", `() => /(?:a{1,1000}){1,1000}b/.test("a".repeat(100000))`, LimitSteps},
	{"replace", `() => { let s = "x".repeat(1000); for (;;) s = s.replaceAll("x", "xx") }`, LimitSteps},
	{"split", `() => { for (;;) "x".repeat(100000).split("") }`, LimitSteps},
	{"indexOf of a length", `() => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)`, LimitSteps},
	{"lastIndexOf of a length", `() => Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)`, LimitSteps},
	{"join of a length", `() => Array.prototype.join.call({ length: 2 ** 53 - 1 })`, LimitSteps},
	{"fill of a length", `() => Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 1)`, LimitMemory},
	{"reverse of a length", `() => Array.prototype.reverse.call({ length: 2 ** 53 - 1 })`, LimitSteps},
	{"from a length", `() => Array.from({ length: 2 ** 32 - 1 })`, LimitSteps},
	{"sparse array", `() => { const a = []; a[2 ** 32 - 2] = 1; return a.sort().length }`, LimitSteps},
	{"flat", `() => { let a = [1, 2]; for (;;) a = [a, a].flat(Infinity) }`, LimitSteps},
	{"sort with a comparator", `() => { const a = Array.from({ length: 100000 }, (_, i) => i); for (;;) a.sort(() => Math.random() - 0.5) }`, LimitSteps},
	{"sort that grows", `() => { const a = [3, 2, 1]; for (;;) a.sort((x, y) => { a.push(1); return x - y }) }`, LimitSteps},
	{"loop", `() => { for (;;); }`, LimitSteps},
	{"loop with a catch", `() => { for (;;) try { for (;;); } catch {} finally { continue } }`, LimitSteps},
	{"recursion", `() => { const f = () => f() + 1; return f() }`, LimitStack},
	{"recursion with a catch", `() => { const f = () => { try { f() } catch { f() } }; f() }`, LimitSteps},
	{"native recursion", `() => { const f = (a) => [1].map(f); return f() }`, LimitStack},
	{"getter", `() => { const o = { get x() { return this.x } }; return o.x }`, LimitStack},
	{"valueOf", `() => { const o = { valueOf() { return +this } }; return +o }`, LimitStack},
	{"toString", `() => { const o = { toString() { return "" + this } }; return "" + o }`, LimitStack},
	{"toPrimitive", `() => { const o = { [Symbol.toPrimitive]: () => +o }; return o * 2 }`, LimitStack},
	{"hasInstance", `() => { class A { static [Symbol.hasInstance](x) { return x instanceof A } } return 1 instanceof A }`, LimitStack},
	{"species", `() => { class A extends Array { static get [Symbol.species]() { for (;;); } } return new A(3).map(x => x) }`, LimitSteps},
	{"iterator", `() => { const o = { [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) }; return [...o] }`, LimitSteps},
	{"proxy of itself", `() => { const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x }`, LimitStack},
	{"chain of proxies", `() => { let p = {}; for (let i = 0; i < 200000; i++) p = new Proxy(p, {}); return p.x }`, LimitMemory},
	{"chain of prototypes", `() => { let o = {}; for (let i = 0; i < 100000; i++) o = Object.create(o); for (;;) o.x }`, LimitSteps},
	{"proxy without keys' end", `() => Object.keys(new Proxy({}, { ownKeys: () => Array.from({ length: 1e7 }, (_, i) => "" + i) }))`, LimitSteps},
	{"stringify of a cycle", `() => { const a = []; a.push(a); return JSON.stringify(a) }`, "thrown"},
	{"result of a cycle", `() => { const a = {}; a.a = a; return a }`, "thrown"},
	{"stringify of depth", `() => { let a = []; for (let i = 0; i < 200000; i++) a = [a]; return JSON.stringify(a) }`, LimitSteps},
	{"stringify of width", `() => { let a = [1]; for (let i = 0; i < 40; i++) a = [a, a]; return JSON.stringify(a) }`, LimitSteps},
	{"toJSON", `() => { const o = { toJSON: () => ({ o }) }; return o }`, LimitSteps},
	{"parse of depth", `() => JSON.parse("[".repeat(1000000))`, LimitStack},
	{"big integers", `() => { let n = 3n; for (;;) n *= n }`, LimitSteps},
	{"power of a big integer", `() => 2n ** (2n ** 31n)`, "thrown"},
	{"text of a big integer", `() => { const n = 7n ** 200000n; for (;;) n.toString(7) }`, LimitSteps},
	{"digits of a number", `() => { for (;;) (1e-300).toFixed(100) }`, LimitSteps},
	{"padStart", `() => { let n = 0; for (;;) n += "".padStart(2 ** 22).length }`, LimitSteps},
	{"normalize", `() => { const s = "\u1e9b\u0323".repeat(100000); for (;;) s.normalize("NFKD") }`, LimitSteps},
	{"localeCompare", `() => { const s = "a".repeat(1000000); for (;;) s.localeCompare(s + "b") }`, LimitSteps},
	{"concatenation", `() => { const s = "a".repeat(1000); for (;;) [s, s, s].concat([s]).join("") }`, LimitSteps},
	{"ropes", `() => { let s = ""; for (;;) s = "a" + s + "b" }`, LimitSteps},
	{"map", `() => { const m = new Map(); for (let i = 0; ; i++) m.set(i, i) }`, LimitSteps},
	{"weak references", `() => { const all = []; for (;;) all.push(new WeakRef({}), new FinalizationRegistry(() => {})) }`, LimitSteps},
	{"symbols", `() => { for (let i = 0; ; i++) Symbol.for("s" + i) }`, LimitSteps},
	{"atoms", `() => { const o = {}; for (let i = 0; ; i++) o["p" + i] = i }`, LimitSteps},
	{"classes", `() => { let C = class {}; for (;;) C = class extends C {} }`, LimitMemory},
	{"shapes", `() => { for (let i = 0; ; i++) { const o = {}; for (let j = 0; j < 100; j++) o["k" + (i + j)] = j } }`, LimitSteps},
	{"eval", `() => { for (;;) eval("1") }`, LimitSteps},
	{"eval of depth", `() => eval("(".repeat(100000))`, LimitStack},
	{"Function of depth", `() => Function("return " + "[".repeat(100000))()`, LimitStack},
	{"arguments", `() => Math.max.apply(null, { length: 2 ** 31 })`, "thrown"},
	{"spread", `() => { const a = new Array(1000000).fill(1); return Math.max(...a) }`, "thrown"},
	{"generator", `() => { function* g() { for (;;) yield 1 } for (const x of g()); }`, LimitSteps},
	{"generators", `() => { function* g(n) { yield* g(n + 1) } return [...g(0)] }`, LimitStack},
	{"generators that stay", `() => { const all = []; function* g() { yield all } for (;;) { const it = g(); it.next(); all.push(it) } }`, LimitMemory},
	{"promise that never settles", `() => new Promise(() => {})`, "thrown"},
	{"await that never ends", `async () => { await new Promise(() => {}) }`, "thrown"},
	{"asynchronous loop", `async () => { for (;;) await 1 }`, LimitSteps},
	{"asynchronous generator", `async () => { async function* g() { for (;;) yield 1 } for await (const x of g()); }`, LimitSteps},
	{"jobs", `() => { const f = () => { Promise.resolve().then(f) }; f() }`, LimitSteps},
	{"jobs that double", `() => { const f = () => { Promise.resolve().then(f); Promise.resolve().then(f) }; f() }`, LimitSteps},
	{"thenable", `() => { const t = { then(resolve) { resolve(t) } }; return t }`, LimitSteps},
	{"waiting", `() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`, "thrown"},
	{"shared buffer", `() => { const all = []; for (;;) all.push(new SharedArrayBuffer(2 ** 20)) }`, LimitMemory},
	{"error with a getter", `() => { const e = new Error(); Object.defineProperty(e, "message", { get() { for (;;); } }); throw e }`, LimitSteps},
	{"thrown proxy", `() => { throw new Proxy({}, { get() { throw 1 } }) }`, "thrown"},
	{"causes", `() => { let e; for (;;) e = new Error("x", { cause: e }) }`, LimitSteps},
	{"stack traces", `() => { Error.stackTraceLimit = Infinity; Error.prepareStackTrace = () => { for (;;); }; return new Error().stack }`, LimitSteps},
	{"dates", `() => { for (let i = 0; ; i++) new Date(i).toLocaleString() }`, LimitSteps},
	{"log", `(ctx) => { for (;;) ctx.log("x".repeat(4000)) }`, LimitSteps},
	{"host calls", `(ctx) => { for (;;) ctx.get("a", "b") }`, LimitSteps},
	{"memory held in a catch", `() => { const all = []; for (;;) try { all.push("x".repeat(100000) + all.length) } catch { all.push(1) } }`, LimitSteps},
	{"labels", `() => { a: for (;;) { b: for (;;) continue a } }`, LimitSteps},
	{"destructuring", `() => { const f = ({ a = f({}) }) => a; return f({}) }`, LimitStack},
	{"tagged template", "() => { const f = (s) => f`${s}`; return f`` }", LimitStack},
	{"reflect", `() => { const f = () => Reflect.apply(f, null, []); return f() }`, LimitStack},
	{"bound functions", `() => { let f = () => 1; for (let i = 0; i < 100000; i++) f = f.bind(null, i); return f() }`, LimitMemory},
	{"nested arrays freed", `() => { let a = []; for (let i = 0; i < 300000; i++) a = [a]; a = null; return 1 }`, ""},
}

// TestBombs: each bomb ends in its bound, within memory and time, and the next call knows nothing of it.
func TestBombs(t *testing.T) {
	r := shared(t)
	innocent := load(t, r, `export default () => [1, 2, 3].map(x => x * 2)`)
	_, before := call(t, innocent, Input{})
	for _, bomb := range bombs {
		t.Run(bomb.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			out, err := load(t, r, "export default "+bomb.source).Call(t.Context(), Input{Host: answering(`{"n":1}`)})
			took := time.Since(began)
			if got := ending(err); got != bomb.ends {
				t.Errorf("ends by %q, not %q: %v, %s", got, bomb.ends, err, out.Result)
			}
			if out.Memory > 40<<20 || took > 2*MaxTime || out.Steps > MaxSteps {
				t.Errorf("%d bytes, %v, %d steps", out.Memory, took, out.Steps)
			}
			t.Logf("%v, %d steps, %d KiB: %v", took, out.Steps, out.Memory>>10, err)
			if result, after := call(t, innocent, Input{}); result != "[2,4,6]" || after.Steps != before.Steps {
				t.Errorf("then %s in %d steps, not in %d", result, after.Steps, before.Steps)
			}
		})
	}
}

// ending returns the bound that err names, "thrown" for what the function threw, "" for none.
func ending(err error) string {
	var e *Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &e):
		return "other"
	case e.Kind == Limited:
		return e.Code
	default:
		return strings.ToLower(string(e.Kind))
	}
}
