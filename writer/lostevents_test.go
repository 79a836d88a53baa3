package writer

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
)

// staleLog is a log that refuses every write because the subject is at a revision.
type staleLog struct{ at fanfold.Revision }

func (l staleLog) Append(context.Context, *fanfold.Event, fanfold.Expect) (uint64, error) {
	return 0, &fanfold.Error{Code: fanfold.Stale, Current: l.at}
}

func (l staleLog) AppendAll(context.Context, string, []fanfold.Write) (uint64, error) {
	return 0, fanfold.AtOperation(&fanfold.Error{Code: fanfold.Stale, Current: l.at}, 1)
}

func (l staleLog) Stage(ctx context.Context, staged []fanfold.Write) (AppendStaged, error) {
	return func(_ context.Context, rest []fanfold.Write) (uint64, error) {
		return l.AppendAll(ctx, "", slices.Concat(staged, rest))
	}, nil
}

// oneDocumentModel is a read model whose snapshots are oneDocument.
type oneDocumentModel struct{ ReadModel }

func (oneDocumentModel) Read(fn func(Snapshot) error) error { return fn(oneDocument{}) }

// oneDocument is a snapshot with document c/1 at revision 7.
type oneDocument struct{ Snapshot }

func (o oneDocument) Get(key fanfold.Key, _ fanfold.View) (*fanfold.Document, error) {
	if key.ID == "1" {
		return &fanfold.Document{Key: key, Revision: 7}, nil
	}
	return nil, nil
}

func (o oneDocument) Tombstone(fanfold.Key) (fanfold.Revision, error) { return 0, nil }

// TestLostEventsAreNotStale: a refusal by a log at an earlier revision than was folded is LogDamaged. A refusal by a log at a later one,
// or for a revision that never was, stays Stale.
func TestLostEventsAreNotStale(t *testing.T) {
	for _, c := range []struct {
		id     string
		kind   fanfold.Kind
		at     fanfold.Revision // of the log
		expect fanfold.Revision
		want   fanfold.Code
	}{
		{"1", fanfold.KindPatch, 3, 7, fanfold.LogDamaged},
		{"1", fanfold.KindDelete, 0, 7, fanfold.LogDamaged},
		{"1", fanfold.KindCheck, 3, 7, fanfold.LogDamaged},
		{"1", fanfold.KindPatch, 9, 7, fanfold.Stale},
		{"1", fanfold.KindPut, 7, 99, fanfold.Stale}, // the client made it up
		{"2", fanfold.KindPut, 0, 99, fanfold.Stale},
		{"2", fanfold.KindClaim, 3, 5, fanfold.LogDamaged},
		{"2", fanfold.KindModel, 3, 5, fanfold.LogDamaged},
	} {
		l := lostEventDetector{staleLog{c.at}, oneDocumentModel{}}
		write := fanfold.Write{Event: &fanfold.Event{Kind: c.kind, Key: fanfold.Key{Collection: "c", ID: c.id}}, Expect: fanfold.Exactly(c.expect)}
		_, err := l.Append(t.Context(), write.Event, write.Expect)
		_, err2 := l.AppendAll(t.Context(), "", []fanfold.Write{{Event: &fanfold.Event{}}, write})
		appendRest, err3 := l.Stage(t.Context(), []fanfold.Write{{Event: &fanfold.Event{}}})
		if err3 == nil {
			_, err3 = appendRest(t.Context(), []fanfold.Write{write})
		}
		for _, err := range []error{err, err2, err3} {
			if fanfold.CodeOf(err) != c.want {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if _, err := (lostEventDetector{failingLog{}, oneDocumentModel{}}).Append(t.Context(), write.Event, write.Expect); !errors.Is(err, errFailing) {
			t.Errorf("another error became %v", err)
		}
	}
}

var errFailing = errors.New("out of reach")

// failingLog is a log that is out of reach.
type failingLog struct{ staleLog }

func (failingLog) Append(context.Context, *fanfold.Event, fanfold.Expect) (uint64, error) {
	return 0, errFailing
}
