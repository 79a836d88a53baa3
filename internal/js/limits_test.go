package js

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
)

func limitOf(t *testing.T, err error) string {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != Limited {
		t.Fatalf("no bound: %v", err)
	}
	return e.Code
}

// TestMessages: a long message of a refusal or of an exception is cut.
func TestMessages(t *testing.T) {
	for _, source := range []string{`(ctx) => ctx.fail("a", "x".repeat(3000))`, `() => { throw "x".repeat(3000) }`, `() => { throw new Error("x".repeat(3000)) }`} {
		_, err := load(t, shared(t), "export default "+source).Call(t.Context(), Input{})
		var e *Error
		if !errors.As(err, &e) || e.Message != strings.Repeat("x", MaxMessage) {
			t.Errorf("%s: %.100v", source, err)
		}
	}
}

// TestBounds: what is as long as a bound is taken, and one byte more is not.
func TestBounds(t *testing.T) {
	r := shared(t)
	source := func(n int) string {
		const text = `export default (ctx, args) => typeof args//`
		return text + strings.Repeat("x", n-len(text))
	}
	p := load(t, r, source(MaxSource))
	if _, err := r.Load(t.Context(), source(MaxSource+1)); limitOf(t, err) != LimitSource {
		t.Error(err)
	}
	call(t, p, Input{Arguments: []byte(`"` + strings.Repeat("a", MaxArguments-2) + `"`)})
	if _, err := p.Call(t.Context(), Input{Arguments: []byte(`"` + strings.Repeat("a", MaxArguments-1) + `"`)}); limitOf(t, err) != LimitArguments {
		t.Error(err)
	}
	result := load(t, r, `export default (ctx, n) => "x".repeat(n - 2)`)
	call(t, result, Input{Arguments: fmt.Append(nil, MaxResult)})
	if _, err := result.Call(t.Context(), Input{Arguments: fmt.Append(nil, MaxResult+1)}); limitOf(t, err) != LimitResult {
		t.Error(err)
	}
	details := load(t, r, `export default (ctx, n) => ctx.fail("x", "y", "x".repeat(n - 2))`)
	_, err := details.Call(t.Context(), Input{Arguments: fmt.Append(nil, MaxDetails)})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Failed || len(e.Details) != MaxDetails {
		t.Error(err)
	}
	if _, err := details.Call(t.Context(), Input{Arguments: fmt.Append(nil, MaxDetails+1)}); limitOf(t, err) != LimitDetails {
		t.Error(err)
	}
}

// TestBoundsOfHostCalls: what a call of the host is given, and what it answers, has at most MaxCall bytes.
func TestBoundsOfHostCalls(t *testing.T) {
	r := *shared(t)
	r.maxSteps = 1 << 40
	p := load(t, &r, `export default (ctx, n) => ctx.put("x".repeat(n - 4)).length`)
	given := 0
	host := func(_ context.Context, _ string, arguments []byte) ([]byte, error) {
		given = len(arguments)
		return []byte(`"abc"`), nil
	}
	if got, _ := call(t, p, Input{Arguments: fmt.Append(nil, MaxCall), Host: host}); got != "3" || given != MaxCall {
		t.Error(got, given)
	}
	given = 0
	if _, err := p.Call(t.Context(), Input{Arguments: fmt.Append(nil, MaxCall+1), Host: host}); limitOf(t, err) != LimitCall || given != 0 {
		t.Error(err, given)
	}
	long := answering(`"` + strings.Repeat("x", MaxCall-2) + `"`)
	if got, _ := call(t, p, Input{Arguments: []byte("9"), Host: long}); got != fmt.Sprint(MaxCall-2) {
		t.Error(got)
	}
	if _, err := p.Call(t.Context(), Input{Arguments: []byte("9"), Host: answering(`"` + strings.Repeat("x", MaxCall-1) + `"`)}); limitOf(t, err) != LimitCall {
		t.Error(err)
	}
}

// TestLoaded: what a source holds when it is loaded is bounded, for each program has it and each call compares it.
func TestLoaded(t *testing.T) {
	const most = maxLoaded - 2<<20 // without the engine's own and what allocating leaves between
	call(t, load(t, shared(t), fmt.Sprintf(`const a = new Uint8Array(%d).fill(7); export default () => a[a.length - 1]`, most)), Input{})
	for _, size := range []int{maxLoaded, 24 << 20} {
		_, err := shared(t).Load(t.Context(), fmt.Sprintf(`const a = new Uint8Array(%d).fill(7); export default () => a[0]`, size))
		if limitOf(t, err) != LimitMemory || !strings.Contains(err.Error(), "when it is loaded") {
			t.Errorf("%d: %v", size, err)
		}
	}
	if _, err := shared(t).Load(t.Context(), `const a = new Uint8Array(48e6); export default () => 1`); limitOf(t, err) != LimitMemory {
		t.Error(err)
	}
}

// TestMemoryIsGivenBack: what an ended instance had is gone at once, without a garbage collection.
func TestMemoryIsGivenBack(t *testing.T) {
	r := shared(t)
	in, err := r.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in.restore(r.blank)
	if in.memory.Grow(640); in.memory.Size() > 40<<20 {
		t.Errorf("an instance has %d bytes", in.memory.Size())
	}
	memory, err := newLinear(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if got := memory.Reallocate(1<<20 + 1); got != nil {
		t.Errorf("%d bytes of a MiB", len(got))
	}
	memory.Free()
	memory.Free()
	if got := memory.Reallocate(1); got != nil {
		t.Error("memory that is gone is given")
	}
	in.close(context.Background())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := load(t, r, `export default () => { const all = []; for (;;) all.push(new Uint8Array(2 ** 20)) }`)
	for range 10 {
		if _, err := p.Call(t.Context(), Input{}); limitOf(t, err) != LimitMemory {
			t.Fatal(err)
		}
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 8<<20 {
		t.Errorf("10 runs of 32 MiB took %d bytes of the Go heap", after.TotalAlloc-before.TotalAlloc)
	}
	if _, err := newLinear(-1); err == nil {
		t.Error("less than nothing is given")
	}
}

// TestTraps: a trap that is no bound of the run is a defect, but for the stack that wazero bounds.
func TestTraps(t *testing.T) {
	if limitOf(t, new(run).ended(errors.New("wasm error: stack overflow\nwasm stack trace: ..."))) != LimitStack {
		t.Error("no bound")
	}
	var e *fanfold.Error
	if err := new(run).ended(errors.New("wasm error: unreachable")); !errors.As(err, &e) || e.Code != fanfold.Internal {
		t.Error(err)
	}
	r := shared(t)
	p := load(t, r, `export default (ctx) => ctx.get("a")`)
	_, err := p.Call(t.Context(), Input{Host: func(context.Context, string, []byte) ([]byte, error) { panic("a host's defect") }})
	if !errors.As(err, &e) || e.Code != fanfold.Internal || !strings.Contains(err.Error(), "a host's defect") {
		t.Error(err)
	}
	if got, _ := call(t, p, Input{Host: answering("4")}); got != "4" {
		t.Error(got)
	}
	if _, err := p.Call(t.Context(), Input{}); err == nil || err.Error() != "nothing answers ctx.get here" {
		t.Error(err)
	}
}

// TestLog: a run logs 4 KiB, whatever it says, and is not ended by more.
func TestLog(t *testing.T) {
	_, out := call(t, load(t, shared(t), `export default (ctx) => { for (let i = 0; i < 100; i++) ctx.log("ä".repeat(40)) }`), Input{})
	n := 0
	for _, line := range out.Log {
		n += len(line) + 1
		if !strings.HasPrefix(strings.Repeat("ä", 40), line) {
			t.Errorf("%q", line)
		}
	}
	if n > MaxLog || n < MaxLog-2 {
		t.Errorf("%d bytes", n)
	}
	_, out = call(t, load(t, shared(t), `export default (ctx) => { ctx.log("x".repeat(1e6)); ctx.log("y") }`), Input{})
	if len(out.Log) != 1 || len(out.Log[0]) != MaxLog-1 {
		t.Errorf("%d lines", len(out.Log))
	}
}

// TestSteps: a run has MaxSteps, a load has MaxLoad.
func TestSteps(t *testing.T) {
	p := load(t, shared(t), `export default () => { for (;;); }`)
	out, err := p.Call(t.Context(), Input{})
	if limitOf(t, err) != LimitSteps || out.Steps != MaxSteps {
		t.Error(err, out.Steps)
	}
	if _, err := shared(t).Load(t.Context(), `for (;;); export default () => 1`); limitOf(t, err) != LimitSteps || !strings.Contains(err.Error(), fmt.Sprint(MaxLoad)) {
		t.Error(err)
	}
}

// TestTime: a run whose host takes too long ends, though the function goes on; so does one whose caller has gone.
func TestTime(t *testing.T) {
	r := *shared(t)
	r.maxTime = 200 * time.Millisecond
	p := load(t, &r, `export default (ctx) => { for (;;) try { ctx.get() } catch {} }`)
	waits := func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	began := time.Now()
	if _, err := p.Call(t.Context(), Input{Host: waits}); limitOf(t, err) != LimitTime || time.Since(began) < r.maxTime {
		t.Error(err, time.Since(began))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	gone := func(context.Context, string, []byte) ([]byte, error) {
		calls++
		cancel()
		return []byte("1"), nil
	}
	if _, err := p.Call(ctx, Input{Host: gone}); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Error(err, calls)
	}
	loop := load(t, shared(t), `export default (ctx) => { ctx.get(); for (;;); }`)
	again, leave := context.WithCancel(t.Context())
	defer leave()
	out, err := loop.Call(again, Input{Host: func(context.Context, string, []byte) ([]byte, error) { leave(); return nil, nil }})
	if !errors.Is(err, context.Canceled) || out.Steps > 2*slice {
		t.Error(err, out.Steps)
	}
}

// TestPlaces: one run a core goes on, MaxWaiting wait, others are refused.
func TestPlaces(t *testing.T) {
	suite.Concurrent(t)
	r, err := newRuntime(t.Context(), wazero.NewRuntimeConfig(), 2)
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, r, `export default (ctx) => ctx.get()`)
	inside, goOn := make(chan struct{}, 100), make(chan struct{})
	host := func(context.Context, string, []byte) ([]byte, error) {
		inside <- struct{}{}
		<-goOn
		return []byte("1"), nil
	}
	var running sync.WaitGroup
	start := func() {
		running.Go(func() {
			if _, err := p.Call(context.Background(), Input{Host: host}); err != nil {
				t.Error(err)
			}
		})
	}
	start()
	start()
	<-inside
	<-inside
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := p.Call(gone, Input{Host: host}); !errors.Is(err, context.Canceled) || len(r.waiting) != 0 {
		t.Errorf("%v, and %d wait", err, len(r.waiting))
	}
	for range MaxWaiting {
		start()
	}
	for len(r.waiting) < MaxWaiting {
		time.Sleep(time.Millisecond)
	}
	var e *fanfold.Error
	if _, err := p.Call(t.Context(), Input{Host: host}); !errors.As(err, &e) || e.Code != fanfold.Busy {
		t.Error(err)
	}
	if len(inside) != 0 {
		t.Errorf("%d more run", len(inside))
	}
	close(goOn)
	running.Wait()
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := p.Call(t.Context(), Input{Host: host}); !errors.As(err, &e) || e.Code != fanfold.Unavailable {
		t.Error(err)
	}
	if _, err := r.Load(t.Context(), `export default () => 1`); !errors.As(err, &e) || e.Code != fanfold.Unavailable {
		t.Error(err)
	}
}

// TestInstances: at most two a core are held, and none that grew large.
func TestInstances(t *testing.T) {
	r := shared(t)
	large := load(t, r, `export default () => { const a = new Uint8Array(16e6); return a.length }`)
	call(t, large, Input{})
	var held []*instance
	for len(r.idle) > 0 {
		held = append(held, <-r.idle)
	}
	if len(held) > cap(r.idle) || cap(r.idle) != idlePerCore*cap(r.slots) {
		t.Errorf("%d are held of %d", len(held), cap(r.idle))
	}
	for _, in := range held {
		if in.size() > maxIdle {
			t.Errorf("one of %d bytes is held", in.size())
		}
		r.idle <- in
	}
}
