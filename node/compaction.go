package node

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/reports"
)

// PlanCompaction tells what a compaction up to a moment would take away. The moment's position is one of this store. Errors are Conflict
// for a position that is not folded yet, PositionGone for one before the store begins, and Unavailable.
func (n *Node) PlanCompaction(ctx context.Context, before fanfold.Moment) (*reports.CompactPlan, error) {
	return nil, fanfold.Errorf(fanfold.Internal, "not built yet")
}

// Compact begins to let the store begin at a moment, and returns what goes. It returns once that has begun, and Compaction says how
// far it is; a plan that is Done already begins nothing. by names who asked, "" where nobody knows. Errors are those of PlanCompaction, and Conflict:
// for a log whose server cannot do it, while another compaction, a replay or the preparation of a model runs, and where groups have not
// acknowledged what goes, unless force says so.
func (n *Node) Compact(ctx context.Context, before fanfold.Moment, force bool, by string) (*reports.CompactPlan, error) {
	return nil, fanfold.Errorf(fanfold.Internal, "not built yet")
}

// Compaction tells how far the compaction is that runs on this node, or ran last; nil for none.
func (n *Node) Compaction() *reports.Compaction { return nil }
