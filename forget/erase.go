package forget

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/skeleton"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

const (
	maxErasuresWaiting  = 1000    // erasures that are not in force yet
	maxDocumentsWaiting = 800_000 // of them: one event brings all into force, and causes at most fanfold.MaxChanges changes
	maxEraseTries       = 20      // of a request that other writes are faster than
	deletesAtOnce       = 100     // documents that one transaction deletes
)

// The steps of a request for an erasure that EraseStep is told of.
const (
	StepCollected     = "collected" // the messages to list are known
	StepEraseAppended = "appended"  // erase events are in the log
)

// erasing is a request for an erasure under way.
type erasing struct {
	g       *Eraser
	asked   fanfold.EraseRequest
	by      string
	keep    map[string][]string // see fanfold.Erasure
	rules   []*model.Rule       // of all models so far that are known: those whose values may be kept
	pending []fanfold.Key       // the documents that no erase event names yet
	first   uint64              // the first erase event; 0 before it
	// erasedAt has the last erase event that names each of the documents, and covers what is asked for.
	erasedAt map[fanfold.Key]uint64
	applied  uint64 // what the read model had folded when it was read
}

// PlanErasure tells what an erasure would take away. Errors are NotFound for a document that never was, Conflict where the log's
// server cannot erase, other work is under way or a member is at a relation, and Unavailable. Others
// are of the deletes, such as Restricted.
func (g *Eraser) PlanErasure(ctx context.Context, asked fanfold.EraseRequest) (*wire.ErasurePlan, error) {
	e, err := g.newErasing(ctx, asked, "")
	if err != nil {
		return nil, err
	}
	if err := e.rehearse(ctx); err != nil {
		return nil, err
	}
	collected, err := e.collectAll(ctx)
	if err != nil {
		return nil, err
	}
	plan := &wire.ErasurePlan{Documents: int64(len(asked.Documents)), Versions: collected.Versions, Events: collected.Events,
		Copies: map[string]int64{}, Frozen: map[string]int64{}, Kept: map[string]int64{}}
	return plan, g.store.Read(func(s *sqlite.Snapshot) error { return e.countCopies(s, plan) })
}

// countCopies counts the documents that show copies of what is to be erased, and what of it lives.
func (e *erasing) countCopies(s *sqlite.Snapshot, plan *wire.ErasurePlan) error {
	m, _, _ := e.g.projector.Model()
	for _, key := range e.asked.Documents {
		row, err := s.Row(key)
		if err != nil {
			return err
		}
		if row != nil && (e.asked.Members == nil || skeleton.Has(row.ReferencedText(), e.asked.Members)) {
			plan.Living++
		}
		for _, rule := range m.Rules {
			if rule.Kind != model.Copy || rule.Relation.To != key.Collection {
				continue
			}
			holders, err := s.CountHolders(rule.Relation.FullName(), key.ID, fanfold.MaxChanges)
			if err != nil {
				return err
			}
			switch {
			case holders == 0:
			case rule.Frozen:
				plan.Frozen[rule.Name()] += holders
			case row == nil && rule.KeepsGone():
				plan.Kept[rule.Name()] += holders
			case row != nil:
				plan.Copies[rule.Name()] += holders
			}
		}
	}
	return nil
}

// Erase begins an erasure. It returns once the log has it; one whose phase is done has begun nothing. by names who asked, "" where nobody knows. It
// returns the errors of PlanErasure, and Busy if too many wait.
func (g *Eraser) Erase(ctx context.Context, asked fanfold.EraseRequest, by string) (*wire.Erasure, error) {
	select {
	case g.erasures.requesting <- struct{}{}: // the next one finds what this one has listed
	case <-ctx.Done():
		return nil, fanfold.Wrap(ctx.Err(), fanfold.Unavailable, "the request ended while another erasure was asked for; nothing is erased")
	}
	defer func() { <-g.erasures.requesting }()
	e, err := g.newErasing(ctx, asked, by)
	if err != nil {
		return nil, err
	}
	if waiting, documents, err := g.erasuresWaiting(); err != nil || waiting >= maxErasuresWaiting || documents+len(asked.Documents) > maxDocumentsWaiting {
		return nil, cmp.Or[error](err, fanfold.Errorf(fanfold.Busy, "%d erasures of %d documents wait to come into force already: try again once they have", waiting, documents))
	}
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	if e.first == 0 {
		return g.erasureOf(ctx, asked.Documents)
	}
	return g.Erasure(ctx, e.first)
}

// erasureOf returns the last erasure that names the first of some documents, if nothing is left to erase of them.
func (g *Eraser) erasureOf(ctx context.Context, documents []fanfold.Key) (*wire.Erasure, error) {
	number := uint64(0)
	err := g.store.Read(func(s *sqlite.Snapshot) error {
		list, err := s.Erasures().All()
		if err != nil {
			return err
		}
		of := numbersOf(list)
		return s.Erasures().EachDocument(func(seq uint64, d fanfold.ErasedDocument) error {
			if d.Key == documents[0] {
				number = of[seq]
			}
			return nil
		})
	})
	if err != nil || number == 0 {
		return &wire.Erasure{Phase: wire.PhaseDone, Documents: int64(len(documents))}, err
	}
	return g.Erasure(ctx, number)
}

// newErasing checks a request. It returns the errors of PlanErasure.
func (g *Eraser) newErasing(ctx context.Context, asked fanfold.EraseRequest, by string) (*erasing, error) {
	if err := g.mayErase(ctx); err != nil {
		return nil, err
	}
	e := &erasing{g: g, asked: asked, by: by, pending: slices.Clone(asked.Documents)}
	if err := e.catchUp(ctx); err != nil {
		return nil, err
	}
	return e, g.store.Read(func(s *sqlite.Snapshot) (err error) {
		if err := errors.Join(e.readModels(s), e.readErased(s)); err != nil {
			return err
		}
		for _, key := range asked.Documents {
			if err := checkKnown(s, key); err != nil {
				return err
			}
			m, _, _ := g.projector.Model()
			if err := cmp.Or(checkMembers(asked.Members, key.Collection, e.keep[key.Collection]), checkNumbers(asked.Members, m.Collection(key.Collection))); err != nil {
				return err
			}
		}
		return nil
	})
}

// mayErase returns why no erasure may begin now, as Conflict, Unavailable or LogDamaged.
func (g *Eraser) mayErase(ctx context.Context) error {
	if err := g.compactor.mayRemove(ctx); err != nil {
		return err
	}
	if c := g.compactor.Compaction(); c != nil && c.Running {
		return fanfold.Errorf(fanfold.Conflict, "a compaction is under way: wait until it is over")
	}
	return nil
}

// checkKnown returns NotFound for a document that never was.
func checkKnown(s *sqlite.Snapshot, key fanfold.Key) error {
	row, err := s.Row(key)
	if err != nil || row != nil {
		return err
	}
	deleted, err := s.Tombstone(key)
	if err != nil || deleted != 0 {
		return err
	}
	if erased, err := s.Erasures().Names(key); err != nil || erased {
		return err
	}
	return fanfold.Errorf(fanfold.NotFound, "there never was a document %s", key)
}

// readModels reads of all models so far that are known where documents of each collection have ids of others, and which rules keep values.
func (e *erasing) readModels(s *sqlite.Snapshot) error {
	folded, err := s.FoldedModels()
	if err != nil {
		return err
	}
	e.keep = map[string][]string{}
	for _, f := range folded {
		source, _, err := s.ModelAt(fanfold.At(f.Seq, fanfold.MaxChanges))
		if err != nil {
			return err
		}
		m, err := modelfile.ParseAccepted(source)
		if err != nil {
			return err
		}
		for _, r := range m.Relations() {
			if path := r.Path.String(); !slices.Contains(e.keep[r.Collection], path) {
				e.keep[r.Collection] = append(e.keep[r.Collection], path)
			}
		}
		for _, r := range m.Rules {
			if r.Kind == model.Copy && r.KeepsValues() {
				e.rules = append(e.rules, r)
			}
		}
	}
	for _, paths := range e.keep {
		slices.Sort(paths)
	}
	return nil
}

// readErased reads which of the documents are erased already.
func (e *erasing) readErased(s *sqlite.Snapshot) error {
	e.erasedAt = map[fanfold.Key]uint64{}
	asked := map[fanfold.Key]bool{}
	for _, key := range e.asked.Documents {
		asked[key] = true
	}
	return s.Erasures().EachDocument(func(seq uint64, d fanfold.ErasedDocument) error {
		missing := func(member string) bool { return !slices.Contains(d.Members, member) }
		if asked[d.Key] && (d.Members == nil || e.asked.Members != nil && !slices.ContainsFunc(e.asked.Members, missing)) {
			e.erasedAt[d.Key] = seq
		}
		return nil
	})
}

// checkMembers returns a Conflict for a member at which a document of a collection has ids of others, or that is inside or around such a place.
func checkMembers(members []string, collection string, kept []string) error {
	paths, err := skeleton.Paths(kept)
	if err != nil {
		return err
	}
	for _, member := range members {
		for _, path := range paths {
			if meets(member, path) {
				return fanfold.Errorf(fanfold.Conflict, "member %s of %s has ids of other documents by the model, at %s, and these stay", fanfold.Clip(member), collection, path)
			}
		}
	}
	return nil
}

// checkNumbers returns a Conflict for a member that has the number of a sequence, or is inside or around it: a document keeps its number.
func checkNumbers(members []string, c *model.Collection) error {
	if !c.Numbers() {
		return nil
	}
	for _, member := range members {
		for _, s := range c.Sequences {
			if meets(member, s.Path) {
				return fanfold.Errorf(fanfold.Conflict, "member %s of %s has the number of a sequence, at %s, and a document keeps its number: erase the document, or members that do not have it", fanfold.Clip(member), c.Name, s.Path)
			}
		}
	}
	return nil
}

// meets tells whether a JSON Pointer leads to a path, into it, or to what is around it.
func meets(pointer string, path model.Path) bool {
	names := jsondoc.PointerTokens(pointer)
	for i := range min(len(names), len(path)) {
		if !path[i].Each() && path[i].Name != names[i] {
			return false
		}
	}
	return true
}

// catchUp waits until everything that was acknowledged is folded.
func (e *erasing) catchUp(ctx context.Context) error {
	seq, err := e.g.Writer.Fence(ctx)
	if err != nil {
		return err
	}
	e.applied = seq
	return e.g.store.Applied.Wait(ctx, seq)
}

// pauseErasing waits until a request is tried again.
func (g *Eraser) pauseErasing(ctx context.Context) {
	select {
	case <-time.After(lookEvery):
	case <-ctx.Done():
	}
}

// run takes away what lives, and lists messages until none is left that is not listed.
func (e *erasing) run(ctx context.Context) error {
	for try := range maxEraseTries {
		if try > 0 {
			e.g.pauseErasing(ctx)
		}
		if err := e.g.mayErase(ctx); err != nil {
			return err
		}
		err := e.once(ctx)
		switch {
		case err == nil:
			return nil
		case fanfold.CodeOf(err) == fanfold.Stale: // a document was written meanwhile, or another erasure was faster
		case errors.Is(err, fanfold.ErrRestarting): // the server, without what is erased already, perhaps of this request
		default:
			return err
		}
	}
	return fanfold.Errorf(fanfold.Conflict, "the documents are written too often to be erased: try again")
}

// once takes away what lives, and lists the messages of what is not listed. Errors are Stale where a document was written meanwhile, and
// fanfold.ErrRestarting: it is to be tried again then.
func (e *erasing) once(ctx context.Context) error {
	if err := e.removeLiving(ctx); err != nil {
		return err
	}
	collected, err := e.collectAll(ctx)
	if err == nil {
		err = e.g.opt.EraseStep(StepCollected)
	}
	if err != nil {
		return err
	}
	return e.list(ctx, collected)
}

// collectAll reads the log for the messages to list of the documents that have none listed yet.
func (e *erasing) collectAll(ctx context.Context) (*events.Collected, error) {
	if err := e.catchUp(ctx); err != nil {
		return nil, err
	}
	documents := make([]fanfold.ErasedDocument, len(e.pending))
	for i, key := range e.pending {
		documents[i] = fanfold.ErasedDocument{Key: key, Members: e.asked.Members}
	}
	return e.g.log.Prefix().Collect(ctx, events.Collecting{Of: e.first, Documents: documents, Keep: e.keep,
		Body: e.g.bodyAtHorizon, InBase: e.isInBase, Copies: e.copies})
}

// list appends erase events one after the other, and others for what came while the messages were looked for. The error is Stale where a document was written
// meanwhile.
func (e *erasing) list(ctx context.Context, collected *events.Collected) error {
	for i, erasure := range collected.Erasures {
		seq, err := e.append(ctx, erasure, true)
		if err != nil {
			return err
		}
		if err := e.listMissed(ctx, erasure.Documents, collected.Last+1, seq); err != nil {
			return err // and all of its documents are looked for again
		}
		e.pending = slices.DeleteFunc(e.pending, func(key fanfold.Key) bool {
			names := func(e *fanfold.Erasure) bool {
				return slices.ContainsFunc(e.Documents, func(d fanfold.ErasedDocument) bool { return d.Key == key })
			}
			return names(erasure) && !slices.ContainsFunc(collected.Erasures[i+1:], names)
		})
	}
	return nil
}

// listMissed lists what came of documents between the messages that were looked at, from one on, and the erase event at seq.
func (e *erasing) listMissed(ctx context.Context, documents []fanfold.ErasedDocument, from, seq uint64) error {
	for from < seq {
		missed, err := e.g.log.Prefix().Collect(ctx, events.Collecting{Of: e.first, Documents: documents, Keep: e.keep, From: from, To: seq, Copies: e.copies})
		if err != nil {
			return err
		}
		stale := false
		for _, erasure := range missed.Erasures {
			_, err := e.append(ctx, erasure, false)
			if stale = fanfold.CodeOf(err) == fanfold.Stale; stale { // another erasure was faster
				break
			}
			if err != nil {
				return err
			}
		}
		if !stale {
			return nil
		}
	}
	return nil
}

// bodyAtHorizon returns a document as it was at the log's base as it was written, nil where there was none.
func (g *Eraser) bodyAtHorizon(_ context.Context, key fanfold.Key) (source []byte, err error) {
	err = g.store.Read(func(s *sqlite.Snapshot) error {
		doc, err := atHorizon(s, key)
		if doc != nil {
			source = doc.Body
		}
		return err
	})
	return source, err
}

// atHorizon returns a document as it was at the horizon as it was written, nil where there was none.
func atHorizon(s *sqlite.Snapshot, key fanfold.Key) (*fanfold.Document, error) {
	h, _, err := s.Horizon()
	if err != nil || h.Seq == 0 {
		return nil, err
	}
	doc, _, err := s.GetAt(h.At(), key, fanfold.Referenced, math.MaxInt)
	return doc, err
}

// isInBase tells whether the base at which the log begins may have something of a document that is not erased yet.
func (e *erasing) isInBase(d fanfold.ErasedDocument) bool {
	base := e.g.log.Prefix().Base()
	if base.Seq == 0 {
		return false
	}
	erased, covered := e.erasedAt[d.Key]
	if covered && fanfold.AsOf(erased) > base.AsOf {
		return false
	}
	known := true // what cannot be told is
	err := e.g.store.Read(func(s *sqlite.Snapshot) error {
		doc, err := atHorizon(s, d.Key)
		if err != nil {
			return err
		}
		if doc != nil {
			known = uint64(doc.Revision) > erased && (d.Members == nil || skeleton.Has(doc.Body, d.Members))
			return nil
		}
		deleted, err := s.Tombstone(d.Key)
		known = !covered && (deleted == 0 || uint64(deleted) <= base.Seq)
		return err
	})
	return err != nil || known
}

// copies tells whether the kept values of a rule on documents of a collection come from a document, or from the members of it that are erased.
func (e *erasing) copies(holders, rule string, of fanfold.ErasedDocument) bool {
	for _, r := range e.rules {
		if r.Relation.To != of.Collection || r.Collection != holders || r.Name() != rule && r.Path.String() != rule {
			continue
		}
		if of.Members == nil || r.Reads == nil {
			return true
		}
		for _, member := range of.Members {
			if slices.Contains(r.Reads, jsondoc.PointerTokens(member)[0]) {
				return true
			}
		}
	}
	return false
}

// livingOperations returns the operations that delete the documents that live, or take the members out of them.
func (e *erasing) livingOperations() (ops []*writer.Operation, err error) {
	return ops, e.g.store.Read(func(s *sqlite.Snapshot) error {
		for _, key := range e.pending {
			row, err := s.Row(key)
			if err != nil {
				return err
			}
			switch {
			case row == nil:
			case e.asked.Members == nil:
				ops = append(ops, &writer.Operation{Kind: writer.Delete, Key: key})
			case skeleton.Has(row.ReferencedText(), e.asked.Members):
				body := skeleton.Without(row.ReferencedText(), e.asked.Members)
				ops = append(ops, &writer.Operation{Kind: writer.Put, Key: key, Content: body, AsWritten: true, Conditions: writer.Conditions{Revisions: []fanfold.Revision{row.Revision}}})
			}
		}
		return nil
	})
}

// rehearse returns why removeLiving would be refused, and takes nothing away.
func (e *erasing) rehearse(ctx context.Context) error {
	ops, err := e.livingOperations()
	if err != nil {
		return err
	}
	return e.removeAll(ctx, ops, true)
}

// removeLiving deletes the documents that live, by the rules of their relations, or takes the members out of them.
func (e *erasing) removeLiving(ctx context.Context) error {
	ops, err := e.livingOperations()
	if err != nil {
		return err
	}
	if len(ops) != 1 || ops[0].Kind != writer.Delete {
		if err := e.removeAll(ctx, ops, true); err != nil { // nothing goes where something cannot
			return err
		}
	}
	return e.removeAll(ctx, ops, false)
}

// removeAll makes operations, some at a time, or a dry run of them. A delete that is alone is made in steps where one transaction does not take it.
func (e *erasing) removeAll(ctx context.Context, ops []*writer.Operation, dry bool) error {
	in := writer.Intent{DryRun: dry, AllowFanout: true, By: e.g.Judge.Of(&access.Principal{ID: strings.TrimPrefix(e.by, "key:"), Roles: []string{model.RoleAdmin}})}
	for part := range slices.Chunk(ops, deletesAtOnce) {
		err := e.transact(ctx, part, in)
		if len(ops) == 1 && errors.Is(err, writer.ErrManySteps) {
			err = e.deleteOne(ctx, ops[0].Key, in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteOne deletes a document in steps: one transaction does not take whatever goes with it.
func (e *erasing) deleteOne(ctx context.Context, key fanfold.Key, in writer.Intent) error {
	for {
		step, err := e.g.Writer.DeleteNext(ctx, key, in)
		if fanfold.CodeOf(err) == fanfold.NotFound { // somebody was faster
			return nil
		}
		if err != nil || step.Done || in.DryRun {
			return err
		}
	}
}

// transact makes some operations at once. A document that was written meanwhile is looked at again.
func (e *erasing) transact(ctx context.Context, ops []*writer.Operation, in writer.Intent) error {
	for _, op := range ops {
		if err := e.g.Writer.Prepare(ctx, op, in.By); err != nil {
			return err
		}
	}
	_, err := e.g.Writer.Transact(ctx, ops, writer.Request{Intent: in})
	if code := fanfold.CodeOf(err); code == fanfold.Stale || code == fanfold.NotFound {
		return nil
	}
	return err
}

// append appends an erase event, with checks that none of its documents was written since where these are asked for, and waits until it is folded. The error is Stale
// where one was.
func (e *erasing) append(ctx context.Context, erasure *fanfold.Erasure, checked bool) (seq uint64, err error) {
	erasure.Of = e.first
	var writes []fanfold.Write
	if checked {
		if writes, err = e.checks(erasure); err != nil {
			return 0, err
		}
	}
	last, _ := e.g.log.Prefix().Erasures()
	writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{List: erasure}, Actor: e.by},
		Expect: fanfold.Expect{Set: true, Rev: fanfold.Revision(last), Folded: e.applied}})
	first, err := e.g.log.AppendAll(ctx, nuid.Next(), writes)
	if err != nil {
		return 0, err
	}
	seq = first + uint64(len(writes)) - 1
	if e.first == 0 {
		e.first = seq
	}
	if err := e.g.store.Applied.Wait(ctx, seq); err != nil {
		return 0, err
	}
	return seq, e.g.opt.EraseStep(StepEraseAppended)
}

// checks returns the events by which none of an erasure's documents was written since the messages were looked at. The error is Stale where one lives that was to
// be deleted, or has a member.
func (e *erasing) checks(erasure *fanfold.Erasure) (writes []fanfold.Write, err error) {
	err = e.g.store.Read(func(s *sqlite.Snapshot) error {
		for _, d := range erasure.Documents {
			row, err := s.Row(d.Key)
			if err != nil {
				return err
			}
			var rev fanfold.Revision
			if row != nil {
				rev = row.Revision
				if d.Members == nil || skeleton.Has(row.ReferencedText(), d.Members) {
					return fanfold.Errorf(fanfold.Stale, "%s was written meanwhile", d.Key)
				}
			} else if rev, err = s.Tombstone(d.Key); err != nil {
				return err
			}
			if rev == 0 {
				continue // nothing of it is known but that it was erased
			}
			writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: d.Key, Base: rev, Actor: e.by},
				Expect: fanfold.Expect{Set: true, Rev: rev, Folded: e.applied}})
		}
		return nil
	})
	return writes, err
}
