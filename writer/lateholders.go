package writer

import (
	"context"

	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

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
