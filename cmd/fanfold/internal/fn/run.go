//go:build !nofunctions

package fn

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/js"
	"github.com/fanfold/fanfold/node"
)

//go:embed tests.js
var testsScript string

// started is the time at which the functions of tests run.
var started = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// exports returns what a source exports by name, as a JSON object. An *js.Error is the source's.
func exports(ctx context.Context, source string) (object []byte, err error) {
	runtime, err := js.New(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, runtime.Close(context.WithoutCancel(ctx))) }()
	return runtime.Exports(ctx, source)
}

// Run runs the tests in the order of their file, each on an empty store of its own, and calls report after each. It returns how many failed. Its error is
// Invalid for a file that cannot be loaded, or report's.
func (s *Suite) Run(ctx context.Context, report func(Result) error) (failed int, err error) {
	runtime, err := js.New(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, runtime.Close(context.WithoutCancel(ctx))) }()
	program, err := runtime.Load(ctx, s.text+testsScript)
	if err != nil {
		return 0, s.misread(err)
	}
	listed, err := program.Call(ctx, js.Input{Now: started})
	var names []string
	if err == nil {
		err = json.Unmarshal(listed.Result, &names)
	}
	switch {
	case err != nil:
		return 0, s.misread(err)
	case len(names) == 0:
		return 0, fanfold.Errorf(fanfold.Invalid, `%s has no test: begin it with test("it does", t => { ... })`, s.Path)
	case len(names) > MaxTests:
		return 0, fanfold.Errorf(fanfold.Invalid, "%s has %d tests, and %d is the most", s.Path, len(names), MaxTests)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.within, fanfold.Errorf(fanfold.Invalid, "the tests of %s take longer than %v: do less in them", s.Path, s.within))
	defer cancel()
	for i, name := range names {
		r, err := s.one(ctx, program, i)
		if ctx.Err() != nil {
			return failed, context.Cause(ctx)
		}
		if err != nil {
			return failed, err
		}
		if r.Test = name; !r.OK {
			failed++
		}
		if err := report(r); err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// misread returns the Invalid for tests that cannot be loaded.
func (s *Suite) misread(err error) error {
	var e *js.Error
	if errors.As(err, &e) && e.Line > s.lines() {
		err = &js.Error{Kind: e.Kind, Message: e.Message + " (at the end of the file: something is not closed, or declared twice)"}
	}
	return inFile(s.Path, err)
}

// lines returns how many lines the file of tests has.
func (s *Suite) lines() int { return strings.Count(s.text, "\n") + 1 }

// one runs a test on a store of its own.
func (s *Suite) one(ctx context.Context, program *js.Program, at int) (r Result, err error) {
	dir, err := os.MkdirTemp("", "fanfold-fn-test-")
	if err != nil {
		return r, fanfold.Wrap(err, fanfold.Unavailable, "cannot make a temporary directory: %v", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg := node.Config{Data: dir, Listen: "127.0.0.1:0", Durability: "interval", Logger: slog.New(slog.DiscardHandler), Fsync: func(*os.File) error { return nil }}
	var runs atomic.Uint64
	cfg.Writer.Moment = func() (time.Time, uint64) { return started, runs.Add(1) }
	n, err := node.Open(ctx, cfg)
	if err != nil {
		return r, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	err = n.Run(running, func(ctx context.Context) error {
		defer stop()
		r, err = s.on(ctx, n.URL(), program, at)
		return err
	})
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil
	}
	return r, err
}

// on runs a test on the store at a URL.
func (s *Suite) on(ctx context.Context, url string, program *js.Program, at int) (r Result, err error) {
	c, err := client.New(url, client.Options{NoKeys: true})
	if err != nil {
		return r, err
	}
	defer c.Close()
	if s.model != nil {
		if _, err := c.ApplyModel(ctx, s.model, client.ModelOptions{}); err != nil {
			return r, err
		}
	}
	m, err := c.Model(ctx)
	if err != nil {
		return r, err
	}
	patch, err := s.patch(m.Source)
	if err == nil {
		_, err = c.PatchModel(ctx, patch, client.ModelOptions{AllowRemoval: true})
	}
	if err != nil {
		return r, err
	}
	began := time.Now()
	out, err := program.Call(ctx, js.Input{Arguments: []byte(strconv.Itoa(at)), Now: started, Host: (&store{c}).answer})
	r = s.result(out.Result, err)
	r.Milliseconds = time.Since(began).Milliseconds()
	return r, nil
}

// frame is where a line of a stack has its place in the tests.
var frame = regexp.MustCompile(`function\.js:(\d+):(\d+)`)

// result returns what the outcome of a test stands for.
func (s *Suite) result(text []byte, err error) (r Result) {
	if err != nil {
		return Result{Message: fanfold.MessageOf(err)}
	}
	var failure struct {
		Message, Stack   string
		Expected, Actual json.RawMessage
	}
	if bytes.Equal(text, []byte("null")) {
		return Result{OK: true}
	}
	if err := json.Unmarshal(text, &failure); err != nil {
		return Result{Message: fmt.Sprintf("the test's failure cannot be read: %v", err)}
	}
	r = Result{Message: failure.Message, Expected: failure.Expected, Actual: failure.Actual}
	for _, m := range frame.FindAllStringSubmatch(failure.Stack, -1) {
		line, _ := strconv.Atoi(m[1]) //nolint:errcheck // digits
		if line <= s.lines() {
			r.Line = line
			r.Column, _ = strconv.Atoi(m[2]) //nolint:errcheck // digits
			break
		}
	}
	return r
}
