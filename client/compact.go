package client

import (
	"context"
	"net/http"

	"github.com/fanfold/fanfold/internal/wire"
)

// CompactPlan says what a compaction takes away.
type CompactPlan = wire.CompactPlan

// CompactOptions say how Compact works.
type CompactOptions struct {
	DryRun bool // only tell what would go
	Force  bool // also where groups have yet to acknowledge what goes: they read PositionGone until they are reset
}

// Compaction tells how far the compaction is that runs on the node that was asked, or ran last.
type Compaction = wire.Compaction

// Compact lets the store begin at a position or an RFC 3339 time: documents stay as they are, and what was before is gone for good. It
// does not wait for the end: Compaction says how far it is, unless the plan is Done. The error is Conflict where
// groups have yet to acknowledge what goes, where other work is under way, or where the log's server cannot do it. Others are Invalid,
// StoreChanged and Timeout.
func (c *Client) Compact(ctx context.Context, before string, opt CompactOptions) (*CompactPlan, error) {
	r, err := jsonRequest(http.MethodPost, "/v1/_compact", wire.CompactBody{Before: before, DryRun: opt.DryRun, Force: opt.Force})
	if err != nil {
		return nil, err
	}
	return answerOf[CompactPlan](c.sendSlow(ctx, r))
}

// Compaction tells how far the node's compaction is. The error is NotFound where none has run since its start.
func (c *Client) Compaction(ctx context.Context) (*Compaction, error) {
	return answerOf[Compaction](c.send(ctx, newRequest(http.MethodGet, "/v1/_compact")))
}
