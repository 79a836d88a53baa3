package forget

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// erasures is what a node does about erasures besides taking requests.
type erasures struct {
	requesting chan struct{} // of size 1: has an element while a request runs
	done       atomic.Uint64 // the erase events up to it are over, deletion included

	mu      sync.Mutex
	failed  string // why the last try of something failed
	deleted int64  // messages that are deleted
	total   int64  // of them; 0 where none are being deleted
	residue bool   // an outside server may have content on its disk yet

	residueAt uint64 // where the log began when that was seen

	waits bool // for replicas to forget what is deleted

	checked   fanfold.AsOf // the erase events up to it were seen to be over by this process
	upTo      fanfold.AsOf // the last erase event that comes into force next
	later     time.Time    // when the deletion goes on, after a node still held something
	left      bool         // what erased.views says was looked at by this process
	goneFor   fanfold.AsOf // the erasure in force with nothing left in any replica of the log
	goneSince time.Time    // since when, with all replicas there
}

// Groups are the consumer groups and feeds that may need what goes.
type Groups interface {
	// Behind returns the groups that have yet to acknowledge a change up to a position.
	Behind(ctx context.Context, at fanfold.Position) (names []string, err error)
	// FeedsBehind returns how many endless answers have yet to come to a position.
	FeedsBehind(at fanfold.Position) int64
	// PassOver moves groups that wait for nothing up to a position on to it.
	PassOver(ctx context.Context, at fanfold.Position) error
	// ForgetParked drops what parked batches say of documents.
	ForgetParked(ctx context.Context) error
}

// How often a node looks after erasures, and what it waits for.
const (
	replicaWait  = 5 * time.Minute // for replicas to compact their Raft logs: a server does every 2 to 3 minutes, and may put it off
	maxErased    = 3 << 20         // bytes of an erased event's documents
	erasedAtOnce = 16              // erased events in a transaction
)

// The later steps of an erasure, after its request.
const (
	StepErasurePrepared = "prepared" // the live nodes have a read model without what goes
	StepCompared        = "compared" // it is known which documents' views are others
	StepErased          = "erased"   // the event is in the log from which on it is gone
	StepEraseSwitched   = "changed over"
	StepDeleted         = "deleted" // the messages are deleted
	StepRemade          = "remade"  // copies of the store from before are gone
	StepEraseDone       = "done"
)

// EraseSteps are the steps of an erasure, in order.
var EraseSteps = []string{StepCollected, StepEraseAppended, StepErasurePrepared, StepCompared, StepErased, StepEraseSwitched, StepDeleted, StepRemade, StepEraseDone}

// EmptyErased removes a read model that has what is erased, before anybody sees it, and returns whether there was one. The node begins like a new one.
func EmptyErased(log *events.Log, store *sqlite.Store, logger *slog.Logger) (forgot bool, err error) {
	cp, err := store.Checkpoint()
	if err != nil {
		return false, err
	}
	_, inForce := log.Prefix().Erasures()
	if cp.AsOf >= inForce || cp.Seq == 0 {
		return false, nil
	}
	logger.Info("the read model has what was erased since, and is removed and built anew", "erasure", inForce, "event", cp.Seq)
	return true, store.Empty()
}

// over returns up to which list erasures are over.
func (e *erasures) over() fanfold.AsOf { return fanfold.AsOf(e.done.Load()) }

// note takes note of why the last try failed, nil where it did not.
func (e *erasures) note(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed = ""; err != nil {
		e.failed = fanfold.MessageOf(err)
	}
}

// BaseLacks tells whether the log begins at a base that has what is erased.
func (g *Forgetter) BaseLacks(inForce fanfold.AsOf) bool {
	b := g.log.Prefix().Base()
	return b.Seq > 0 && b.AsOf < inForce
}

// toBringIntoForce returns another number than 0 where something is to come into force. Later requests do not change it: a stream of them must not hold
// off the wait for nodes.
func (g *Forgetter) toBringIntoForce() uint64 {
	last, inForce := g.log.Prefix().Erasures()
	if last > inForce || g.BaseLacks(inForce) {
		return uint64(inForce) + 1
	}
	return 0
}

// isPrepared tells whether this node has a read model without what goes.
func (g *Forgetter) isPrepared() bool {
	_, inForce := g.log.Prefix().Erasures()
	g.erasures.upTo = g.projector.ErasurePrepared()
	return g.erasures.upTo > inForce || g.erasures.upTo == inForce && g.BaseLacks(inForce)
}

// isUnprepared tells whether a node lacks such a read model.
func (g *Forgetter) isUnprepared(node wire.Node) bool {
	return fanfold.AsOf(node.Erasure) < g.erasures.upTo
}

// bringIntoForce appends the event from which on something is gone.
func (g *Forgetter) bringIntoForce(ctx context.Context) error {
	_, inForce := g.log.Prefix().Erasures()
	upTo := g.erasures.upTo
	err := writer.MayLose(ctx, g.Writer)
	if err == nil {
		err = g.opt.EraseStep(StepErasurePrepared)
	}
	if err != nil {
		return err
	}
	keys, at := map[fanfold.Key]struct{}{}, fanfold.Position(0)
	if upTo > inForce {
		if keys, at, err = g.projector.ErasedViews(ctx, upTo); err != nil {
			return orGone(err)
		}
		if err := g.keepViews(erasedViews{upTo, uint64(at)}); err != nil {
			return err
		}
	}
	if err := g.opt.EraseStep(StepCompared); err != nil {
		return err
	}
	base, err := g.erasedBase(ctx, upTo)
	if err != nil {
		return err
	}
	first, err := g.appendErased(ctx, &fanfold.Loss{UpTo: upTo, Base: base}, slices.Collect(maps.Keys(keys)))
	if err == nil {
		err = g.opt.EraseStep(StepErased)
	}
	if err != nil {
		return err
	}
	g.opt.Logger.Info("an erasure is in force", "erasure", upTo, "event", first, "documents", len(keys))
	if err := g.store.Applied.Wait(ctx, first); err != nil || at == 0 {
		return err
	}
	if err := g.opt.EraseStep(StepEraseSwitched); err != nil {
		return err
	}
	return g.nameMissed(ctx, upTo, at, first, keys)
}

// orGone returns nil for the error of a read model that is not prepared any more: another node was faster, or it is built again.
func orGone(err error) error {
	if fanfold.CodeOf(err) == fanfold.Unavailable {
		return nil
	}
	return err
}

// erasedBase puts the base at which the log begins into the object store as of an erasure, and returns what it is. It returns nil for a log that begins
// with its first event.
func (g *Forgetter) erasedBase(ctx context.Context, asOf fanfold.AsOf) (c *fanfold.Compaction, err error) {
	if g.log.Prefix().Base().Seq == 0 {
		return nil, nil
	}
	path := filepath.Join(g.opt.Data, erasedBaseFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot write %s: %v", path, err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	h, ok, err := g.projector.WriteErasedBase(ctx, asOf, f)
	if err != nil || !ok {
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	file, _, err := g.storeBase(ctx, h, asOf, f)
	return &fanfold.Compaction{Horizon: h, Base: file, AsOf: asOf}, err
}

// erasedBaseFile is the name of the file in the data directory from which a base is sent that takes the place of another one.
const erasedBaseFile = "base.erased"

// appendErased appends the events from which on an erasure is in force, each with some of the documents, and returns the first one's sequence once they
// are durable.
func (g *Forgetter) appendErased(ctx context.Context, erased *fanfold.Loss, documents []fanfold.Key) (first uint64, err error) {
	slices.SortFunc(documents, func(a, b fanfold.Key) int { return strings.Compare(a.String(), b.String()) })
	cp, err := g.store.Checkpoint()
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(erasedEvents(erased, documents), erasedAtOnce) {
		seq, err := g.appendEach(ctx, part, fanfold.Expect{Set: true, Rev: fanfold.Revision(g.log.Prefix().LastErased()), Folded: cp.Seq})
		if err != nil {
			return 0, err
		}
		if first == 0 {
			first = seq
		}
	}
	return first, nil
}

// erasedEvents returns the events from which on an erasure is in force. Each names as many of the documents as it has room for.
func erasedEvents(erased *fanfold.Loss, documents []fanfold.Key) (all []*fanfold.Event) {
	for ev := erased; ; {
		n := 0
		for size := 0; n < len(documents) && size < maxErased; n++ {
			size += len(documents[n].Collection) + 6*len(documents[n].ID) + 32
		}
		ev.List = &fanfold.Erasure{Documents: make([]fanfold.ErasedDocument, n)}
		for i, key := range documents[:n] {
			ev.List.Documents[i].Key = key
		}
		documents = documents[n:]
		all = append(all, &fanfold.Event{Kind: fanfold.KindLoss, Loss: ev})
		if len(documents) == 0 {
			return all
		}
		ev = &fanfold.Loss{UpTo: erased.UpTo}
	}
}

// appendEach appends events in one transaction, the first one under a condition.
func (g *Forgetter) appendEach(ctx context.Context, list []*fanfold.Event, expect fanfold.Expect) (first uint64, err error) {
	if len(list) == 1 {
		return g.log.Append(ctx, list[0], expect)
	}
	writes := make([]fanfold.Write, len(list))
	for i, ev := range list {
		writes[i].Event = ev
	}
	writes[0].Expect = expect
	return g.log.AppendAll(ctx, nuid.Next(), writes)
}

// nameMissed appends an event that names the documents which were changed between the position up to which an erasure's event names documents, and that event.
func (g *Forgetter) nameMissed(ctx context.Context, upTo fanfold.AsOf, at fanfold.Position, event uint64, named map[fanfold.Key]struct{}) error {
	missed, known := g.projector.MissedViews(upTo)
	if !known {
		missed = map[fanfold.Key]struct{}{}
		err := g.projector.ChangedBetween(at, event, func(key fanfold.Key) { missed[key] = struct{}{} })
		if err != nil && fanfold.CodeOf(err) != fanfold.PositionGone { // whoever lags so far begins anew
			return err
		}
	}
	maps.DeleteFunc(missed, func(key fanfold.Key, _ struct{}) bool {
		_, ok := named[key]
		return ok
	})
	if len(missed) > 0 {
		if _, err := g.appendErased(ctx, &fanfold.Loss{UpTo: upTo}, slices.Collect(maps.Keys(missed))); err != nil {
			return err
		}
	}
	g.erasures.left = true
	return os.Remove(filepath.Join(g.opt.Data, erasedViewsFile))
}

// erasedViewsFile is the name of the file in the data directory that says up to where an erasure's event names documents, until those that were changed
// later are named, too.
const erasedViewsFile = "erased.views"

// erasedViews is what that file has.
type erasedViews struct {
	UpTo fanfold.AsOf `json:"upTo"`
	At   uint64       `json:"at"` // a position
}

// keepViews writes that file.
func (g *Forgetter) keepViews(v erasedViews) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	g.erasures.left = false
	return datadir.WriteFile(filepath.Join(g.opt.Data, erasedViewsFile), text, 0o600, nil)
}

// toName returns 1 where it is not known that an erasure has named all documents.
func (g *Forgetter) toName() uint64 {
	if g.erasures.left {
		return 0
	}
	return 1
}

// nameLeft names the documents that an erasure's event has missed which is in force, where the process ended or failed before it did.
func (g *Forgetter) nameLeft(ctx context.Context) error {
	_, inForce := g.log.Prefix().Erasures()
	path := filepath.Join(g.opt.Data, erasedViewsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		g.erasures.left = true
		return nil
	}
	if err = cmp.Or(err, writer.MayLose(ctx, g.Writer)); err != nil {
		return err
	}
	var v erasedViews
	if json.Unmarshal(text, &v) != nil { // it says nothing
		return os.Remove(path)
	}
	if v.UpTo > inForce || g.projector.AsOf() < inForce {
		return nil
	}
	at, err := g.inForceSince(v.UpTo)
	if err != nil || at == 0 {
		return err
	}
	return g.nameMissed(ctx, v.UpTo, fanfold.Position(v.At), at.Seq(), nil)
}

// inForceSince returns the position of the event by which an erasure came into force, 0 for none that is folded.
func (g *Forgetter) inForceSince(asOf fanfold.AsOf) (at fanfold.Position, err error) {
	err = g.store.Read(func(s *sqlite.Snapshot) error {
		e, err := s.Erasures().Get(uint64(asOf))
		if e != nil {
			at = e.Position
		}
		return err
	})
	return at, err
}

// toFinish returns the erasure in force that may have left something, 0 for none.
func (g *Forgetter) toFinish() uint64 {
	e := &g.erasures
	_, inForce := g.log.Prefix().Erasures()
	if e.hasResidue() && g.log.Prefix().Base().Seq != e.residueAt { // a purge may have passed it
		e.checked = 0
	}
	if inForce > e.checked && g.projector.AsOf() >= inForce && time.Now().After(e.later) {
		return uint64(inForce)
	}
	return 0
}

// finish removes what the log, the object stores and the node's files have of what is erased, and takes note once nothing is left.
func (g *Forgetter) finish(ctx context.Context) error {
	_, inForce := g.log.Prefix().Erasures()
	if err := g.ForgetFiles(); err != nil {
		return err
	}
	gone, err := g.isErased(ctx, inForce)
	if err == nil && !gone {
		err = g.notOver(inForce)
		if c := g.projector.Compaction(); c != nil && c.Running { // it reads the log, whose server would be started again
			return err
		}
		if err == nil && g.leads() {
			if err = g.deleteErased(ctx, inForce); err == nil {
				gone, err = g.isErased(ctx, inForce)
			}
			if !gone { // another node may still hold something; deleting again may start the log's server again
				g.erasures.later = time.Now().Add(retry)
			}
		}
	}
	over := err == nil && g.replicasForgot(inForce, gone)
	if c, seq := g.log.Prefix().Compaction(); c != nil && g.compactions.purged.Load() < seq { // what is before the base is in the log yet
		over = false
		if failed := g.compactions.failed.Load(); failed != nil && err == nil {
			err = fanfold.Wrap(*failed, fanfold.CodeOf(*failed), "the log cannot be purged of what is before the store's begin: %s", fanfold.MessageOf(*failed))
		}
	}
	if err != nil || !over {
		return err
	}
	if err := g.opt.EraseStep(StepEraseDone); err != nil {
		return err
	}
	if fanfold.AsOf(g.erasures.done.Swap(uint64(inForce))) < inForce {
		g.opt.Logger.Info("an erasure is over", "erasure", inForce)
	}
	g.erasures.checked = inForce
	text := strconv.FormatUint(uint64(inForce), 10)
	if g.erasures.hasResidue() {
		text += erasedResidue
	}
	return datadir.WriteFile(filepath.Join(g.opt.Data, erasedFile), []byte(text+"\n"), 0o600, nil)
}

// notOver takes back that an erasure was over: a stream was restored since.
func (g *Forgetter) notOver(inForce fanfold.AsOf) error {
	if g.erasures.over() < inForce {
		return nil
	}
	g.erasures.done.Store(0)
	if err := os.Remove(filepath.Join(g.opt.Data, erasedFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fanfold.Wrap(err, fanfold.Unavailable, "the node's files cannot be changed: %v", err)
	}
	return nil
}

// erasedFile is the name of the file in the data directory that has the last erase event whose erasure was over. The next start need not wait until that is
// seen again.
const erasedFile = "erased"

// erasedResidue follows the number in that file where an outside server may have had content on its disk yet.
const erasedResidue = " residue"

// readDone reads which erasures were over when the node ran last. A file that cannot be read says nothing.
func (g *Forgetter) readDone() {
	text, err := os.ReadFile(filepath.Join(g.opt.Data, erasedFile))
	if err != nil {
		return
	}
	number, residue := strings.CutSuffix(strings.TrimSpace(string(text)), erasedResidue)
	if done, err := strconv.ParseUint(number, 10, 64); err == nil {
		g.erasures.done.Store(done)
		g.erasures.residue = residue
	}
}

// isErased tells whether nothing is left of what is erased in the log and the object stores.
func (g *Forgetter) isErased(ctx context.Context, inForce fanfold.AsOf) (bool, error) {
	e := &g.erasures
	left, residue, err := g.log.Prefix().Unerased(ctx)
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	e.residue, e.residueAt = residue && g.opt.Outside, g.log.Prefix().Base().Seq
	e.mu.Unlock()
	if left > 0 || residue && !g.opt.Outside {
		return false, nil
	}
	return g.snapshots.Erased(ctx, uint64(inForce))
}

// replicasForgot tells whether the log's replicas have had the time to forget what is gone from the log. The time begins once all of them have
// deleted it, and anew where one was away. Of an erasure that was over the node knows so already.
func (g *Forgetter) replicasForgot(inForce fanfold.AsOf, gone bool) bool {
	e := &g.erasures
	replicas, current := g.log.Replicas().Count()
	over := gone && (replicas <= 1 || e.over() >= inForce)
	if gone && !over {
		switch {
		case g.log.Replicas().Away() > 0:
			e.goneFor = 0
		case e.goneFor == inForce:
			over = time.Since(e.goneSince) >= g.replicaWait()
		case current >= replicas:
			e.goneFor, e.goneSince = inForce, time.Now()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waits = gone && !over
	return over
}

// replicaWait returns for how long replicas keep what was deleted in their logs of what they have agreed on.
func (g *Forgetter) replicaWait() time.Duration {
	if g.opt.ReplicaWait > 0 {
		return g.opt.ReplicaWait
	}
	return replicaWait
}

// deleteErased deletes the messages that are erased, and makes the object stores anew that have had copies of them.
func (g *Forgetter) deleteErased(ctx context.Context, inForce fanfold.AsOf) error {
	if err := g.Groups.ForgetParked(ctx); err != nil {
		return err
	}
	also, err := g.deadEntries(ctx)
	if err != nil {
		return err
	}
	if err := g.log.Prefix().EraseMessages(ctx, also, g.erasures.progress); err != nil {
		return err
	}
	if err := g.opt.EraseStep(StepDeleted); err != nil {
		return err
	}
	if err := g.remakeBuckets(ctx, inForce); err != nil {
		return err
	}
	return g.opt.EraseStep(StepRemade)
}

// hasResidue tells whether an outside server may have content on its disk yet.
func (e *erasures) hasResidue() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.residue
}

// progress notes how many messages are deleted.
func (e *erasures) progress(done, total int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deleted, e.total = done, total
}

// deadEntries returns what of the embedded server's streams beside the log is to go from its files.
func (g *Forgetter) deadEntries(ctx context.Context) (map[string]func(uint64) bool, error) {
	if g.opt.Outside {
		return nil, nil
	}
	stream, dead, has, err := buckets.NewKeyValue(g.log, "groups").Dead(ctx)
	if err != nil || !has {
		return nil, err
	}
	return map[string]func(uint64) bool{stream: dead}, nil
}

// remakeBuckets makes the object stores anew that have had copies from before an erasure.
func (g *Forgetter) remakeBuckets(ctx context.Context, inForce fanfold.AsOf) error {
	var keep fanfold.BaseFile
	if c, _ := g.log.Prefix().Compaction(); c != nil && g.log.Prefix().Base().Seq > 0 {
		keep = c.Base
	}
	erased, err := g.snapshots.Erased(ctx, uint64(inForce))
	if err == nil && !erased {
		err = g.snapshots.Remake(ctx, keep, uint64(inForce))
	}
	return err
}
