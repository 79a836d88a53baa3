package node

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
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

	checked   uint64        // the erase events up to it were seen to be over by this process
	noticedAt time.Time     // when this process noticed that something is to come into force; zero for nothing
	noticedIn uint64        // the last erase event that was in force then
	due       time.Time     // when what failed is tried again
	pause     time.Duration // after it fails once more
	left      bool          // what erased.views says was looked at by this process
	goneFor   uint64        // the erasure in force with nothing left in any replica of the log
	goneSince time.Time     // since when, with all replicas there
}

// How often a node looks after erasures, and what it waits for.
const (
	erasuresEvery = 250 * time.Millisecond
	eraseAnyway   = 10 * time.Minute // after which a node that is not ready is not waited for
	eraseRetry    = 10 * time.Second
	replicaWait   = 5 * time.Minute // for replicas to compact their Raft logs: a server does every 2 to 3 minutes, and may put it off
	maxErased     = 3 << 20         // bytes of an erased event's documents
	erasedAtOnce  = 16              // erased events in a transaction
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

// eraseStep tells a test of a step.
func (n *Node) eraseStep(step string) error {
	if n.cfg.EraseStep == nil {
		return nil
	}
	return n.cfg.EraseStep(step)
}

// forgetErased removes a read model that has what is erased, before anybody sees it, and returns whether there was one. The node begins like a new one.
func (n *Node) forgetErased() (forgot bool, err error) {
	cp, err := n.Store.Checkpoint()
	if err != nil {
		return false, err
	}
	_, inForce := n.Log.Prefix().Erasures()
	if n.cfg.AsIs || cp.Erasure >= inForce || cp.Seq == 0 {
		return false, nil
	}
	n.cfg.Logger.Info("the read model has what was erased since, and is removed and built anew", "erasure", inForce, "event", cp.Seq)
	return true, n.Store.Empty()
}

// runErasures looks after erasures until ctx ends, and returns nil.
func (n *Node) runErasures(ctx context.Context) error {
	tick := time.NewTicker(erasuresEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if time.Now().Before(n.erasures.due) {
			continue
		}
		err := n.goOnErasing(ctx)
		if ctx.Err() != nil {
			return nil
		}
		n.erasures.note(err)
		if err == nil {
			n.erasures.pause = 0
		} else {
			n.erasures.pause = min(max(2*n.erasures.pause, erasuresEvery), eraseRetry)
			n.erasures.due = time.Now().Add(n.erasures.pause)
			n.cfg.Logger.Warn("an erasure cannot go on, and is tried again", "err", err)
		}
	}
}

// note takes note of why the last try failed, nil where it did not.
func (e *erasures) note(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed = ""; err != nil {
		e.failed = fanfold.MessageOf(err)
	}
}

// goOnErasing does what is to be done next of the erasures that are not over.
func (n *Node) goOnErasing(ctx context.Context) error {
	e := &n.erasures
	last, inForce := n.Log.Prefix().Erasures()
	e.notice(last > inForce || n.baseLacks(inForce), inForce)
	if err := n.nameLeft(ctx, inForce); err != nil {
		return err
	}
	if last > inForce || n.baseLacks(inForce) {
		if err := n.bringIntoForce(ctx, inForce); err != nil {
			return err
		}
		_, inForce = n.Log.Prefix().Erasures()
	}
	if n.hasResidue() && n.Log.Prefix().Base().Seq != e.residueAt { // a purge may have passed it
		e.checked = 0
	}
	if inForce > e.checked && n.Projector.Erasure() >= inForce {
		return n.finishErasing(ctx, inForce)
	}
	return nil
}

// notice notes since when something is to come into force. Later requests share that wait: a stream of them must not hold it off.
func (e *erasures) notice(pending bool, inForce uint64) {
	switch {
	case !pending:
		e.noticedAt = time.Time{}
	case e.noticedAt.IsZero() || e.noticedIn != inForce:
		e.noticedAt, e.noticedIn = time.Now(), inForce
	}
}

// baseLacks tells whether the log begins at a base that has what is erased.
func (n *Node) baseLacks(inForce uint64) bool {
	b := n.Log.Prefix().Base()
	return b.Seq > 0 && b.Erasure < inForce
}

// bringIntoForce appends the event from which on something is gone, once the live nodes are prepared, or ten minutes after the first erase event. Of several nodes
// the live one with the smallest id does it.
func (n *Node) bringIntoForce(ctx context.Context, inForce uint64) error {
	waited := time.Since(n.erasures.noticedAt) >= eraseAnyway
	upTo := n.Projector.ErasurePrepared()
	if upTo < inForce || upTo == inForce && !n.baseLacks(inForce) || !n.leads() && !waited {
		return nil
	}
	if waiting, err := n.isWaitedFor(ctx, func(node wire.Node) bool { return node.Erasure < upTo }); err != nil || waiting && !waited {
		return err
	}
	if err := n.eraseStep(StepErasurePrepared); err != nil {
		return err
	}
	keys, at := map[fanfold.Key]struct{}{}, fanfold.Position(0)
	var err error
	if upTo > inForce {
		if keys, at, err = n.Projector.ErasedViews(ctx, upTo); err != nil {
			return orGone(err)
		}
		if err := n.keepViews(erasedViews{upTo, uint64(at)}); err != nil {
			return err
		}
	}
	if err := n.eraseStep(StepCompared); err != nil {
		return err
	}
	base, err := n.erasedBase(ctx, upTo)
	if err != nil {
		return err
	}
	first, err := n.appendErased(ctx, &fanfold.Erased{UpTo: upTo, Base: base}, slices.Collect(maps.Keys(keys)))
	if err == nil {
		err = n.eraseStep(StepErased)
	}
	if err != nil {
		return err
	}
	n.cfg.Logger.Info("an erasure is in force", "erasure", upTo, "event", first, "documents", len(keys))
	if err := n.Store.Applied.Wait(ctx, first); err != nil || at == 0 {
		return err
	}
	if err := n.eraseStep(StepEraseSwitched); err != nil {
		return err
	}
	return n.nameMissed(ctx, upTo, at, first, keys)
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
func (n *Node) erasedBase(ctx context.Context, erasure uint64) (c *fanfold.Compaction, err error) {
	if n.Log.Prefix().Base().Seq == 0 {
		return nil, nil
	}
	path := filepath.Join(n.cfg.Data, erasedBaseFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot write %s: %v", path, err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	h, ok, err := n.Projector.WriteErasedBase(ctx, erasure, f)
	if err != nil || !ok {
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	file, _, err := n.storeBase(ctx, h, f)
	return &fanfold.Compaction{Horizon: h, Base: file, Erasure: erasure}, err
}

// erasedBaseFile is the name of the file in the data directory from which a base is sent that takes the place of another one.
const erasedBaseFile = "base.erased"

// appendErased appends the events from which on an erasure is in force, each with some of the documents, and returns the first one's sequence once they
// are durable.
func (n *Node) appendErased(ctx context.Context, erased *fanfold.Erased, documents []fanfold.Key) (first uint64, err error) {
	slices.SortFunc(documents, func(a, b fanfold.Key) int { return strings.Compare(a.String(), b.String()) })
	cp, err := n.Store.Checkpoint()
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(erasedEvents(erased, documents), erasedAtOnce) {
		seq, err := n.appendEach(ctx, part, fanfold.Expect{Set: true, Rev: fanfold.Revision(n.Log.Prefix().LastErased()), Folded: cp.Seq})
		if err != nil {
			return 0, err
		}
		if first == 0 {
			first = seq
		}
	}
	return first, nil
}

// erasedEvents returns the events from which on an erasure is in force. Each names as many of the documents, which they share, as it has room for.
func erasedEvents(erased *fanfold.Erased, documents []fanfold.Key) (all []*fanfold.Event) {
	for ev := erased; ; {
		n := 0
		for size := 0; n < len(documents) && size < maxErased; n++ {
			size += 6*(len(documents[n].Collection)+len(documents[n].ID)) + 8
		}
		ev.Documents, documents = documents[:n:n], documents[n:]
		all = append(all, &fanfold.Event{Kind: fanfold.KindErased, Erased: ev})
		if len(documents) == 0 {
			return all
		}
		ev = &fanfold.Erased{UpTo: erased.UpTo}
	}
}

// appendEach appends events in one transaction, the first one under a condition.
func (n *Node) appendEach(ctx context.Context, list []*fanfold.Event, expect fanfold.Expect) (first uint64, err error) {
	if len(list) == 1 {
		return n.Log.Append(ctx, list[0], expect)
	}
	writes := make([]fanfold.Write, len(list))
	for i, ev := range list {
		writes[i].Event = ev
	}
	writes[0].Expect = expect
	return n.Log.AppendAll(ctx, nuid.Next(), writes)
}

// nameMissed appends an event that names the documents which were changed between the position up to which an erasure's event names documents, and that event.
func (n *Node) nameMissed(ctx context.Context, upTo uint64, at fanfold.Position, event uint64, named map[fanfold.Key]struct{}) error {
	missed, known := n.Projector.MissedViews(upTo)
	if !known {
		missed = map[fanfold.Key]struct{}{}
		err := n.Projector.ChangedBetween(at, event, func(key fanfold.Key) { missed[key] = struct{}{} })
		if err != nil && fanfold.CodeOf(err) != fanfold.PositionGone { // whoever lags so far begins anew
			return err
		}
	}
	maps.DeleteFunc(missed, func(key fanfold.Key, _ struct{}) bool {
		_, ok := named[key]
		return ok
	})
	if len(missed) > 0 {
		if _, err := n.appendErased(ctx, &fanfold.Erased{UpTo: upTo}, slices.Collect(maps.Keys(missed))); err != nil {
			return err
		}
	}
	n.erasures.left = true
	return os.Remove(filepath.Join(n.cfg.Data, erasedViewsFile))
}

// erasedViewsFile is the name of the file in the data directory that says up to where an erasure's event names documents, until those that were changed
// later are named, too.
const erasedViewsFile = "erased.views"

// erasedViews is what that file has.
type erasedViews struct {
	UpTo uint64 `json:"upTo"`
	At   uint64 `json:"at"` // a position
}

// keepViews writes that file.
func (n *Node) keepViews(v erasedViews) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n.erasures.left = false
	return datadir.WriteFile(filepath.Join(n.cfg.Data, erasedViewsFile), text, 0o600, nil)
}

// nameLeft names the documents that an erasure's event has missed which is in force, where the process ended or failed before it did.
func (n *Node) nameLeft(ctx context.Context, inForce uint64) error {
	if n.erasures.left {
		return nil
	}
	path := filepath.Join(n.cfg.Data, erasedViewsFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		n.erasures.left = true
		return nil
	}
	if err != nil {
		return err
	}
	var v erasedViews
	if json.Unmarshal(text, &v) != nil { // it says nothing
		return os.Remove(path)
	}
	if v.UpTo > inForce || n.Projector.Erasure() < inForce {
		return nil
	}
	at, err := n.inForceSince(v.UpTo)
	if err != nil || at == 0 {
		return err
	}
	return n.nameMissed(ctx, v.UpTo, fanfold.Position(v.At), at.Seq(), nil)
}

// inForceSince returns the position of the event by which an erasure came into force, 0 for none that is folded.
func (n *Node) inForceSince(erasure uint64) (at fanfold.Position, err error) {
	err = n.Store.Read(func(s *sqlite.Snapshot) error {
		e, err := s.Erasure(erasure)
		if e != nil {
			at = e.Position
		}
		return err
	})
	return at, err
}

// finishErasing removes what the log, the object stores and the node's files have of what is erased, and takes note once nothing is left.
func (n *Node) finishErasing(ctx context.Context, inForce uint64) error {
	if err := n.forgetFiles(); err != nil {
		return err
	}
	gone, err := n.isErased(ctx, inForce)
	if err == nil && !gone {
		err = n.notOver(inForce)
		if c := n.Projector.Compaction(); c != nil && c.Running { // it reads the log, whose server would be started again
			return err
		}
		if err == nil && n.leads() {
			if err = n.deleteErased(ctx, inForce); err == nil {
				gone, err = n.isErased(ctx, inForce)
			}
			if !gone { // another node may still hold something; deleting again may start the log's server again
				n.erasures.due = time.Now().Add(eraseRetry)
			}
		}
	}
	over := err == nil && n.replicasForgot(inForce, gone)
	if c, seq := n.Log.Prefix().Compaction(); c != nil && n.compactions.purged.Load() < seq { // what is before the base is in the log yet
		over = false
		if failed := n.compactions.failed.Load(); failed != nil && err == nil {
			err = fanfold.Wrap(*failed, fanfold.CodeOf(*failed), "the log cannot be purged of what is before the store's begin: %s", fanfold.MessageOf(*failed))
		}
	}
	if err != nil || !over {
		return err
	}
	if err := n.eraseStep(StepEraseDone); err != nil {
		return err
	}
	if n.erasures.done.Swap(inForce) < inForce {
		n.cfg.Logger.Info("an erasure is over", "erasure", inForce)
	}
	n.erasures.checked = inForce
	text := strconv.FormatUint(inForce, 10)
	if n.hasResidue() {
		text += erasedResidue
	}
	return datadir.WriteFile(filepath.Join(n.cfg.Data, erasedFile), []byte(text+"\n"), 0o600, nil)
}

// notOver takes back that an erasure was over: a stream was restored since.
func (n *Node) notOver(inForce uint64) error {
	if n.erasures.done.Load() < inForce {
		return nil
	}
	n.erasures.done.Store(0)
	if err := os.Remove(filepath.Join(n.cfg.Data, erasedFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
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
func (n *Node) readDone() {
	text, err := os.ReadFile(filepath.Join(n.cfg.Data, erasedFile))
	if err != nil {
		return
	}
	number, residue := strings.CutSuffix(strings.TrimSpace(string(text)), erasedResidue)
	if done, err := strconv.ParseUint(number, 10, 64); err == nil {
		n.erasures.done.Store(done)
		n.erasures.residue = residue
	}
}

// forgetFiles removes what the node's files have of what is erased: the witness, and copies of the read model.
func (n *Node) forgetFiles() error {
	cp, err := n.Store.Checkpoint()
	if err == nil {
		err = n.check.Keep(cp)
	}
	if err != nil {
		return err
	}
	if !n.snapshots.taking.TryLock() {
		return fanfold.Errorf(fanfold.Unavailable, "a snapshot is being taken, which may have what is erased: this waits for its end")
	}
	defer n.snapshots.taking.Unlock()
	return sqlite.RemoveSaved(filepath.Join(n.cfg.Data, savedFile))
}

// isErased tells whether nothing is left of what is erased in the log and the object stores.
func (n *Node) isErased(ctx context.Context, inForce uint64) (bool, error) {
	e := &n.erasures
	left, residue, err := n.Log.Prefix().Unerased(ctx)
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	e.residue, e.residueAt = residue && n.embedded == nil, n.Log.Prefix().Base().Seq
	e.mu.Unlock()
	if left > 0 || residue && n.embedded != nil {
		return false, nil
	}
	bases, err := n.compactions.bases.Erased(ctx, inForce)
	if err != nil || !bases {
		return false, err
	}
	if n.embedded == nil {
		snapshots, err := buckets.NewSnapshots(n.Log).Erased(ctx, inForce)
		if err != nil || !snapshots {
			return false, err
		}
	}
	return true, nil
}

// replicasForgot tells whether the log's replicas have had the time to forget what is gone from the log. The time begins once all of them have
// deleted it, and anew where one was away. Of an erasure that was over the node knows so already.
func (n *Node) replicasForgot(inForce uint64, gone bool) bool {
	e := &n.erasures
	replicas, current := n.Log.ReplicaCount()
	over := gone && (replicas <= 1 || e.done.Load() >= inForce)
	if gone && !over {
		switch {
		case n.Log.ReplicasAway() > 0:
			e.goneFor = 0
		case e.goneFor == inForce:
			over = time.Since(e.goneSince) >= n.replicaWait()
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
func (n *Node) replicaWait() time.Duration {
	if n.cfg.ReplicaWait > 0 {
		return n.cfg.ReplicaWait
	}
	return replicaWait
}

// deleteErased deletes the messages that are erased, and makes the object stores anew that have had copies of them.
func (n *Node) deleteErased(ctx context.Context, inForce uint64) error {
	if err := n.groups.ForgetParked(ctx); err != nil {
		return err
	}
	also, err := n.deadEntries(ctx)
	if err != nil {
		return err
	}
	if err := n.Log.Prefix().EraseMessages(ctx, also, n.erasures.progress); err != nil {
		return err
	}
	if err := n.eraseStep(StepDeleted); err != nil {
		return err
	}
	if err := n.remakeBuckets(ctx, inForce); err != nil {
		return err
	}
	return n.eraseStep(StepRemade)
}

// progress notes how many messages are deleted.
func (e *erasures) progress(done, total int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deleted, e.total = done, total
}

// deadEntries returns what of the embedded server's streams beside the log is to go from its files.
func (n *Node) deadEntries(ctx context.Context) (map[string]func(uint64) bool, error) {
	if n.embedded == nil {
		return nil, nil
	}
	stream, dead, has, err := buckets.NewKeyValue(n.Log, "groups").Dead(ctx)
	if err != nil || !has {
		return nil, err
	}
	return map[string]func(uint64) bool{stream: dead}, nil
}

// remakeBuckets makes the object stores anew that have had copies from before an erasure.
func (n *Node) remakeBuckets(ctx context.Context, inForce uint64) error {
	bases, keep := n.compactions.bases, fanfold.BaseFile{}
	if c, _ := n.Log.Prefix().Compaction(); c != nil && n.Log.Prefix().Base().Seq > 0 {
		keep = c.Base
	}
	erased, err := bases.Erased(ctx, inForce)
	if err == nil && !erased {
		err = bases.Remake(ctx, keep, inForce)
	}
	if err != nil || n.embedded != nil {
		return err
	}
	snapshots := buckets.NewSnapshots(n.Log)
	if erased, err = snapshots.Erased(ctx, inForce); err == nil && !erased {
		err = snapshots.Remake(ctx)
	}
	return err
}
