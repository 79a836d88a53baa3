package writer

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// someKeys are keys that work as long as their principals are among them.
type someKeys struct {
	access.Keys
	valid map[*access.Principal]bool
}

func (k *someKeys) Valid(p *access.Principal) bool { return k.valid[p] }
func (k *someKeys) Version() uint64                { return 0 }

// principal returns the rights of a key with roles that works, and the keys among which it is.
func principal(roles ...string) (*access.Rights, *someKeys) {
	p := &access.Principal{ID: "ann", Roles: roles}
	k := &someKeys{valid: map[*access.Principal]bool{p: true}}
	return access.NewJudge(k, model.Empty).Of(p), k
}

// untouched is what a writer has that must not touch anything: each call of a method panics.
func untouched() *Writer {
	return New(Dependencies{Models: &upgraded{}, ReadModel: foldedAll{}}, Options{MaxEvent: 1 << 20})
}

// TestNobodyWrites: without rights, and with those to read alone, nothing is looked at and nothing is stored on any road.
func TestNobodyWrites(t *testing.T) {
	reader, _ := principal(model.RoleRead)
	for name, by := range map[string]*access.Rights{"nobody": nil, "a reader": reader} {
		w, key := untouched(), fanfold.Key{Collection: "books", ID: "b"}
		for what, try := range map[string]func() error{
			"Prepare": func() error { return w.Prepare(t.Context(), &Operation{Kind: Put, Key: key, Content: []byte("{")}, by) },
			"Write": func() error {
				_, err := w.Write(t.Context(), &Operation{Kind: Put, Key: key}, Request{Intent: Intent{By: by}, Key: fanfold.IdempotencyKey{Hash: "h"}})
				return err
			},
			"Transact": func() error {
				_, err := w.Transact(t.Context(), []*Operation{{Kind: Delete, Key: key}}, Request{Intent: Intent{By: by}, Key: fanfold.IdempotencyKey{Hash: "h"}})
				return err
			},
			"DeleteNext":  func() error { _, err := w.DeleteNext(t.Context(), key, Intent{By: by}); return err },
			"PutModel":    func() error { _, err := w.PutModel(t.Context(), ModelRequest{By: by, DryRun: true}); return err },
			"CancelModel": func() error { _, err := w.CancelModel(t.Context(), by); return err },
			"Upgrade":     func() error { _, err := w.Upgrade(t.Context(), UpgradeRequest{Version: 9, By: by}); return err },
			"importModel": func() error { _, err := w.importModel(t.Context(), &importBatch{}, ImportOptions{By: by}); return err },
			"a line":      func() error { _, err := w.importEvent(by, "books", []byte("{"), 1, true); return err },
			"an object": func() error {
				_, err := w.importEvent(by, "", []byte(`{"collection":"books","doc":[]}`), 1, true)
				return err
			},
			"a model": func() error {
				_, err := w.importEvent(by, "", []byte(`{"model":[],"guards":"last"}`), 1, true)
				return err
			},
		} {
			if err := try(); fanfold.CodeOf(err) != fanfold.Forbidden {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
	w := untouched()
	if _, err := w.NewImport(t.Context(), ImportOptions{}); fanfold.CodeOf(err) != fanfold.Forbidden {
		t.Errorf("nobody's import: %v", err)
	}
	if _, _, err := w.ImportProgress(t.Context(), "load", nil); fanfold.CodeOf(err) != fanfold.Forbidden {
		t.Errorf("the progress of nobody's import: %v", err)
	}
}

// TestJudgeOfOperations: a check needs the right to read, and all else that to write. A transaction is refused at its operation.
func TestJudgeOfOperations(t *testing.T) {
	reader, _ := principal(model.RoleRead)
	author, _ := principal(model.RoleWrite)
	for _, kind := range []OperationKind{Create, Put, Patch, Delete, Check} {
		op := &Operation{Kind: kind, Key: fanfold.Key{Collection: "books", ID: "b"}}
		if err := op.Judge(reader); (err == nil) != (kind == Check) {
			t.Errorf("a reader's %s: %v", kind, err)
		}
		if err := op.Judge(author); err != nil {
			t.Errorf("a writer's %s: %v", kind, err)
		}
		if err := op.Judge(nil); fanfold.CodeOf(err) != fanfold.Forbidden {
			t.Errorf("nobody's %s: %v", kind, err)
		}
	}
	key := fanfold.Key{Collection: "books", ID: "b"}
	_, err := untouched().Transact(t.Context(), []*Operation{{Kind: Check, Key: key}, {Kind: Put, Key: key}}, Request{Intent: Intent{By: reader}})
	if operationOf(err) != 1 || fanfold.CodeOf(err) != fanfold.Forbidden {
		t.Errorf("the transaction is refused with %v", err)
	}
}

// endingInspector ends a key while a model is looked at.
type endingInspector struct {
	*upgraded
	end func()
}

func (i endingInspector) Preview(context.Context, *model.Model, model.PreviewOptions) (*model.Preview, error) {
	i.end()
	return &model.Preview{}, nil
}

// TestModelOfEndedKey: a key that ends while the documents are looked at changes neither the model nor the fold's version.
func TestModelOfEndedKey(t *testing.T) {
	for what, try := range map[string]func(w *Writer, by *access.Rights) error{
		"a model": func(w *Writer, by *access.Rights) error {
			_, err := w.PutModel(t.Context(), ModelRequest{Source: []byte(`collections: { a: {} }`), By: by})
			return err
		},
		"a version": func(w *Writer, by *access.Rights) error {
			_, err := w.Upgrade(t.Context(), UpgradeRequest{Version: 9, By: by})
			return err
		},
	} {
		for _, ends := range []bool{false, true} {
			by, keys := principal(model.RoleAdmin)
			u := &upgraded{}
			w := New(Dependencies{Log: u, Models: u, Inspector: endingInspector{u, func() {
				if ends {
					clear(keys.valid)
				}
			}}, Nodes: someNodes{}, ReadModel: foldedAll{}}, Options{MaxEvent: 1 << 20})
			err := try(w, by)
			if ends != (fanfold.CodeOf(err) == fanfold.Unauthenticated) || ends != (len(u.appended) == 0) || !ends && (err != nil || u.appended[0].Actor != "key:ann") {
				t.Errorf("%s whose key ends %t: %v, and %d events", what, ends, err, len(u.appended))
			}
		}
	}
}

// foldedAll is a read model that has folded everything.
type foldedAll struct{ ReadModel }

func (foldedAll) Wait(context.Context, uint64) error { return nil }

func (foldedAll) Applied() uint64 { return math.MaxUint64 }

// endingLines are lines whose last one comes when a key has ended.
type endingLines struct {
	lines []string
	end   func()
}

func (l *endingLines) Next() ([]byte, error) {
	if len(l.lines) == 0 {
		return nil, io.EOF
	}
	line := l.lines[0]
	if l.lines = l.lines[1:]; len(l.lines) == 0 {
		l.end()
	}
	return []byte(line), nil
}

func (l *endingLines) Stop() {}

// TestImportOfEndedKey: an import whose key has ended stores nothing, and reports no line as refused.
func TestImportOfEndedKey(t *testing.T) {
	by, keys := principal(model.RoleWrite)
	l := &stagingLog{}
	w := New(Dependencies{Log: l, Models: l, Inspector: l, ReadModel: foldedAll{}}, Options{MaxEvent: 1 << 20})
	im, err := w.NewImport(t.Context(), ImportOptions{Collection: "books", By: by})
	if err != nil {
		t.Fatal(err)
	}
	err = im.Run(t.Context(), &endingLines{[]string{`{"id":"a"}`, `{"id":"b"}`}, func() { clear(keys.valid) }}, func(r ImportReport) error {
		t.Errorf("reported is %+v", r)
		return nil
	})
	if !errors.Is(err, errRightsEnded) || im.Report().Progress != (ImportProgress{}) {
		t.Errorf("the import ends with %v at %+v", err, im.Report())
	}
}

// TestProgressID: no two principals share an import, and none has one of an open store.
func TestProgressID(t *testing.T) {
	by, _ := principal(model.RoleWrite)
	if id := progressID(access.Node, "load"); id != "load" {
		t.Errorf("an open store has %q", id)
	}
	if id := progressID(by, "load"); fanfold.CheckID(id) == nil {
		t.Errorf("a client may give the id %q", id)
	}
}

// failingLines skips some lines, and then gives the same reason each time why it has no more.
type failingLines struct{ skipped, asked int }

func (l *failingLines) Next() ([]byte, error) {
	if l.asked++; l.asked > 100 {
		return nil, io.EOF
	}
	if l.asked <= l.skipped {
		return nil, fanfold.Wrap(ErrLineSkipped, fanfold.TooLarge, "the line is long")
	}
	return nil, fanfold.Errorf(fanfold.TooLarge, "the body is long")
}

func (l *failingLines) Stop() {}

// TestImportEndsWithItsLines: what ends the lines of an import ends it, also where that is a TooLarge, as a line that is skipped may be.
func TestImportEndsWithItsLines(t *testing.T) {
	by, _ := principal(model.RoleWrite)
	l := &stagingLog{}
	w := New(Dependencies{Log: l, Models: l, Inspector: l, ReadModel: foldedAll{}}, Options{MaxEvent: 1 << 20})
	im, err := w.NewImport(t.Context(), ImportOptions{Collection: "books", By: by})
	if err != nil {
		t.Fatal(err)
	}
	lines := &failingLines{skipped: 2}
	err = im.Run(t.Context(), lines, func(ImportReport) error { return nil })
	if fanfold.CodeOf(err) != fanfold.TooLarge || lines.asked != 3 || im.Report().Progress.Refused != 2 {
		t.Errorf("the import ends with %v at %+v, after %d lines", err, im.Report(), lines.asked)
	}
}
