package events

import "context"

// EraseMessages stub.
func (l *Log) EraseMessages(ctx context.Context, also map[string]func(seq uint64) bool, progress func(done, total int64)) error {
	return nil
}

// Unerased stub.
func (l *Log) Unerased(ctx context.Context) (messages int64, residue bool, err error) {
	return 0, false, nil
}
