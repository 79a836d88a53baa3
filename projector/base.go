package projector

import (
	"context"
	"io"

	"github.com/fanfold/fanfold"
)

// Base is the state at the horizon at which a log begins.
type Base struct {
	Horizon fanfold.Horizon // at least Seq and Digest
	// Open returns the file, which is read to its end. The error is Unavailable.
	Open func(ctx context.Context) (io.ReadCloser, error)
}
