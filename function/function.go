//go:build !nofunctions

package function

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/js"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// Functions runs functions. Its methods may be called from many goroutines. The runtime starts with the first function.
type Functions struct {
	ran     func(Run)
	runtime func() (*js.Runtime, error)
	life    context.Context
	end     context.CancelFunc

	mu       sync.Mutex
	started  *js.Runtime
	programs map[string]*js.Program // by source
	held     int                    // bytes of programs
	stats    map[string]*writer.FunctionStats
}

// New returns functions whose runs ran is told of; nil for nobody. The caller closes them.
func New(ran func(Run)) *Functions {
	f := &Functions{ran: ran, programs: map[string]*js.Program{}, stats: map[string]*writer.FunctionStats{}}
	f.life, f.end = context.WithCancel(context.Background())
	f.runtime = sync.OnceValues(f.start)
	return f
}

// start compiles the engine, which takes about a second.
func (f *Functions) start() (*js.Runtime, error) {
	r, err := js.New(f.life)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = r
	return r, nil
}

// Close ends the runtime, once the runs that go on have ended.
func (f *Functions) Close(ctx context.Context) error {
	f.mu.Lock()
	r := f.started
	f.mu.Unlock()
	defer f.end()
	if r == nil {
		return nil
	}
	return r.Close(ctx)
}

// Stats returns the figures of a function.
func (f *Functions) Stats(name string) writer.FunctionStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.stats[name]; s != nil {
		return *s
	}
	return writer.FunctionStats{}
}

// Check returns an Unprocessable that lists the mistakes in the sources of a model's functions, with line and column of the source.
func (f *Functions) Check(ctx context.Context, m *model.Model) error {
	var problems []fanfold.Problem
	for _, fn := range m.Functions {
		_, err := f.program(ctx, fn)
		var e *js.Error
		switch {
		case errors.As(err, &e):
			problems = append(problems, fanfold.Problem{Path: "functions." + fn.Name + ".source", Line: e.Line, Column: e.Column, Detail: e.Message})
		case err != nil:
			return err
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return &fanfold.Error{Code: fanfold.Unprocessable, Message: "the sources of functions have mistakes", Problems: problems}
}

// Bounds of the loaded sources that are held: enough for two models of sources that make little when they are loaded.
const (
	maxPrograms     = 200
	maxProgramBytes = 128 << 20
)

// program returns a function's source as it is loaded. It loads each source once.
func (f *Functions) program(ctx context.Context, fn *model.Function) (*js.Program, error) {
	f.mu.Lock()
	p := f.programs[fn.Source]
	f.mu.Unlock()
	if p != nil {
		return p, nil
	}
	r, err := f.runtime()
	if err != nil {
		return nil, err
	}
	if p, err = r.Load(ctx, fn.Source); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.programs) >= maxPrograms || f.held+p.Size() > maxProgramBytes {
		clear(f.programs)
		f.held = 0
	}
	if f.programs[fn.Source] == nil { // else another run was faster
		f.held += p.Size()
	}
	f.programs[fn.Source] = p
	return p, nil
}

// Enter takes a place for runs: see writer.Functions.
func (f *Functions) Enter(ctx context.Context) (within context.Context, leave func(), err error) {
	r, err := f.runtime()
	if err != nil {
		return nil, nil, err
	}
	return r.Enter(ctx)
}

// Run runs a function until it ends: see writer.Functions.
func (f *Functions) Run(ctx context.Context, call writer.FunctionCall) (writer.FunctionRun, error) {
	began := time.Now()
	p, err := f.program(ctx, call.Function)
	if err != nil {
		return writer.FunctionRun{}, errorOf(err, nil)
	}
	h := newHost(call.World, call.Model)
	out, err := p.Call(ctx, js.Input{Arguments: call.Input, Caller: call.Caller, Now: call.Now, Seed: call.Seed, Host: h.answer, Most: call.Most})
	err = errorOf(err, h.thrown)
	f.count(Run{Function: call.Function.Name, Steps: out.Steps, Took: time.Since(began), Reason: reasonOf(err)})
	return writer.FunctionRun{Result: out.Result, Log: out.Log, Steps: out.Steps, Memory: out.Memory, Reads: h.reads}, err
}

// reasonOf returns the code of an error of the function's own, "" for others: they are no matter of the function.
func reasonOf(err error) fanfold.Code {
	if code := fanfold.CodeOf(err); slices.Contains([]fanfold.Code{fanfold.FunctionFailed, fanfold.FunctionError, fanfold.FunctionLimit}, code) {
		return code
	}
	return ""
}

// count counts a run.
func (f *Functions) count(r Run) {
	if f.ran != nil {
		f.ran(r)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats[r.Function]
	if s == nil {
		s = &writer.FunctionStats{}
		f.stats[r.Function] = s
	}
	s.Calls++
	s.LastCalled = time.Now()
	if r.Reason != "" {
		s.Errors++
	}
}

// errorOf returns an error of the runtime as one of the store. thrown has the errors that the function was told of.
func errorOf(err error, thrown map[*js.Error]error) error {
	var e *js.Error
	if !errors.As(err, &e) {
		return err
	}
	out := fanfold.Errorf(fanfold.FunctionError, "%s", e.Message)
	out.Line, out.Column, out.Function = e.Line, e.Column, &fanfold.FunctionFault{}
	switch e.Kind {
	case js.Refused:
		if was := thrown[e]; was != nil {
			return was
		}
	case js.Failed:
		out.Code, out.Function.Code, out.Function.Details = fanfold.FunctionFailed, e.Code, e.Details
		out.Line, out.Column = 0, 0
	case js.Limited:
		out.Code, out.Function.Limit = fanfold.FunctionLimit, e.Code
	case js.Thrown:
		if e.Line > 0 {
			out.Message = fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
		}
	}
	return out
}
