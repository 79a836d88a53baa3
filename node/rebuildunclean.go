package node

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// The largest read model that is rebuilt where nothing says that its file is sound.
const (
	rebuildEvents  = 100_000 // a document that a base may have counts as one
	rebuildChanges = 200_000
	rebuildTime    = time.Minute // a log that cannot be read to its end by then is damaged
)

// rebuildUnclean rebuilds a read model from the log if its process was killed: its file may have been damaged since. One that takes more than
// some seconds stays: its structure was checked, and fanfold replay rebuilds it. So does one of a log that lacks events, as it has what
// the log lacks. The error is ctx's.
func (n *Node) rebuildUnclean(ctx context.Context, last uint64) error {
	if n.cfg.AsIs || !n.Store.Unclean() || n.Log.Damage() != nil {
		return nil
	}
	rebuild, err := n.measureRebuild(last)
	if err != nil {
		return err
	}
	if rebuild.isLong() {
		n.cfg.Logger.Warn("the node was killed: its read model's structure is sound; fanfold replay rebuilds it, should its disk have been damaged", "events", last)
		return nil
	}
	n.cfg.Logger.Info("the node was killed, and its read model is rebuilt from the log", "events", last)
	limited, cancel := context.WithTimeout(ctx, rebuildTime)
	defer cancel()
	if err := n.Projector.ReplayTo(limited, last); err != nil {
		n.cfg.Logger.Error("the read model could not be rebuilt, and stays as it is", "err", err)
	}
	return ctx.Err()
}

// rebuildWork is what the rebuilding of a read model has to do.
type rebuildWork struct {
	last      uint64          // the log's last event
	base      uint64          // the event after which the log begins; 0 where it has all events
	horizon   fanfold.Horizon // where the read model begins
	changes   int64           // that there ever were
	documents int64           // that there are
}

// measureRebuild returns what a rebuilding up to the log's last event has to do. The error is that of reading.
func (n *Node) measureRebuild(last uint64) (w rebuildWork, err error) {
	w.last, w.base = last, n.Log.Base().Seq
	err = n.Store.Read(func(s *sqlite.Snapshot) error {
		w.changes = s.Checkpoint.Changes
		if w.base == 0 {
			return nil
		}
		if w.horizon, _, err = s.Horizon(); err != nil {
			return err
		}
		for after, more := "", true; more && !w.isLong(); {
			list, rest, err := s.CollectionsBehind(after, 1000)
			if err != nil {
				return err
			}
			for _, c := range list {
				after, w.documents = c.Name, w.documents+c.Documents
			}
			more = rest
		}
		return nil
	})
	return w, err
}

// isLong tells whether that takes more than some seconds. The base has no more documents than there are now, and events after it.
func (w rebuildWork) isLong() bool {
	return w.last-min(w.base, w.last)+uint64(w.documents) > rebuildEvents || w.changes-w.horizon.Changes > rebuildChanges
}
