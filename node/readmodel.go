package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
)

// ReadModel says what a directory holds that BuildReadModel made. It stands in the directory as readmodel.json.
type ReadModel struct {
	Format     int               `json:"format"`
	Unfinished bool              `json:"unfinished,omitempty"` // it is being made, or its making was cut
	Command    string            `json:"command"`              // that makes it
	Store      fanfold.StoreID   `json:"store"`                // whose log it is of
	Origin     fanfold.Origin    `json:"predecessors,omitempty"`
	Position   *fanfold.Bookmark `json:"position,omitempty"`
	Time       time.Time         `json:"time,omitzero"`      // of the last event
	Fold       int               `json:"fold,omitempty"`     // the version of the fold that is in force there
	Model      uint64            `json:"model,omitempty"`    // the event that applied its model
	Replaced   bool              `json:"replaced,omitempty"` // the model is Build.Model, and not the log's
	Closed     bool              `json:"closed,omitempty"`   // the store lets nobody in without a key
}

// issuer returns what takes and gives out the read model's positions.
func (m *ReadModel) issuer(p *projector.Projector) fanfold.Issuer {
	return fanfold.Issuer{Store: m.Store, Origin: m.Origin, Folds: p}
}

const (
	readModelFormat = 1
	maxReadModel    = 64 << 10 // bytes of the file
	readModelDir    = "readmodel"
	eventsDir       = "events" // the events of a server, until the read model is made of them
)

// Build says which read model is to be made, and where.
type Build struct {
	Dir     string // is made, or empty, or what a cut run with the same command left
	Command string // as a person gives it
	Logger  *slog.Logger

	FailWrite func() error // for tests: called before every write
}

// Building is a read model that is being made in a directory.
type Building struct {
	opt   Build
	lock  *os.File
	store *sqlite.Store
	info  ReadModel

	Projector *projector.Projector // nil before Begin
}

// PrepareBuild makes the directory ready for a read model. From then on it holds none that can be served, until Finish has returned. The
// caller calls Close. Errors are Invalid for a directory that holds something else, and Unavailable.
func PrepareBuild(opt Build) (b *Building, err error) {
	if opt.FailWrite == nil {
		opt.FailWrite = func() error { return nil }
	}
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if err := checkBuildDir(opt.Dir); err != nil {
		return nil, err
	}
	b = &Building{opt: opt, info: ReadModel{Format: readModelFormat, Unfinished: true, Command: opt.Command}}
	if b.lock, err = datadir.LockFor(opt.Dir, "--out"); err != nil {
		return nil, err
	}
	if err = checkBuildDir(opt.Dir); err == nil { // another process may have been faster
		err = b.write()
	}
	for _, dir := range []string{readModelDir, eventsDir} {
		if err == nil {
			err = os.RemoveAll(filepath.Join(opt.Dir, dir))
		}
	}
	if err != nil {
		return nil, errors.Join(err, b.lock.Close())
	}
	return b, nil
}

// checkBuildDir returns Invalid for a directory that holds what no cut run left.
func checkBuildDir(dir string) error {
	if dir == "" {
		return fanfold.Errorf(fanfold.Invalid, "--out must name a directory")
	}
	found, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fanfold.Wrap(err, fanfold.Invalid, "--out: %v", err)
	}
	info, err := readInfo(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && !info.Unfinished:
		return fanfold.Errorf(fanfold.Invalid, "%s holds a read model already: remove it, or choose another directory", dir)
	case err == nil:
		return nil
	}
	for _, e := range found {
		if !slices.Contains([]string{datadir.LockFile, datadir.ReadModelFile + datadir.NewFile}, e.Name()) {
			return fanfold.Errorf(fanfold.Invalid, "%s is not empty: it has %s; choose another directory", dir, e.Name())
		}
	}
	return nil
}

// EventsDir returns the directory in which the caller may keep events until Close.
func (b *Building) EventsDir() string { return filepath.Join(b.opt.Dir, eventsDir) }

// Begin begins to replay a log up to a moment. The caller calls run, which blocks. Errors are Conflict for a moment that the log has not
// reached, and Unavailable.
func (b *Building) Begin(from EventSource, past rebuild.Past) (run func(ctx context.Context) error, err error) {
	past.Last = from.Last
	b.info.Store, b.info.Origin, b.info.Closed, b.info.Replaced = from.Store, from.Origin, from.Closed, past.Model != nil
	b.store, err = sqlite.OpenStore(filepath.Join(b.opt.Dir, readModelDir), sqlite.Options{Fingerprint: fold.Fingerprint(), FailWrite: b.opt.FailWrite, Logger: b.opt.Logger})
	if err != nil {
		return nil, err
	}
	if b.Projector, err = projector.New(from.Log, b.store, projector.Options{Logger: b.opt.Logger}); err != nil {
		return nil, err
	}
	what, err := rebuild.Prefix(past)
	if err != nil {
		return nil, err
	}
	return b.Projector.Begin(what)
}

// Finish makes what run has built a read model that is served, and returns what it is.
func (b *Building) Finish() (ReadModel, error) {
	issuer := b.info.issuer(b.Projector)
	err := b.store.Read(func(s *sqlite.Snapshot) error {
		mark := issuer.Mark(s.At())
		b.info.Position = &mark
		if s.Checkpoint.Seq > 0 {
			b.info.Time = s.Checkpoint.Time
		}
		return nil
	})
	m, seq, _ := b.Projector.Model()
	b.info.Model, b.info.Fold, b.info.Unfinished = seq, m.Fold, false
	store := b.store
	b.store = nil
	if err := errors.Join(err, store.CloseSealed()); err != nil {
		return ReadModel{}, err
	}
	if err := os.RemoveAll(b.EventsDir()); err != nil {
		return ReadModel{}, err
	}
	if err := b.write(); err != nil {
		return ReadModel{}, err
	}
	return b.info, os.Remove(filepath.Join(b.opt.Dir, datadir.LockFile)) // nobody needs it any more
}

// Close gives the directory back. Unless Finish has succeeded, the same command begins anew.
func (b *Building) Close() error {
	var errs []error
	if b.store != nil {
		errs = append(errs, b.store.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(b.EventsDir()), b.lock.Close())...)
}

// write writes the directory's readmodel.json, durably and all at once.
func (b *Building) write() error {
	text, err := json.MarshalIndent(b.info, "", "  ")
	if err != nil {
		return err
	}
	if err := b.opt.FailWrite(); err != nil {
		return err
	}
	return unwritable(b.opt.Dir, datadir.WriteFile(filepath.Join(b.opt.Dir, datadir.ReadModelFile), append(text, '\n'), 0o600, b.opt.FailWrite))
}

// unwritable is the error of a directory that cannot be written, nil for nil.
func unwritable(dir string, err error) error {
	if err == nil {
		return nil
	}
	return fanfold.Wrap(err, fanfold.Unavailable, "cannot write into %s: %v", dir, err)
}

// readInfo reads what a directory says of its read model. Errors are fs.ErrNotExist where it says nothing, and Invalid.
func readInfo(dir string) (info ReadModel, err error) {
	path := filepath.Join(dir, datadir.ReadModelFile)
	stat, err := os.Stat(path)
	if err != nil {
		return info, err
	}
	if stat.Size() > maxReadModel {
		return info, fanfold.Errorf(fanfold.Invalid, "%s has more than %d bytes", path, maxReadModel)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return info, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	err = in.Decode(&info)
	if err == nil && (info.Format != readModelFormat || !info.Unfinished && (!info.Store.Valid() || info.Position == nil)) {
		err = errors.New("this program does not know its format")
	}
	if err != nil {
		return info, fanfold.Wrap(err, fanfold.Invalid, "%s cannot be read: %v", path, err)
	}
	return info, nil
}
