package events_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// TestOutlastRestart: a question to the log has its answer although the server is started again meanwhile, without what is erased.
func TestOutlastRestart(t *testing.T) {
	eachServer(t, func(t *testing.T, k kept) {
		l := k.open()
		for i := range 2 {
			id := fmt.Sprint("p", i)
			person(t, l, id, "SECRET")
			enforce(t, l, eraseFrom(t, l, events.Collecting{Documents: []fanfold.ErasedDocument{{Key: targetOf(id)}}}))
			asking, asked := make(chan struct{}), make(chan error, 1)
			go func() {
				for {
					select {
					case <-asking:
						asked <- nil
						return
					default:
					}
					err := l.Outlast(t.Context(), func(ctx context.Context) error {
						_, err := l.State(ctx)
						return err
					})
					if err != nil {
						asked <- err
						return
					}
				}
			}()
			err := l.Prefix().EraseMessages(t.Context(), nil, nil)
			close(asking)
			if failed := <-asked; err != nil || failed != nil {
				t.Fatal(err, failed)
			}
		}
	})
}
