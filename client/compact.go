package client

import (
	"context"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// CompactPlan says what a compaction takes away.
type CompactPlan struct {
	Before   string    // the oldest position that can be read then
	Time     time.Time // of the last event that goes; zero where that is not known
	Done     bool      // the store begins there, or later, already
	Events   int64     // of the log that go
	Bytes    int64     // of the log, that they take, as estimated
	Versions int64     // of documents, and rows of the feed
	Groups   []string  // that have yet to acknowledge changes that go
	Feeds    int64     // open ones, of the node that was asked, that have yet to get some of them
}

// CompactOptions say how Compact works.
type CompactOptions struct {
	DryRun bool // only tell what would go
	Force  bool // also where groups have yet to acknowledge what goes: they read PositionGone until they are reset
}

// Compaction tells how far the compaction is that runs on the node that was asked, or ran last.
type Compaction struct {
	Running     bool   // false once the store begins there, and after an error
	Phase       string // what is being done; purging while the log still has what went, done at the end
	Done, Total int64  // of the phase
	Before      string
	By          string // who asked for it, "" where nobody knows
	Started     time.Time
	Seconds     float64  // that it has taken
	WaitingFor  []string // nodes that have yet to begin there
	Error       string   // why it ended early, "" where it did not
}

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
