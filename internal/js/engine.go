package js

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

//go:embed prelude.js
var prelude string

// intrinsics has what qjs_init2 sets up: all but performance, DOMException, atob and btoa.
const intrinsics = 1<<10 - 1

// Flags of qjs_eval.
const (
	evalScript = 0
	evalModule = 1
)

// States of a promise.
const (
	promisePending = iota
	promiseFulfilled
	promiseRejected
)

// engine is the compiled module with what it imports.
type engine struct {
	wasm     wazero.Runtime
	compiled wazero.CompiledModule
	// These are the places of values that the prelude and the runtime made; they are the same in every image.
	start, finish, describe, undefined, scratch uint32
}

func newEngine(ctx context.Context, config wazero.RuntimeConfig) (*engine, error) {
	e := &engine{wasm: wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(api.CoreFeaturesV2))}
	err := e.imports(ctx)
	if err == nil {
		e.compiled, err = e.wasm.CompileModule(ctx, metered)
	}
	if err != nil {
		return nil, internal(fmt.Errorf("%w; %w", err, e.wasm.Close(ctx)))
	}
	return e, nil
}

func (e *engine) close(ctx context.Context) error { return e.wasm.Close(ctx) }

// instance returns a fresh instance. Only an image makes it usable.
func (e *engine) instance(ctx context.Context) (*instance, error) {
	most, _ := e.compiled.ExportedMemories()["memory"].Max()
	memory, err := newLinear(int(most) * wasmPage)
	if err != nil {
		return nil, err
	}
	mod, err := e.wasm.InstantiateModule(experimental.WithMemoryAllocator(ctx, memory), e.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		memory.Free()
		return nil, internal(err)
	}
	return newInstance(e, mod)
}

// blank returns the image before any source. It sets the places of engine.
func (e *engine) blank(ctx context.Context) (*image, error) {
	in, err := e.instance(ctx)
	if err != nil {
		return nil, err
	}
	defer in.close(ctx)
	of := &run{left: MaxLoad}
	of.begin(ctx, ctx, in)
	in.f.plain(of.ctx, "_initialize")
	if got := in.f.plain(of.ctx, "qjs_init2", intrinsics); got != 0 {
		return nil, internal(fmt.Errorf("the engine does not start: %d", got))
	}
	in.f.plain(of.ctx, "qjs_set_memory_limit", maxHeap)
	in.f.plain(of.ctx, "qjs_set_max_stack_size", maxStack)
	return e.prepared(of, in)
}

// prepared evaluates the prelude in an instance and returns its image.
func (e *engine) prepared(of *run, in *instance) (*image, error) {
	ctx := of.ctx
	e.scratch = in.f.plain(ctx, "malloc", 8)
	e.undefined = in.f.plain(ctx, "qjs_get_undefined")
	made := in.f.plain(ctx, "qjs_eval", in.text(ctx, []byte(prelude)), uint32(len(prelude)), in.text(ctx, []byte("prelude.js")), evalScript)
	host := in.f.plain(ctx, "qjs_new_host_function", in.text(ctx, []byte("host")), 4, 2)
	parts := in.apply(ctx, made, host)
	if in.f.err == nil && in.f.plain(ctx, "qjs_is_exception", parts) != 0 {
		text, _ := in.read(ctx, in.f.plain(ctx, "qjs_get_exception"), maxSaid)
		return nil, internal(fmt.Errorf("the prelude fails: %s", text))
	}
	for i, place := range []*uint32{&e.start, &e.finish, &e.describe} {
		*place = in.f.plain(ctx, "qjs_get_prop_uint32", parts, uint32(i))
		if in.f.plain(ctx, "qjs_is_function", *place) == 0 && in.f.err == nil {
			in.f.err = fmt.Errorf("%w by the prelude", errShape)
		}
	}
	in.f.plain(ctx, "qjs_run_gc")
	if in.f.err != nil {
		return nil, internal(in.f.err)
	}
	return in.image(nil), nil
}

// imports defines what the module imports. Everything of the world but the calls of the host and the time of a run is a constant.
func (e *engine) imports(ctx context.Context) error {
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	env := e.wasm.NewHostModuleBuilder("env")
	constant(env, "host_get_timezone_offset", 0, i32, i32)
	constant(env, "host_module_normalize", 0, i32, i32)
	constant(env, "host_module_load", 0, i32, i32)
	define(env, "host_interrupt", func(ctx context.Context, _ api.Module, stack []uint64) {
		stack[0] = 1
		if of, ok := ctx.Value(runKey{}).(*run); ok && of.goesOn() {
			stack[0] = 0
		}
	}, i32)
	define(env, "host_call", hostCall, i32, i32, i32, i32, i32, i32)
	env.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(context.Context, api.Module, []uint64) {}),
		[]api.ValueType{i32, i32, i32}, nil).Export("host_promise_rejection")
	if _, err := env.Instantiate(ctx); err != nil {
		return err
	}
	const badDescriptor = 8
	wasi := e.wasm.NewHostModuleBuilder("wasi_snapshot_preview1")
	constant(wasi, "fd_close", badDescriptor, i32)
	constant(wasi, "fd_fdstat_get", badDescriptor, i32, i32)
	constant(wasi, "fd_seek", badDescriptor, i32, i64, i32, i32)
	constant(wasi, "fd_write", badDescriptor, i32, i32, i32, i32)
	define(wasi, "clock_time_get", clock, i32, i64, i32, i32)
	define(wasi, "random_get", func(_ context.Context, mod api.Module, stack []uint64) {
		room, ok := mod.Memory().Read(uint32(stack[0]), uint32(stack[1]))
		clear(room)
		stack[0] = failed(ok)
	}, i32, i32, i32)
	_, err := wasi.Instantiate(ctx)
	return err
}

// define adds a function to a module; the last of the types is its result's.
func define(to wazero.HostModuleBuilder, name string, fn api.GoModuleFunc, types ...api.ValueType) {
	last := len(types) - 1
	to.NewFunctionBuilder().WithGoModuleFunction(fn, types[:last], types[last:]).Export(name)
}

// constant adds a function that does nothing and returns a value.
func constant(to wazero.HostModuleBuilder, name string, value uint64, params ...api.ValueType) {
	define(to, name, func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = value }, append(params, api.ValueTypeI32)...)
}

func failed(ok bool) uint64 {
	const fault = 21
	if ok {
		return 0
	}
	return fault
}

// clock gives the time of the run's input in nanoseconds, whatever clock is asked.
func clock(ctx context.Context, mod api.Module, stack []uint64) {
	var now uint64
	if of, ok := ctx.Value(runKey{}).(*run); ok && !of.now.IsZero() {
		now = uint64(of.now.UnixMilli()) * 1_000_000
	}
	stack[0] = failed(mod.Memory().WriteUint64Le(uint32(stack[2]), now))
}

// hostCall answers a call of the prelude's host function: its arguments are two strings.
func hostCall(ctx context.Context, mod api.Module, stack []uint64) {
	argc, argv := uint32(stack[3]), uint32(stack[4])
	stack[0] = 0
	of, ok := ctx.Value(runKey{}).(*run)
	if !ok {
		return
	}
	values, ok := mod.Memory().Read(argv, 8)
	if argc != 2 || !ok {
		of.end(internal(errShape))
		return
	}
	name := binary.LittleEndian.Uint32(values)
	given := binary.LittleEndian.Uint32(values[4:])
	stack[0] = uint64(of.in.answered(of, name, given))
}
