package forget

import (
	"context"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
)

// erasuresWaiting counts the erasures that are not in force yet, and their documents.
func (g *Eraser) erasuresWaiting() (erasures, documents int, err error) {
	waiting := map[uint64]bool{}
	err = g.store.Read(func(s *sqlite.Snapshot) error {
		list, err := s.Erasures().All()
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.Position > 0 {
				continue
			}
			waiting[e.Of] = true
			named, err := s.Erasures().CountDocuments(e.Seq)
			if err != nil {
				return err
			}
			documents += named
		}
		return nil
	})
	return len(waiting), documents, err
}

// Erasure tells how far an erasure is. The error is NotFound, or Unavailable.
func (g *Eraser) Erasure(_ context.Context, number uint64) (*wire.Erasure, error) {
	var list []wire.Erasure
	err := g.store.Read(func(s *sqlite.Snapshot) error {
		stored, err := s.Erasures().All()
		if err != nil {
			return err
		}
		stored = slices.DeleteFunc(stored, func(e sqlite.StoredErasure) bool { return e.Of != number })
		list, err = g.reportErasures(stored, func(fn func(seq uint64, key fanfold.Key)) error {
			for _, e := range stored {
				if err := s.Erasures().EachDocumentAt(e.Seq, func(key fanfold.Key) error { fn(e.Seq, key); return nil }); err != nil {
					return err
				}
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fanfold.Errorf(fanfold.NotFound, "there is no erasure %d", number)
	}
	return &list[0], nil
}

// Erasures returns all erasures in the order of their numbers. The error is Unavailable.
func (g *Eraser) Erasures(context.Context) (out []wire.Erasure, err error) {
	err = g.store.Read(func(s *sqlite.Snapshot) error {
		out, err = g.erasuresOf(s)
		return err
	})
	return out, err
}

// erasuresOf returns the erasures that a read model knows of.
func (g *Eraser) erasuresOf(s *sqlite.Snapshot) (out []wire.Erasure, err error) {
	stored, err := s.Erasures().All()
	if err != nil {
		return nil, err
	}
	return g.reportErasures(stored, func(fn func(seq uint64, key fanfold.Key)) error {
		return s.Erasures().EachDocument(func(seq uint64, d fanfold.ErasedDocument) error { fn(seq, d.Key); return nil })
	})
}

// reportErasures returns the erasures of some erase events. each calls fn with each document that they name.
func (g *Eraser) reportErasures(stored []sqlite.StoredErasure, each func(fn func(seq uint64, key fanfold.Key)) error) (out []wire.Erasure, err error) {
	place, last := map[uint64]int{}, map[uint64]sqlite.StoredErasure{}
	for _, e := range stored {
		i, seen := place[e.Of]
		if !seen {
			i = len(out)
			place[e.Of] = i
			out = append(out, wire.Erasure{Number: e.Of, Time: e.Time, By: e.Actor})
		}
		out[i].Events += e.Events
		last[e.Of] = e
	}
	documents := map[uint64]map[fanfold.Key]struct{}{}
	of := numbersOf(stored)
	if err := each(func(seq uint64, key fanfold.Key) {
		if documents[of[seq]] == nil {
			documents[of[seq]] = map[fanfold.Key]struct{}{}
		}
		documents[of[seq]][key] = struct{}{}
	}); err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Documents = int64(len(documents[out[i].Number]))
		g.describe(&out[i], last[out[i].Number])
	}
	return out, nil
}

// numbersOf returns the number of the erasure to which each erase event belongs.
func numbersOf(stored []sqlite.StoredErasure) map[uint64]uint64 {
	of := make(map[uint64]uint64, len(stored))
	for _, e := range stored {
		of[e.Seq] = e.Of
	}
	return of
}

// describe says how far an erasure is; last is the last erase event.
func (g *Eraser) describe(e *wire.Erasure, last sqlite.StoredErasure) {
	done := g.erasures.over()
	switch {
	case last.Position == 0 && g.projector.ErasurePrepared() >= fanfold.AsOf(last.Seq):
		e.Phase = wire.PhaseSwitching
	case last.Position == 0:
		e.Phase = wire.PhaseReplaying
	case done < fanfold.AsOf(last.Seq):
		e.Phase = wire.PhaseDeleting
	case g.erasures.hasResidue():
		e.Phase = wire.PhaseResidue
	default:
		e.Phase = wire.PhaseDone
	}
	if last.Position > 0 {
		e.Position = g.Issuer.Mark(last.Position).String()
	}
	if e.Phase == wire.PhaseDone {
		return
	}
	e.Nodes = g.erasedOn(last.Seq)
	g.erasures.mu.Lock()
	defer g.erasures.mu.Unlock()
	if e.Phase != wire.PhaseResidue {
		e.Error = g.erasures.failed
	}
	if p := g.projector.ErasurePreparation(); e.Phase == wire.PhaseReplaying && p.Err != nil {
		e.Error = fanfold.MessageOf(p.Err)
	}
	if g.erasures.waits && e.Phase == wire.PhaseDeleting {
		e.Residue = append(e.Residue, wire.ErasureResidue{Where: "the Raft logs of the log's servers, which these compact by themselves within minutes",
			Do: "wait; a server that is away must come back first, or leave the stream: nats stream cluster peer-remove"})
	}
	if g.erasures.residue {
		e.Residue = append(e.Residue, wire.ErasureResidue{Where: "the block file of the stream " + g.log.Stream() + " in which the log begins, on every server of it",
			Do: "let later compactions pass that file, or have each replica made anew: nats stream cluster peer-remove " + g.log.Stream()})
	}
}

// EachErased calls fn for each document of each erasure, in order. Errors are Unavailable, ctx's and fn's.
func (g *Eraser) EachErased(ctx context.Context, fn func(wire.ErasedDocument) error) error {
	return g.store.Read(func(s *sqlite.Snapshot) error {
		stored, err := s.Erasures().All()
		if err != nil {
			return err
		}
		of := numbersOf(stored)
		return s.Erasures().EachDocument(func(seq uint64, d fanfold.ErasedDocument) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return fn(wire.ErasedDocument{Erasure: of[seq], Collection: d.Collection, ID: d.ID, Members: d.Members})
		})
	})
}

// erasedOn returns the nodes that have no read model as of an erasure, as people name them: live ones, and those that are away.
func (g *Eraser) erasedOn(erasure uint64) (names []string) {
	all := g.Nodes.All()
	for _, node := range all {
		if node.Erasure >= erasure {
			continue
		}
		name := strings.TrimSpace(node.ID + " " + node.Address)
		if !node.Live {
			name += " (away)"
		}
		names = append(names, name)
	}
	return names
}

// current returns the erasures that the store has yet to do something for, and the last one of all.
func (g *Eraser) current(s *sqlite.Snapshot) (out []wire.Erasure, err error) {
	all, err := g.erasuresOf(s)
	if err != nil {
		return nil, err
	}
	for i, e := range all {
		if e.Phase != wire.PhaseDone && e.Phase != wire.PhaseResidue || i+1 == len(all) {
			out = append(out, e)
		}
	}
	return out, nil
}

// progress returns how far the erasures are that are not over, by rough shares of their phases; 1 for none.
func (g *Eraser) progress() float64 {
	last, inForce := g.log.Prefix().Erasures()
	if last > inForce {
		p := g.projector.ErasurePreparation()
		if p.Ready {
			return 0.8
		}
		return 0.8 * ratio(float64(p.Seq), float64(p.Target))
	}
	if inForce <= g.erasures.over() {
		return 1
	}
	g.erasures.mu.Lock()
	defer g.erasures.mu.Unlock()
	return 0.8 + 0.2*ratio(float64(g.erasures.deleted), float64(g.erasures.total))
}

// ratio returns a share of a whole, 0 for a share of nothing.
func ratio(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return min(1, part/whole)
}
