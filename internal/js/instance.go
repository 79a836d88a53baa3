package js

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// instance is one memory of the engine, for one run at a time.
type instance struct {
	engine  *engine
	mod     api.Module
	memory  api.Memory
	counter api.MutableGlobal // of the steps that are left of a slice
	pages   api.MutableGlobal // of 64 KiB, as the module sees the memory
	sp      api.MutableGlobal // of the engine's stack
	f       functions
	broken  bool // a trap ended a call: no image makes it usable
}

// functions calls what the module exports. Its first error stays, and later calls do nothing and give 0.
type functions struct {
	in    *instance
	byKey map[string]api.Function
	err   error
}

func newInstance(e *engine, mod api.Module) (*instance, error) {
	in := &instance{engine: e, mod: mod, memory: mod.Memory()}
	in.f = functions{in: in, byKey: map[string]api.Function{}}
	for name, to := range map[string]*api.MutableGlobal{"steps": &in.counter, "pages": &in.pages, "__stack_pointer": &in.sp} {
		global, ok := mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return nil, internal(fmt.Errorf("the module lacks global %s", name))
		}
		*to = global
	}
	return in, nil
}

func (in *instance) close(ctx context.Context) {
	in.broken = true
	_ = in.mod.Close(ctx) //nolint:errcheck // it frees memory alone
}

// size returns the bytes of memory that the run had.
func (in *instance) size() int64 { return int64(in.pages.Get()) * wasmPage }

// plain calls an exported function whose parameters and result have 32 bits.
func (f *functions) plain(ctx context.Context, name string, params ...uint32) uint32 {
	if f.err != nil {
		return 0
	}
	fn := f.byKey[name]
	if fn == nil {
		fn = f.in.mod.ExportedFunction(name)
		if fn == nil {
			f.err = fmt.Errorf("the module lacks function %s", name)
			return 0
		}
		f.byKey[name] = fn
	}
	var stack [8]uint64
	for i, p := range params {
		stack[i] = uint64(p)
	}
	if err := fn.CallWithStack(ctx, stack[:max(len(params), 1)]); err != nil {
		f.err, f.in.broken = err, true
		return 0
	}
	return uint32(stack[0])
}

// text copies text into the memory, with a zero after it, and returns where it stands; 0 where the memory is full.
func (in *instance) text(ctx context.Context, text []byte) uint32 {
	at := in.f.plain(ctx, "malloc", uint32(len(text)+1))
	if at == 0 || !in.memory.Write(at, text) || !in.memory.WriteByte(at+uint32(len(text)), 0) {
		return 0
	}
	return at
}

// apply calls a function value with arguments, and returns where the result stands; 0 where the memory is full.
func (in *instance) apply(ctx context.Context, fn uint32, args ...uint32) uint32 {
	list := make([]byte, 0, 16)
	for _, a := range args {
		list = binary.LittleEndian.AppendUint32(list, a)
	}
	argv := in.text(ctx, list)
	if argv == 0 {
		return 0
	}
	return in.f.plain(ctx, "qjs_call", fn, in.engine.undefined, uint32(len(args)), argv)
}

// value returns a new string value; 0 where the memory is full.
func (in *instance) value(ctx context.Context, text []byte) uint32 {
	at := in.text(ctx, text)
	if at == 0 {
		return 0
	}
	v := in.f.plain(ctx, "qjs_new_string", at, uint32(len(text)))
	in.f.plain(ctx, "free", at)
	return v
}

// read returns a copy of a string value's text, of at most the given bytes; ok is false where it is longer, or memory lacks.
func (in *instance) read(ctx context.Context, value uint32, most uint32) (text []byte, ok bool) {
	at := in.f.plain(ctx, "qjs_get_string_len", value, in.engine.scratch)
	n, there := in.memory.ReadUint32Le(in.engine.scratch)
	if at == 0 || !there || n > most {
		return nil, false
	}
	view, ok := in.memory.Read(at, n)
	text = append([]byte(nil), view...)
	in.f.plain(ctx, "qjs_free_cstring", at)
	return text, ok && in.f.err == nil
}

// answered answers a call of the host, and returns where the answer stands; 0 ends the run.
func (in *instance) answered(of *run, name, given uint32) uint32 {
	which, ok := in.read(of.ctx, name, 64)
	if !ok {
		of.end(in.full())
		return 0
	}
	arguments, ok := in.read(of.ctx, given, MaxCall)
	if !ok {
		of.end(limited(LimitCall, "ctx.%s is given more than %d bytes, or more than the memory holds: give less", which, MaxCall))
		return 0
	}
	text := of.asked(string(which), arguments)
	if text == nil {
		return 0
	}
	v := in.value(of.ctx, text)
	if v == 0 {
		of.end(in.full())
	}
	return v
}

func (in *instance) full() error {
	return description{Name: "InternalError", Message: "out of memory"}.thrown()
}

// module evaluates a source and returns where its exports stand, and its default export, which is a function.
func (in *instance) module(ctx context.Context, source string) (exports, main uint32, err error) {
	at := in.text(ctx, []byte(source))
	if at == 0 && in.f.err == nil {
		return 0, 0, in.full()
	}
	promise := in.f.plain(ctx, "qjs_eval", at, uint32(len(source)), in.text(ctx, []byte(sourceName)), evalModule)
	if err := in.exception(ctx, promise); err != nil {
		return 0, 0, err
	}
	if err := in.jobs(ctx); err != nil {
		return 0, 0, err
	}
	switch in.f.plain(ctx, "qjs_promise_state", promise) {
	case promisePending:
		return 0, 0, &Error{Kind: Thrown, Message: "an await outside of functions never ends"}
	case promiseRejected:
		return 0, 0, in.thrown(ctx, in.f.plain(ctx, "qjs_promise_result", promise))
	}
	exports = in.f.plain(ctx, "qjs_promise_result", promise)
	main = in.f.plain(ctx, "qjs_get_prop_string", exports, in.text(ctx, []byte("default")))
	if err := in.exception(ctx, main); err != nil {
		return 0, 0, err
	}
	if in.f.plain(ctx, "qjs_is_function", main) == 0 && in.f.err == nil {
		return 0, 0, &Error{Kind: Thrown, Message: "the source has no function as its default export: begin it with export default (ctx, args) => ..."}
	}
	in.f.plain(ctx, "free", at)
	return exports, main, in.f.err
}

// load evaluates a source and returns where its default export stands.
func (in *instance) load(ctx context.Context, source string) (main uint32, err error) {
	if _, main, err = in.module(ctx, source); err != nil {
		return 0, err
	}
	in.f.plain(ctx, "qjs_run_gc")
	return main, in.f.err
}

// listExports is a script whose value is a function. It gives the named exports of a module as JSON, with null for what is no JSON.
const listExports = `({ default: _, ...named }) => JSON.stringify(named, (_, v) => v === undefined || typeof v === "function" || typeof v === "symbol" ? null : v)`

// exports evaluates a source and returns what it exports by name.
func (in *instance) exports(ctx context.Context, source string) ([]byte, error) {
	exports, _, err := in.module(ctx, source)
	if err != nil {
		return nil, err
	}
	list := in.f.plain(ctx, "qjs_eval", in.text(ctx, []byte(listExports)), uint32(len(listExports)), in.text(ctx, []byte("exports.js")), evalScript)
	if err := in.exception(ctx, list); err != nil {
		return nil, err
	}
	listed := in.apply(ctx, list, exports)
	if err := in.exception(ctx, listed); err != nil {
		return nil, err
	}
	text, ok := in.read(ctx, listed, MaxResult)
	if in.f.err == nil && !ok {
		return nil, limited(LimitResult, "what the source exports by name has more than %d bytes: export less", MaxResult)
	}
	return text, in.f.err
}

// call calls the default export and returns the result.
func (in *instance) call(of *run, main uint32, text []byte) ([]byte, error) {
	v := in.value(of.ctx, text)
	if v == 0 && in.f.err == nil {
		return nil, in.full()
	}
	if err := in.exception(of.ctx, in.apply(of.ctx, in.engine.start, main, v)); err != nil {
		return nil, err
	}
	if err := in.jobs(of.ctx); err != nil {
		return nil, err
	}
	outcome := in.apply(of.ctx, in.engine.finish)
	if err := in.exception(of.ctx, outcome); err != nil {
		return nil, err
	}
	result, ok := in.read(of.ctx, outcome, maxHeap)
	if in.f.err != nil {
		return nil, in.f.err
	}
	if !ok {
		return nil, in.full()
	}
	return of.outcome(result)
}

// jobs runs what promises wait for, until nothing is left.
func (in *instance) jobs(ctx context.Context) error {
	for in.f.plain(ctx, "qjs_is_job_pending") != 0 {
		if int32(in.f.plain(ctx, "qjs_execute_pending_job")) < 0 {
			return in.thrown(ctx, in.f.plain(ctx, "qjs_get_exception"))
		}
	}
	return in.f.err
}

// maxSaid is how much may be said of what was thrown, in bytes: the JavaScript side cuts its three parts to 2,048 characters.
const maxSaid = 64 << 10

// exception returns the error that a value stands for, nil for any other value.
func (in *instance) exception(ctx context.Context, value uint32) error {
	if in.f.err != nil {
		return in.f.err
	}
	if value == 0 {
		return in.full()
	}
	if in.f.plain(ctx, "qjs_is_exception", value) == 0 {
		return in.f.err
	}
	return in.thrown(ctx, in.f.plain(ctx, "qjs_get_exception"))
}

// thrown returns the error that a thrown value stands for.
func (in *instance) thrown(ctx context.Context, value uint32) error {
	text := in.apply(ctx, in.engine.describe, value)
	if in.f.err == nil && (text == 0 || in.f.plain(ctx, "qjs_is_exception", text) != 0) {
		return in.full()
	}
	said, ok := in.read(ctx, text, maxSaid)
	if in.f.err != nil {
		return in.f.err
	}
	if !ok || len(said) == 0 {
		return in.full()
	}
	return describe(said[1:])
}
