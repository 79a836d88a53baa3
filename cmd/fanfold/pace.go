package main

import (
	"context"
	"io"

	"golang.org/x/time/rate"
)

// minRate is the lowest rate at which a server does not take a client for one that reads no more.
const minRate = 64 << 10

// pacedReader reads so many bytes a second, until ctx ends.
type pacedReader struct {
	ctx  context.Context
	r    io.Reader
	pace *rate.Limiter // nil for no pace
	n    int64         // bytes read
}

// newPace returns what lets so many bytes pass in a second. At once it lets pass what an eighth of a second may have. It is nil for 0, any number.
func newPace(bytes int64) *rate.Limiter {
	if bytes == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(bytes), int(max(bytes/8, 1)))
}

// Read implements io.Reader.
func (p *pacedReader) Read(b []byte) (int, error) {
	if p.pace != nil {
		b = b[:min(len(b), p.pace.Burst())]
	}
	n, err := p.r.Read(b)
	p.n += int64(n)
	if p.pace != nil {
		if ended := p.pace.WaitN(p.ctx, n); ended != nil {
			return n, ended
		}
	}
	return n, err
}
