package writer

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/nats-io/nuid"
)

// holderGate keeps documents of this node from beginning to refer to one that is being deleted with its holders. Every write of documents
// enters, which costs it two locks. A delete closes the gate for its documents, waits for what has entered, and only then reads
// the holders.
type holderGate struct {
	slow chan struct{} // has an element while a closing is open that may have to give way to another

	mu      sync.Mutex
	version uint64 // counts what is closed
	closed  map[*closing]struct{}
	current *flights
	earlier []*flights // that deletes wait for
}

// flights counts writes that are under way.
type flights struct {
	n       int
	retired bool          // no write enters any more
	done    chan struct{} // closed once none is under way of those that are retired
}

// closing is what one delete has closed the gate for.
type closing struct {
	gate    *holderGate
	model   *model.Model
	keys    map[fanfold.Key]bool // never changed, only replaced; under gate.mu
	derived bool                 // holders refer by derived ids, so any write may make one
	open    chan struct{}        // closed once the delete is over
	end     func()               // opens the gate
}

// givesWay is the cause of an Unavailable by which a delete gives way to another.
type givesWay struct{ over <-chan struct{} }

func (givesWay) Error() string { return "another delete is under way" }

// newHolderGate returns a gate that is open.
func newHolderGate() *holderGate {
	return &holderGate{slow: make(chan struct{}, 1), closed: map[*closing]struct{}{}, current: &flights{done: make(chan struct{})}}
}

// leave ends a write that has entered.
func (g *holderGate) leave(f *flights) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.n--; f.n == 0 && f.retired {
		close(f.done)
		g.earlier = slices.DeleteFunc(g.earlier, func(e *flights) bool { return e == f })
	}
}

// tryEnter lets a write in unless the gate was closed for something since version. It returns what the gate is closed for
// otherwise, and the version of that.
func (g *holderGate) tryEnter(looked bool, version uint64, mine *closing) (in *flights, closed map[*closing]map[fanfold.Key]bool, now uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, own := g.closed[mine]; len(g.closed) == 0 || own && len(g.closed) == 1 || looked && version == g.version {
		g.current.n++
		return g.current, nil, g.version
	}
	closed = map[*closing]map[fanfold.Key]bool{}
	for c := range g.closed {
		if c != mine {
			closed[c] = c.keys
		}
	}
	return nil, closed, g.version
}

// close closes the gate for documents more, and returns the writes that have entered before.
func (g *holderGate) close(c *closing, keys []fanfold.Key) (entered []*flights) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.version++
	all := maps.Clone(c.keys)
	for _, key := range keys {
		all[key] = true
	}
	c.keys, g.closed[c] = all, struct{}{}
	if g.current.n > 0 {
		g.current.retired = true
		g.earlier = append(g.earlier, g.current)
		g.current = &flights{done: make(chan struct{})}
	}
	return slices.Clone(g.earlier)
}

// reopen opens the gate again for what it was closed for.
func (g *holderGate) reopen(c *closing) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.version++
	delete(g.closed, c)
	close(c.open)
}

// holders is the writer at its gate: it lets writes enter, and closes the gate for deletes.
type holders struct{ w *Writer }

// holdersOf returns the holders of a writer.
func holdersOf(w *Writer) holders { return holders{w} }

// enter lets writes begin once none of their documents comes to refer to one that is being deleted, and returns what ends them. It waits for
// Options.Timeout at most, and with a closing of their own not at all; the error is Unavailable then, and nothing is written.
func (g holders) enter(ctx context.Context, writes []fanfold.Write, mine *closing) (leave func(), err error) {
	in, closed, version := g.w.gate.tryEnter(false, 0, mine)
	for limit := (<-chan time.Time)(nil); in == nil; in, closed, version = g.w.gate.tryEnter(true, version, mine) {
		c, err := g.refersTo(writes, closed)
		switch {
		case err != nil:
			return nil, err
		case c == nil:
			continue
		case mine != nil:
			return nil, fanfold.Wrap(givesWay{c.open}, fanfold.Unavailable, "another delete is under way that concerns the same documents; nothing was written, try again")
		case limit == nil:
			limit = time.After(g.w.opt.Timeout)
		}
		select {
		case <-c.open:
		case <-ctx.Done():
			return nil, ended(ctx)
		case <-limit:
			return nil, fanfold.Errorf(fanfold.Unavailable, "a document is being deleted to which the write refers, and that takes long; nothing was written, try again")
		}
	}
	return func() { g.w.gate.leave(in) }, nil
}

// refersTo returns a closing to whose documents one of the writes may refer, nil for none.
func (g holders) refersTo(writes []fanfold.Write, closed map[*closing]map[fanfold.Key]bool) (*closing, error) {
	for c, keys := range closed {
		for _, write := range writes {
			if refers, err := g.mayReferTo(write.Event, c, keys); refers || err != nil {
				return c, err
			}
		}
	}
	return nil, nil
}

// mayReferTo tells whether an event may make a document refer to one of keys. The writes that a delete brings with it only take references away.
func (g holders) mayReferTo(ev *fanfold.Event, c *closing, keys map[fanfold.Key]bool) (bool, error) {
	switch {
	case !isAboutDocument(ev):
		return false, nil
	case c.derived:
		return true, nil
	case ev.Kind == fanfold.KindDelete, ev.ByDelete != nil, c.model.Collection(ev.Key.Collection) == nil:
		return false, nil
	}
	to := map[string]bool{}
	for key := range keys {
		to[key.Collection] = true
	}
	relations := slices.Clone(c.model.Collection(ev.Key.Collection).Relations)
	relations = slices.DeleteFunc(relations, func(r *model.Relation) bool { return !r.OnDelete.AffectsHolders() || !to[r.To] })
	if len(relations) == 0 {
		return false, nil
	}
	body := ev.Body
	if ev.Kind == fanfold.KindPatch {
		doc, _, err := g.w.ReadModel.Get(ev.Key, fanfold.Referenced)
		if err != nil || revisionOf(doc) != ev.Base {
			return true, err // it is on its way to another revision, and waits
		}
		if body, err = jsondoc.Patched(doc.Body, ev.Body, ev.Merges()); err != nil {
			return true, nil //nolint:nilerr // whoever applies it says so
		}
	}
	defer g.w.Parsing(body)()
	t := jsondoc.MustParse(body)
	return slices.ContainsFunc(relations, func(r *model.Relation) bool {
		return slices.ContainsFunc(r.Targets(t), func(id string) bool { return keys[fanfold.Key{Collection: r.To, ID: id}] })
	}), nil
}

// Bounds of how often a delete gives way to others.
const (
	maxGivingWay    = 12
	pauseGivingWay  = 2 * time.Millisecond
	longestGivesWay = 500 * time.Millisecond
)

// withoutHolders calls fn while no document of this node begins to refer to keys, which are about to be deleted with their
// holders. slow says that fn writes references, too. It calls fn again after fn has given way to another delete. Errors are fn's, and Unavailable.
func (g holders) withoutHolders(ctx context.Context, keys []fanfold.Key, slow bool, fn func(c *closing) (uint64, error)) (uint64, error) {
	for n := 0; ; n++ {
		c, err := g.closeFor(ctx, keys, slow)
		if err != nil {
			return 0, err
		}
		first, err := fn(c)
		c.end()
		way, gives := causeGivesWay(err)
		if !gives || n == maxGivingWay {
			return first, err
		}
		select {
		case <-way.over:
		case <-ctx.Done():
			return 0, ended(ctx)
		}
		if err := pauseBetween(ctx, n); err != nil {
			return 0, err
		}
	}
}

// closeFor closes the gate for keys, and waits until no write is under way that entered before.
func (g holders) closeFor(ctx context.Context, keys []fanfold.Key, slow bool) (c *closing, err error) {
	m, _, _ := g.w.Models.Model()
	c = &closing{gate: g.w.gate, model: m, keys: map[fanfold.Key]bool{}, derived: reachesDerived(m, keys), open: make(chan struct{})}
	var undo []func()
	c.end = func() {
		for _, fn := range slices.Backward(undo) {
			fn()
		}
		undo = nil
	}
	if slow || c.derived {
		select {
		case g.w.gate.slow <- struct{}{}:
			undo = append(undo, func() { <-g.w.gate.slow })
		case <-ctx.Done():
			return nil, ended(ctx)
		}
	}
	undo = append(undo, func() { g.w.gate.reopen(c) })
	if err := c.close(ctx, keys); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// close closes the gate for documents more, and waits until no write is under way that entered before. The error is Unavailable.
func (c *closing) close(ctx context.Context, keys []fanfold.Key) error {
	for _, f := range c.gate.close(c, keys) {
		select {
		case <-f.done:
		case <-ctx.Done():
			return ended(ctx)
		}
	}
	return nil
}

// closeMore closes the gate for documents more, and waits until this node shows everything from before. The error is Unavailable.
func (g holders) closeMore(ctx context.Context, c *closing, keys []fanfold.Key) error {
	if err := c.close(ctx, keys); err != nil {
		return err
	}
	return g.w.catchUp(ctx)
}

// missing returns which deleted documents the gate is not closed for, of those to which holders come that the delete would have to change.
func (c *closing) missing(writes []fanfold.Write) (keys []fanfold.Key) {
	if c == nil {
		return nil
	}
	for _, write := range writes {
		key := write.Event.Key
		if write.Event.Kind == fanfold.KindDelete && !c.keys[key] && affectsHoldersOf(c.model, key.Collection) {
			keys = append(keys, key)
		}
	}
	return keys
}

// affectsHoldersOf tells whether the delete of a collection's document affects its holders.
func affectsHoldersOf(m *model.Model, collection string) bool {
	return slices.ContainsFunc(m.RelationsTo(collection), func(r *model.Relation) bool { return r.OnDelete.AffectsHolders() })
}

// reachesDerived tells whether deletes of documents lead to holders that refer by derived ids.
func reachesDerived(m *model.Model, keys []fanfold.Key) bool {
	var reached []string
	for _, key := range keys {
		reached = append(reached, key.Collection)
	}
	for i := 0; i < len(reached); i++ {
		for _, r := range m.RelationsTo(reached[i]) {
			switch {
			case !r.OnDelete.AffectsHolders():
			case r.Derived():
				return true
			case r.OnDelete == model.Cascade && !slices.Contains(reached, r.Collection):
				reached = append(reached, r.Collection)
			}
		}
	}
	return false
}

// causeGivesWay returns what a delete gives way to, if an error says so.
func causeGivesWay(err error) (way givesWay, gives bool) {
	gives = errors.As(err, &way)
	return way, gives
}

// pauseBetween waits before a delete is tried again that has given way for the nth time, for a time by chance. The error is Unavailable.
func pauseBetween(ctx context.Context, n int) error {
	longest := min(pauseGivingWay<<n, longestGivesWay)
	select {
	case <-time.After(rand.N(longest)):
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// maxLateRounds bounds how often holders are looked for that another node stored right before a delete.
const maxLateRounds = 10

// removeLateHolders looks for holders that another node stored after the holders of deleted documents were read and before the delete, whose
// first event is at first. It deletes them, or takes their reference away, in transactions of its own. The delete stands whatever
// comes of that, so an error is logged.
func (g holders) removeLateHolders(ctx context.Context, writes []fanfold.Write, first uint64, in Intent) {
	if g.w.Members == nil { // the gate has let none through
		return
	}
	in.lenient = true
	last, gone := first+uint64(len(writes))-1, []fanfold.Key{}
	for _, write := range writes {
		if write.Event.Kind == fanfold.KindDelete {
			gone = append(gone, write.Event.Key)
		}
	}
	for range maxLateRounds {
		err := g.w.wait(ctx, last, g.w.opt.Timeout)
		var late []fanfold.Write
		if err == nil {
			late, err = g.lateHolders(gone, fanfold.Revision(first))
		}
		if err == nil && len(late) == 0 {
			return
		}
		if err == nil {
			var at uint64
			if at, err = g.w.appendAll(ctx, nuid.Next(), late, in, nil); err == nil {
				last = at + uint64(len(late)) - 1
			}
		}
		if err != nil && staleError(err) == nil {
			g.w.opt.Logger.Warn("documents that another node stored right before a delete may still refer to what it deleted", "document", gone[0], "event", first, "err", err)
			return
		}
		for _, write := range late {
			if write.Event.Kind == fanfold.KindDelete {
				gone = append(gone, write.Event.Key)
			}
		}
	}
}

// lateHolders returns the writes that take away what documents of before an event refer to, among the deleted documents. It logs those that should
// have restricted the delete.
func (g holders) lateHolders(gone []fanfold.Key, before fanfold.Revision) (writes []fanfold.Write, err error) {
	m, _, _ := g.w.Models.Model()
	err = g.w.ReadModel.Read(func(snap Snapshot) error {
		r := g.w.newRemoval(snap, m, MaxOperations)
		for _, target := range gone {
			r.root = target
			for _, rel := range m.RelationsTo(target.Collection) {
				if !rel.OnDelete.AffectsHolders() || rel.OnDelete == model.Restrict && rel.Strict {
					continue
				}
				if err := r.visitHolders(rel, target, func(holder *fanfold.Document) error {
					switch {
					case holder.Revision >= before:
						return nil
					case rel.OnDelete == model.Restrict: // which nothing can mend any more
						g.w.opt.Logger.Warn("a document that another node stored right before a delete refers to what it deleted: restrict holds between nodes with strict alone",
							"document", holder.Key, "relation", rel.FullName(), "deleted", target, "event", before)
						return nil
					}
					_, err := r.visitHolder(rel, target, holder)
					return err
				}); err != nil {
					return err
				}
			}
		}
		if err := r.refusal(); err != nil {
			return err
		}
		writes, err = r.writes()
		for _, write := range writes {
			write.Event.ByDelete = nil // it names a delete of the same transaction
		}
		return err
	})
	return writes, err
}
