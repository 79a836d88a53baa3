package events

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// repair says what to do about a log that has lost events.
const repair = "stop every node, restore the log's files or its stream from a backup, and start again"

// maxMissingNamed is how many missing events an error names.
const maxMissingNamed = 5

// checkComplete holds what the server says of the stream against itself. Nothing is ever deleted from the log, so that
// its sequences count from 1 on without a gap; a server that finds a block file cut, or gone, reports the messages in it
// as deleted. The error is LogDamaged and says what is missing.
func (l *Log) checkComplete(ctx context.Context) error {
	info, err := l.stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's state cannot be read")
	}
	state := info.State
	if state.LastSeq == 0 || state.FirstSeq == 1 && state.Msgs == state.LastSeq && state.NumDeleted == 0 {
		return nil
	}
	return fanfold.Errorf(fanfold.LogDamaged, "the log ends at event %d and has %d events, so that %d are missing%s; %s",
		state.LastSeq, state.Msgs, state.LastSeq-state.Msgs, missing(state), repair)
}

// missing names the first missing events.
func missing(state jetstream.StreamState) string {
	switch {
	case len(state.Deleted) > 0:
		named := state.Deleted[:min(len(state.Deleted), maxMissingNamed)]
		return fmt.Sprintf(", the first %v", named)
	case state.FirstSeq > 1:
		return fmt.Sprintf(", all before %d", state.FirstSeq)
	}
	return ""
}
