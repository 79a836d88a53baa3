package forget

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
)

// Restored erases what a restored store must not show before it first serves.
type Restored struct {
	*shared
	eraser   *Eraser
	withheld atomic.Pointer[fanfold.Error] // why the store answers nothing yet; nil for nothing
}

// eraseFirstFile is in the data directory of a restored store, with a line for each document that is to be erased before the store first serves.
const eraseFirstFile = "erase-first.ndjson"

// Bounds of a file of erasures.
const (
	MaxErasuresRead = 1_000_000 // lines
	maxErasureLine  = 1 << 20   // bytes
)

// eraseAgain is the time after which an erasure that cannot be asked for yet is tried again.
const eraseAgain = 250 * time.Millisecond

// ReadErasures reads lines as fanfold erasures --export writes them: a document each. The error is Invalid, or r's.
func ReadErasures(r io.Reader) (list []wire.ErasedDocument, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxErasureLine)
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if n == 1 {
			line = jsondoc.WithoutMark(line)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if len(list) == MaxErasuresRead {
			return nil, fanfold.Errorf(fanfold.Invalid, "there are more than %d lines", MaxErasuresRead)
		}
		var d wire.ErasedDocument
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&d)
		if err == nil {
			asked := requestFor(d)
			err = asked.Validate()
		}
		if err != nil {
			return nil, fanfold.Wrap(err, fanfold.Invalid, "line %d names no document that was erased: %s", n, fanfold.MessageOf(err))
		}
		list = append(list, d)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fanfold.Errorf(fanfold.Invalid, "a line has more than %d bytes", maxErasureLine)
	}
	return list, lines.Err()
}

// requestFor returns the request to erase what one line names.
func requestFor(d wire.ErasedDocument) fanfold.EraseRequest {
	return fanfold.EraseRequest{Documents: []fanfold.Key{{Collection: d.Collection, ID: d.ID}}, Members: d.Members}
}

// WriteEraseFirst writes durably what a store is to erase before it first serves. The error is Unavailable.
func WriteEraseFirst(dir string, list []wire.ErasedDocument) error {
	if len(list) == 0 {
		return nil
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	var err error
	for _, d := range list {
		err = errors.Join(err, lines.Encode(d))
	}
	if err == nil {
		err = datadir.WriteFile(filepath.Join(dir, eraseFirstFile), out.Bytes(), 0o600, nil)
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot write into %s: %v", dir, err)
	}
	return nil
}

// CheckErasedFirst returns Conflict for the directory of a restored store that has to erase something before anybody reads it.
func CheckErasedFirst(dir string) error {
	_, err := os.Stat(filepath.Join(dir, eraseFirstFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the data directory cannot be read: %v", err)
	}
	return fanfold.Errorf(fanfold.Conflict, "the store in %s was restored with --erasures, and has not erased yet what these list: start it with fanfold serve --data %s", dir, dir)
}

// Withhold has the API tell nothing of a restored store that has to erase something first. The error is Conflict where others could read its log
// meanwhile, and for a log on outside servers, which is another store's; and Unavailable.
func (g *Restored) Withhold(listens bool) error {
	err := CheckErasedFirst(g.opt.Data)
	switch {
	case err == nil:
		return nil
	case fanfold.CodeOf(err) != fanfold.Conflict || g.opt.Outside:
		return err
	case listens:
		return fanfold.Wrap(err, fanfold.Conflict, "%s; and without --nats-listen, by which others could read it before", fanfold.MessageOf(err))
	}
	g.withholdFor("it begins with that")
	return nil
}

// withholdFor takes note of why nothing is told of the store yet.
func (g *Restored) withholdFor(reason string) {
	g.withheld.Store(fanfold.Errorf(fanfold.Unavailable, "the restored store erases what was erased after its backup was made, and answers nothing before: %s", reason))
}

// Withheld returns the Unavailable of a restored store that has not erased what it must not show, nil for any other one.
func (g *Restored) Withheld() error {
	if err := g.withheld.Load(); err != nil {
		return err
	}
	return nil
}

// EraseFirst erases what a restored store must not show, if there is something. It blocks until nothing is left of that. Killed anywhere, the next
// start goes on. It returns ctx's error, Invalid for a file that cannot be read, and the errors of Erase that do not pass.
func (g *Restored) EraseFirst(ctx context.Context) error {
	path := filepath.Join(g.opt.Data, eraseFirstFile)
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "%s cannot be read: %v", path, err)
	}
	list, err := ReadErasures(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	last, err := g.log.LastSeq(ctx)
	if err == nil {
		err = g.store.Applied.Wait(ctx, last)
	}
	listed := len(list)
	if err == nil {
		list, err = g.notErasedYet(list)
	}
	if err == nil {
		g.opt.Logger.Info("the restored store erases what was erased after its backup was made, and then serves", "documents", len(list), "erased before", listed-len(list))
		err = g.eraseAll(ctx, list)
	}
	if err == nil {
		g.withholdFor("what is erased goes from the log and the files")
		err = g.awaitErasures(ctx)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(os.Remove(path), datadir.SyncDir(g.opt.Data, (*os.File).Sync)); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "%s cannot be removed: %v", path, err)
	}
	g.withheld.Store(nil)
	g.opt.Logger.Info("the restored store has erased what it was to, and serves")
	return nil
}

// notErasedYet returns the lines of a list that name no erasure of the log. The document of another line may have been made anew since that erasure,
// and stays. An erasure that names a document in several events has as many lines.
func (g *Restored) notErasedYet(list []wire.ErasedDocument) (left []wire.ErasedDocument, err error) {
	known := map[string]int{}
	name := func(d wire.ErasedDocument) string {
		text, _ := json.Marshal(d) // no value of it fails
		return string(text)
	}
	err = g.store.Read(func(s *sqlite.Snapshot) error {
		stored, err := s.Erasures().All()
		if err != nil {
			return err
		}
		of := numbersOf(stored)
		return s.Erasures().EachDocument(func(seq uint64, d fanfold.ErasedDocument) error {
			known[name(wire.ErasedDocument{Erasure: of[seq], Collection: d.Collection, ID: d.ID, Members: d.Members})]++
			return nil
		})
	})
	for _, d := range list {
		if text := name(d); known[text] > 0 {
			known[text]--
		} else {
			left = append(left, d)
		}
	}
	return left, err
}

// eraseAll asks for the erasure of all documents of a list that the store has ever had. A document that others hold is tried again after those.
func (g *Restored) eraseAll(ctx context.Context, list []wire.ErasedDocument) error {
	for len(list) > 0 {
		var left []wire.ErasedDocument
		var held error
		for from := 0; from < len(list); {
			to := from + 1
			for to < len(list) && to-from < fanfold.MaxErasedDocuments && slices.Equal(list[to].Members, list[from].Members) {
				to++
			}
			restricted, err := g.eraseSome(ctx, list[from:to])
			if err != nil && fanfold.CodeOf(err) != fanfold.Restricted {
				return err
			}
			if err != nil {
				left, held = append(left, restricted...), err
			}
			from = to
		}
		if len(left) == len(list) {
			return held
		}
		list = left
	}
	return nil
}

// eraseSome asks for the erasure of documents with the same members. It returns those that others hold, with the Restricted of one.
func (g *Restored) eraseSome(ctx context.Context, list []wire.ErasedDocument) (held []wire.ErasedDocument, err error) {
	asked := fanfold.EraseRequest{Members: list[0].Members}
	seen := map[fanfold.Key]bool{}
	err = g.store.Read(func(s *sqlite.Snapshot) error {
		for _, d := range list {
			key := fanfold.Key{Collection: d.Collection, ID: d.ID}
			err := checkKnown(s, key)
			switch {
			case seen[key] || fanfold.CodeOf(err) == fanfold.NotFound: // made after the backup
			case err != nil:
				return err
			default:
				seen[key] = true
				asked.Documents = append(asked.Documents, key)
			}
		}
		return nil
	})
	if err != nil || len(asked.Documents) == 0 {
		return nil, err
	}
	err = g.eraseSoon(ctx, asked)
	if fanfold.CodeOf(err) != fanfold.Restricted || len(list) == 1 {
		return list, err
	}
	for _, d := range list { // one after the other: what holds the others may be among them
		one, failed := g.eraseSome(ctx, []wire.ErasedDocument{d})
		switch {
		case fanfold.CodeOf(failed) == fanfold.Restricted:
			held = append(held, one...)
		case failed != nil:
			return nil, failed
		}
	}
	if len(held) == 0 {
		return nil, nil
	}
	return held, err
}

// eraseSoon asks for an erasure, again and again while that can only not be done now.
func (g *Restored) eraseSoon(ctx context.Context, asked fanfold.EraseRequest) error {
	for waits := ""; ; {
		err := g.eraser.mayErase(ctx)
		if fanfold.CodeOf(err) == fanfold.Conflict { // a purge that the backup's log was about to do is done first
			err = fanfold.Wrap(err, fanfold.Busy, "%s", fanfold.MessageOf(err))
		}
		if err == nil {
			_, err = g.eraser.Erase(ctx, asked, "")
		}
		switch fanfold.CodeOf(err) {
		case fanfold.Unavailable, fanfold.CatchingUp, fanfold.Lagging, fanfold.Busy, fanfold.Stale, fanfold.OutcomeUnknown, fanfold.Timeout, fanfold.RightsStale:
			if reason := fanfold.MessageOf(err); reason != waits {
				g.opt.Logger.Info("the restored store waits before it erases what it must not show", "err", err)
				g.withholdFor(reason)
				waits = reason
			}
		default:
			return err
		}
		select {
		case <-time.After(eraseAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitErasures blocks until every erasure is done.
func (g *Restored) awaitErasures(ctx context.Context) error {
	for {
		list, err := g.eraser.Erasures(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(e wire.Erasure) bool { return e.Phase != wire.PhaseDone }) {
			return nil
		}
		select {
		case <-time.After(eraseAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
