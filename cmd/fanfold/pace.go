package main

import (
	"context"
	"io"
	"time"
)

// pace says how long to wait so that no more than rate bytes pass in a second.
type pace struct {
	rate  int64     // 0 for any number
	begun time.Time // of the first bytes
	bytes int64     // that have passed
}

// minRate is the lowest rate at which a server does not take a client for one that reads no more.
const minRate = 64 << 10

// most returns how many bytes may pass at once: those of an eighth of a second.
func (p *pace) most() int64 { return max(p.rate/8, 1) }

// pass takes note of bytes that pass now, and returns how long to wait before the next ones.
func (p *pace) pass(n int, now time.Time) time.Duration {
	if p.rate == 0 {
		return 0
	}
	if p.begun.IsZero() {
		p.begun = now
	}
	p.bytes += int64(n)
	due := p.begun.Add(time.Duration(float64(p.bytes) / float64(p.rate) * float64(time.Second)))
	return max(due.Sub(now), 0)
}

// pacedReader reads at a pace, until ctx ends.
type pacedReader struct {
	ctx  context.Context
	r    io.Reader
	pace pace
	n    int64 // bytes read
}

// Read implements io.Reader.
func (p *pacedReader) Read(b []byte) (int, error) {
	if p.pace.rate > 0 {
		b = b[:min(int64(len(b)), p.pace.most())]
	}
	n, err := p.r.Read(b)
	p.n += int64(n)
	wait := p.pace.pass(n, time.Now())
	if wait == 0 {
		return n, err
	}
	select {
	case <-time.After(wait):
		return n, err
	case <-p.ctx.Done():
		return n, p.ctx.Err()
	}
}
