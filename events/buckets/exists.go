package buckets

import (
	"cmp"
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// Exists tells whether there is a bucket of a database's log for a purpose; "" is the default database. It makes nothing. The error
// is Unavailable.
func Exists(ctx context.Context, nc *nats.Conn, database, purpose string) (bool, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return false, fanfold.Wrap(err, fanfold.Unavailable, "cannot ask for a bucket: %v", err)
	}
	name := bucketName(cmp.Or(database, "fanfold"), purpose)
	_, err = js.Stream(ctx, events.BucketPrefix+name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return false, nil
	case err != nil:
		return false, fanfold.Wrap(err, fanfold.Unavailable, "cannot ask for the bucket %s: %v", name, err)
	}
	return true, nil
}

// bucketName returns the name of a database's bucket for a purpose.
func bucketName(database, purpose string) string { return "fanfold_" + database + "_" + purpose }
