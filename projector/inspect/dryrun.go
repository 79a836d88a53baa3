package inspect

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// DryRun folds events as if they were the log's next ones, returns what they cause, and rolls everything back. Folding
// waits for that long, readers do not. Patches go by the documents as they are. The error is NotFound where a patch's
// document is not there, Conflict where a patch does not fit, FanoutLimit where an event causes more changes than one
// may have, or ctx's.
func (i *Inspector) DryRun(ctx context.Context, events []*fanfold.Event) (*fanfold.Fanout, error) {
	out := &fanfold.Fanout{Rules: map[string]int64{}, Collections: map[string]int64{}}
	err := i.projector.Rehearse(out, func(tx *sqlite.Tx, f *fold.Fold) error {
		defer tx.EndWith(ctx)()
		cp := tx.Checkpoint()
		out.Position = cp.At()
		for n, given := range events {
			if err := ctx.Err(); err != nil {
				return err
			}
			ev := *given
			ev.Seq, ev.Time, ev.Tx, ev.IdempotencyKey = cp.Seq+1+uint64(n), cp.Time, fanfold.TxPart{}, fanfold.IdempotencyKey{}
			if err := f.Rehearse(tx, &ev); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
