package writer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// stage is a store of one document, c/d, whose functions are Go. Its snapshots show revision after revision.
type stage struct {
	Functions
	Models
	ReadModel
	Appender
	Leader

	model   *model.Model
	rev     uint64 // of the document, and the last event
	last    *shot
	run     func(world World) error
	refuses bool // the log refuses every batch, because the document has changed
	stored  [][]fanfold.Write
}

// shot is a snapshot of a stage.
type shot struct {
	Snapshot
	rev    uint64
	closed chan struct{}
}

func (s *shot) Applied() uint64 { return s.rev }
func (s *shot) Close()          { close(s.closed) }
func (s *shot) Get(key fanfold.Key, _ fanfold.View) (*fanfold.Document, error) {
	if key.ID != "d" {
		return nil, nil
	}
	return &fanfold.Document{Key: key, Revision: fanfold.Revision(s.rev), Body: fmt.Appendf(nil, `{"id":"d","n":%d}`, s.rev)}, nil
}
func (s *shot) Tombstone(fanfold.Key) (fanfold.Revision, error) { return 0, nil }
func (s *shot) See(_ *Sender, key fanfold.Key, view fanfold.View, _ int) (*fanfold.Document, error) {
	return s.Get(key, view)
}
func (s *shot) Ask(context.Context, *Sender, Question, func(*fanfold.Document) error) error {
	return nil
}

func (s *stage) Open() (Sighting, error) {
	one := &shot{rev: s.rev, closed: make(chan struct{})}
	s.last = one
	return one, nil
}
func (s *stage) Model() (*model.Model, uint64, model.Reserved) { return s.model, 1, nil }
func (s *stage) Wait(context.Context, uint64) error            { return nil }
func (s *stage) Applied() uint64                               { return s.rev }
func (s *stage) Fence(context.Context) (uint64, error)         { return s.rev, nil }
func (s *stage) Close(context.Context) error                   { return nil }
func (s *stage) Enter(ctx context.Context) (context.Context, func(), error) {
	return ctx, func() {}, nil
}
func (s *stage) Run(_ context.Context, call FunctionCall) (FunctionRun, error) {
	return FunctionRun{Result: json.RawMessage(`1`)}, s.run(call.World)
}
func (s *stage) AppendAll(_ context.Context, _ string, writes []fanfold.Write) (uint64, error) {
	if s.refuses {
		s.rev++
		return 0, fanfold.AtOperation(&fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(s.rev)}, len(writes)-1)
	}
	s.stored = append(s.stored, writes)
	return s.rev + 1, nil
}

// easy is an Inspector to whom no write is too much.
type easy struct{ Inspector }

func (easy) MayExceed(context.Context, []*fanfold.Event, int64) (bool, error) { return false, nil }

// newStage returns a stage and its writer.
func newStage(t *testing.T) (*stage, Caller) {
	t.Helper()
	s := &stage{model: model.Empty(), rev: 7}
	s.model.Functions = []*model.Function{{Name: "f", Call: []string{model.RoleWrite}}}
	s.model.Index()
	w := New(Dependencies{Functions: s, Models: s, ReadModel: s, Log: s, Leader: s, Sights: s, Inspector: easy{}}, Options{MaxEvent: 1 << 20})
	t.Cleanup(w.Close)
	return s, Caller{w}
}

var stageKey = fanfold.Key{Collection: "c", ID: "d"}

// request calls the stage's function.
var request = CallRequest{Function: "f", Request: Request{Intent: Intent{By: access.Node}}}

// TestAttemptsAreBounded: a call ends after maxAttempts, where others always change what it has read.
func TestAttemptsAreBounded(t *testing.T) {
	s, c := newStage(t)
	s.refuses = true
	runs := 0
	s.run = func(world World) error {
		runs++
		_, err := world.Write(&Operation{Kind: Patch, Key: stageKey, PatchType: fanfold.MergePatch, Content: []byte(`{"a":1}`)})
		return err
	}
	_, err := c.Call(t.Context(), request)
	if fanfold.CodeOf(err) != fanfold.Busy || runs != maxAttempts || !strings.Contains(err.Error(), "20 attempts") {
		t.Errorf("%d runs, %v", runs, err)
	}
}

// TestLongCallsHoldUpNobody: a run does not hold a snapshot, nor the locks of what it has read, for as long as it computes. It begins again where the next snapshot
// shows something else than it has read.
func TestLongCallsHoldUpNobody(t *testing.T) {
	s, c := newStage(t)
	runs := 0
	s.run = func(world World) error {
		runs++
		before, err := world.Get(stageKey, false)
		if err != nil {
			return err
		}
		if runs <= 2 {
			<-s.last.closed // while the function computes
			_, unlock, err := c.Writer.keys.lock(t.Context(), stageKey)
			if err != nil {
				return err
			}
			unlock(0)
			s.rev++
		}
		if _, err := world.Get(fanfold.Key{Collection: "c", ID: "other"}, false); err != nil {
			return err
		}
		_, err = world.Write(&Operation{Kind: Put, Key: fanfold.Key{Collection: "c", ID: "new"}, Content: before[:0:0]})
		if fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("an empty body: %v", err)
		}
		_, err = world.Write(&Operation{Kind: Put, Key: fanfold.Key{Collection: "c", ID: "new"}, Content: []byte(`{}`)})
		return err
	}
	if _, err := c.Call(t.Context(), request); err != nil || runs != 3 || len(s.stored) != 1 {
		t.Fatalf("%d runs, %v, %v", runs, err, s.stored)
	}
	var got []string
	for _, w := range s.stored[0] {
		got = append(got, fmt.Sprint(w.Event.Kind, " ", w.Event.Key, " ", w.Expect.Set, w.Expect.Rev, " ", w.Expect.Folded))
	}
	if want := "call / false 0 0, put c/new true 0 9, check c/d true 9 9, check c/other true 0 9"; strings.Join(got, ", ") != want {
		t.Errorf("stored are %s\nwant %s", strings.Join(got, ", "), want)
	}
}
