package writer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// someNodes is what is known of the live nodes.
type someNodes []NodeFolds

// Folds implements Nodes.
func (n someNodes) Folds(context.Context) ([]NodeFolds, error) {
	if n == nil {
		return nil, fanfold.Errorf(fanfold.Unavailable, "the nodes are not known")
	}
	return n, nil
}

// upgraded is a log, the models and the inspector of a store whose model, folded by version 8, is event 3's.
type upgraded struct {
	Appender
	Models
	Inspector
	proposal *model.Proposal
	appended []*fanfold.Event
}

func (u *upgraded) Append(_ context.Context, ev *fanfold.Event, expect fanfold.Expect) (uint64, error) {
	if expect.Rev != 3 || !expect.Set {
		return 0, errors.New("the event has another condition")
	}
	u.appended = append(u.appended, ev)
	return 4, nil
}

func (u *upgraded) Model() (m *model.Model, seq uint64, reserved model.Reserved) {
	m = model.Empty()
	m.Fold = 8
	return m, 3, nil
}

func (u *upgraded) Proposal() (*model.Proposal, uint64)          { return u.proposal, 3 }
func (u *upgraded) Objections(uint64) ([]fanfold.Problem, error) { return nil, nil }
func (u *upgraded) Preview(context.Context, *model.Model, model.PreviewOptions) (*model.Preview, error) {
	return &model.Preview{}, nil
}

// writer returns a writer of the store.
func (u *upgraded) writer(nodes someNodes) *Writer {
	return New(Dependencies{Log: u, Models: u, Inspector: u, Nodes: nodes, ReadModel: foldedAll{}}, Options{MaxEvent: 1 << 20})
}

// TestUpgradeAsksAllNodes: a version is set only where every live node knows it. A refusal names those that do not.
func TestUpgradeAsksAllNodes(t *testing.T) {
	u := &upgraded{}
	both := someNodes{{ID: "one", Address: "10.0.0.1:8080", Oldest: 8, Newest: 9}, {ID: "two", Address: "10.0.0.2:8080", Oldest: 8, Newest: 9}}
	old := someNodes{both[0], {ID: "two", Address: "10.0.0.2:8080", Oldest: 8, Newest: 8}}
	_, err := u.writer(old).Upgrade(t.Context(), UpgradeRequest{Version: 9, By: access.Node})
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.Conflict || len(e.Problems) != 1 || e.Problems[0].Path != "nodes/two" || !strings.Contains(e.Problems[0].Detail, "10.0.0.2:8080") {
		t.Errorf("with an old node: %v", err)
	}
	if _, err := u.writer(nil).Upgrade(t.Context(), UpgradeRequest{Version: 9, By: access.Node}); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Errorf("with nodes that are not known: %v", err)
	}
	many := make(someNodes, 1000)
	if _, err := u.writer(many).Upgrade(t.Context(), UpgradeRequest{Version: 9, By: access.Node}); !errors.As(err, &e) || len(e.Problems) != maxNodesNamed {
		t.Errorf("with 1000 old nodes %d are named, want %d", len(e.Problems), maxNodesNamed)
	}
	if len(u.appended) > 0 {
		t.Fatalf("%+v was appended", u.appended[0])
	}
	if result, err := u.writer(both).Upgrade(t.Context(), UpgradeRequest{Version: 9, By: access.Node}); err != nil || result.Applied != 4 {
		t.Errorf("with new nodes: %+v, %v", result, err)
	}
	if len(u.appended) != 1 || u.appended[0].Kind != fanfold.KindModel || u.appended[0].Fold != 9 || string(u.appended[0].Body) != `{"collections":{}}` {
		t.Errorf("%+v were appended", u.appended)
	}
}

// TestUpgradeIsWithdrawn: a version that was announced is withdrawn where a node has come meanwhile that does not know it.
func TestUpgradeIsWithdrawn(t *testing.T) {
	m := model.Empty()
	m.Fold = 9
	for newest, want := range map[int]fanfold.Kind{8: fanfold.KindCancel, 9: fanfold.KindModel} {
		u := &upgraded{proposal: &model.Proposal{Seq: 3, Model: m, Source: m.Source}}
		w := u.writer(someNodes{{ID: "late", Oldest: 8, Newest: newest}})
		if err := w.activate(t.Context(), u.proposal); err != nil || len(u.appended) != 1 || u.appended[0].Kind != want {
			t.Errorf("with a node that knows %d: %v, %+v", newest, err, u.appended)
		}
	}
}
