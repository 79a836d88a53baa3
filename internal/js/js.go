// Package js runs functions in JavaScript within bounds: QuickJS-NG as WebAssembly, metered and set back for each call.
// DESIGN.md says why.
package js

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

//go:generate go run ./meter engine/quickjs.wasm engine/metered.wasm

// Bounds of a source and of a run.
const (
	MaxSource    = 64 << 10        // of a source, in bytes
	MaxArguments = 64 << 10        // of the arguments, in bytes
	MaxResult    = 64 << 10        // of the result, in bytes
	MaxDetails   = 64 << 10        // of the details that ctx.fail is given, in bytes
	MaxMessage   = 2048            // of what ctx.fail is given or an exception says, in characters; prelude.js cuts it
	MaxLog       = 4 << 10         // of all that a run logs, in bytes; more is left out
	MaxCall      = 8 << 20         // of what one call of the host gives, and of what it answers, in bytes
	MaxSteps     = 50_000_000      // of a call
	MaxLoad      = 5_000_000       // steps in which a source is loaded
	MaxTime      = 5 * time.Second // of a call, without its waiting
	MaxWaiting   = 64              // runs that wait for a core

	maxHeap     = 32 << 20  // of the engine, in bytes
	maxStack    = 200 << 10 // of the engine, in bytes
	maxDepth    = fanfold.DefaultMaxDepth
	idlePerCore = 2       // instances that are held for later calls
	maxIdle     = 8 << 20 // of an instance that is held, in bytes
	maxLoaded   = 4 << 20 // of memory when a source is loaded, in bytes: each call begins with comparing it
)

//go:embed engine/metered.wasm
var metered []byte

// Host answers a call of a function: name is get, query, children, put, create, patch, delete or uuid, arguments a JSON array
// of what was given. It returns JSON, "" standing for null. It runs in the goroutine of Program.Call and must end when ctx does.
// An *Error of Kind Refused is thrown in the function, which may catch it; any other error ends the run and is what Call returns.
type Host func(ctx context.Context, name string, arguments []byte) ([]byte, error)

// Input is what a call is given.
type Input struct {
	Arguments []byte    // JSON; nil stands for null
	Caller    []byte    // JSON of ctx.caller; nil stands for null
	Now       time.Time // of ctx.now and Date, in milliseconds
	Seed      uint64    // of Math.random
	Host      Host
	Most      int // bytes of the arguments, and of the result; 0 for MaxArguments and MaxResult
}

// Output is what a call gave. It holds figures and the log of a call that failed, too.
type Output struct {
	Result []byte   // JSON; nil where the call failed
	Log    []string // a line for each ctx.log
	Steps  int64    // that were used; the same for the same source, input and answers
	Memory int64    // that the engine had in the end, in bytes
}

// Runtime runs programs. All of it may be used from many goroutines.
type Runtime struct {
	engine   *engine
	blank    *image // before any source
	slots    chan struct{}
	waiting  chan struct{}
	idle     chan *instance
	closed   chan struct{}
	maxSteps int64
	maxTime  time.Duration
}

// Program is a source that is loaded. Until nothing refers to it, it takes memory for what its loading changed: some 130 KiB, and 4 MiB at most.
type Program struct {
	runtime *Runtime
	image   *image
	main    uint32 // where the image has the default export
}

// compiled has the engine of this process, so that a second runtime need not compile it.
var compiled = wazero.NewCompilationCache()

// New compiles the engine, which takes about a second of one core on amd64 and arm64. Elsewhere it is interpreted, and all runs
// are some 20 times slower. The caller closes the runtime.
func New(ctx context.Context) (*Runtime, error) {
	return newRuntime(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compiled), runtime.GOMAXPROCS(0))
}

func newRuntime(ctx context.Context, config wazero.RuntimeConfig, cores int) (*Runtime, error) {
	e, err := newEngine(ctx, config)
	if err != nil {
		return nil, err
	}
	r := &Runtime{engine: e, slots: make(chan struct{}, cores), waiting: make(chan struct{}, MaxWaiting),
		idle: make(chan *instance, idlePerCore*cores), closed: make(chan struct{}), maxSteps: MaxSteps, maxTime: MaxTime}
	if r.blank, err = e.blank(ctx); err != nil {
		return nil, errors.Join(err, e.close(ctx))
	}
	return r, nil
}

// Close waits for the runs that go on, and ends the runtime. Calls that come later are refused.
func (r *Runtime) Close(ctx context.Context) error {
	close(r.closed)
	for range cap(r.slots) {
		r.slots <- struct{}{}
	}
	return r.engine.close(ctx)
}

// placeKey is the key of a runtime in the context of who has a place in it.
type placeKey struct{}

// Enter takes a place among the runs, and waits for one. Runs and loads under the context within go on in it, one after the other or inside of each other. Call leave
// in the end. The error is a Busy where too many wait, ctx's, or Unavailable.
func (r *Runtime) Enter(ctx context.Context) (within context.Context, leave func(), err error) {
	if err := r.enter(ctx); err != nil {
		return nil, nil, err
	}
	return context.WithValue(ctx, placeKey{}, r), func() { <-r.slots }, nil
}

// enter does what Enter does.
func (r *Runtime) enter(ctx context.Context) error {
	select {
	case r.slots <- struct{}{}:
	default:
		select {
		case r.waiting <- struct{}{}:
			defer func() { <-r.waiting }()
		default:
			return fanfold.Errorf(fanfold.Busy, "%d functions run and %d wait: try again, with fewer at once", cap(r.slots), MaxWaiting)
		}
		select {
		case r.slots <- struct{}{}:
		case <-r.closed:
			return errClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-r.closed:
		<-r.slots
		return errClosed
	default:
		return nil
	}
}

var errClosed = fanfold.Errorf(fanfold.Unavailable, "the server is shutting down: try again")

// Load reads a source: a module without imports whose default export is a function. The error is an *Error where the source
// is at fault, else as Call's. Code outside of functions runs once, here, with Date at the epoch and without ctx.
func (r *Runtime) Load(ctx context.Context, source string) (*Program, error) {
	if len(source) > MaxSource {
		return nil, limited(LimitSource, "the source has %d bytes; at most %d are taken: make it shorter", len(source), MaxSource)
	}
	p := &Program{runtime: r}
	err := r.run(ctx, r.blank, &run{left: MaxLoad}, func(in *instance, of *run) error {
		main, err := in.load(of.ctx, source)
		if err != nil {
			return err
		}
		if in.size() > maxLoaded {
			return limited(LimitMemory, "the source takes %d KiB when it is loaded, with %d KiB for the engine; at most %d are taken: build large values in the function",
				in.size()>>10, r.blank.grown*wasmPage>>10, maxLoaded>>10)
		}
		p.main, p.image = main, in.image(r.blank)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Exports returns what a source exports by name: a JSON object without the default export, in which null stands for what is no JSON, such as a
// function. The errors are Load's.
func (r *Runtime) Exports(ctx context.Context, source string) (object []byte, err error) {
	if len(source) > MaxSource {
		return nil, limited(LimitSource, "the source has %d bytes; at most %d are taken: make it shorter", len(source), MaxSource)
	}
	err = r.run(ctx, r.blank, &run{left: MaxLoad}, func(in *instance, of *run) (err error) {
		object, err = in.exports(of.ctx, source)
		return err
	})
	if err == nil && jsondoc.Check(object, maxDepth) != nil {
		err = &Error{Kind: Thrown, Message: "what the source exports by name is no JSON object: it changes what JSON.stringify gives"}
	}
	return object, err
}

// Call runs the program's default export with (ctx, arguments). It waits for a core, and then for the function's end; a promise is
// awaited, and what the function left to other promises runs, too. The error is an *Error, the host's, the cause of ctx's end, or a fanfold.Error of Busy, Unavailable or Internal.
func (p *Program) Call(ctx context.Context, input Input) (Output, error) {
	if most := cmp.Or(input.Most, MaxArguments); len(input.Arguments) > most {
		return Output{}, limited(LimitArguments, "the arguments have %d bytes; at most %d are taken: send less", len(input.Arguments), most)
	}
	text, mark, err := input.text()
	if err != nil {
		return Output{}, err
	}
	var out Output
	of := &run{left: p.runtime.maxSteps, now: input.Now, host: input.Host, mark: mark, most: input.Most}
	err = p.runtime.run(ctx, p.image, of, func(in *instance, of *run) (err error) {
		defer func() { out.Steps, out.Memory = of.used(in), in.size() }()
		out.Result, err = in.call(of, p.main, text)
		return err
	})
	out.Log = of.log
	return out, err
}

// Size returns how many bytes of memory are the program's alone.
func (p *Program) Size() int { return p.image.own }

// run gives body an instance that begins from an image. The instance is held for later where nothing ended body early.
func (r *Runtime) run(ctx context.Context, from *image, of *run, body func(*instance, *run) error) error {
	if ctx.Value(placeKey{}) != r {
		if err := r.enter(ctx); err != nil {
			return err
		}
		defer func() { <-r.slots }()
	}
	in, err := r.instance(ctx)
	if err != nil {
		return err
	}
	in.restore(from)
	within, cancel := context.WithTimeout(ctx, r.maxTime)
	defer cancel()
	of.begin(within, ctx, in)
	err = body(in, of)
	if err != nil && in.broken {
		err = of.ended(err)
	}
	r.release(ctx, in)
	return err
}

// instance returns an instance whose memory is any.
func (r *Runtime) instance(ctx context.Context) (*instance, error) {
	select {
	case in := <-r.idle:
		return in, nil
	default:
		return r.engine.instance(ctx)
	}
}

// release holds an instance for later, or closes it.
func (r *Runtime) release(ctx context.Context, in *instance) {
	if !in.broken && in.size() <= maxIdle {
		select {
		case r.idle <- in:
			return
		default:
		}
	}
	in.close(context.WithoutCancel(ctx))
}

// internal says that the engine did what it never should.
func internal(err error) error {
	return &fanfold.Error{Code: fanfold.Internal, Message: "the engine of functions failed: this is a defect of the server, report it with the function", Err: err}
}

var errShape = errors.New("the engine gave what was not expected")
