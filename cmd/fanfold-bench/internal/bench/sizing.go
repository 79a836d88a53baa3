package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sizing measures what documents and events take of a node, which is a process of its own.
type Sizing struct {
	Dir       string
	Name      string // of the kind of documents
	Documents int
	Books     int // documents that can be read as books, from 0 on
	// Load writes every document, for the first time in round 0, and returns once all are folded, with how many bytes they have.
	Load func(ctx context.Context, url string, round int) (written int64, err error)
}

// usage is what a round of Load took.
type usage struct {
	written, log, rows int64 // bytes; log and rows on the disk, more than before
	took, cpu          time.Duration
	most               int // memory, in MB
}

// Run loads the documents, looks at the node at rest and at work, and writes each document once more.
func (s Sizing) Run(ctx context.Context) (r Result, err error) {
	first, err := s.round(ctx, 0, usage{})
	if err != nil {
		return r, err
	}
	work, err := s.work(ctx)
	if err != nil {
		return r, err
	}
	log, rows, err := StoreDisk(s.Dir)
	if err != nil {
		return r, err
	}
	again, err := s.round(ctx, 1, usage{log: log, rows: rows})
	if err != nil {
		return r, err
	}
	each := func(v int64) float64 { return float64(v) / float64(s.Documents) }
	r = One(fmt.Sprintf("%d %s documents on the disk", s.Documents, s.Name), "bytes each", each(first.log+first.rows), each(first.written), "limit: the documents' own bytes; less is better",
		fmt.Sprintf("imported: log %.0f bytes, read model %.0f bytes, CPU %.0f µs each; %.1f s; most memory %d MB",
			each(first.log), each(first.rows), each(first.cpu.Microseconds()), first.took.Seconds(), first.most),
		fmt.Sprintf("each written once more: log %.0f bytes, read model %.0f bytes, CPU %.0f µs; %.1f s; most memory %d MB",
			each(again.log), each(again.rows), each(again.cpu.Microseconds()), again.took.Seconds(), again.most))
	r.Notes = append(r.Notes, work...)
	return r, nil
}

// round starts a node, lets Load write every document, and stops it. before has what is on the disk.
func (s Sizing) round(ctx context.Context, round int, before usage) (u usage, err error) {
	n, err := startServer(ctx, s.Dir)
	if err != nil {
		return u, err
	}
	began, cpu := time.Now(), n.cpu()
	u.written, err = s.Load(ctx, "http://"+n.addr, round)
	u.took, u.cpu, u.most = time.Since(began), n.cpu()-cpu, highWater(n.cmd.Process.Pid)
	if err = errors.Join(err, n.stop()); err != nil {
		return u, err
	}
	log, rows, err := StoreDisk(s.Dir)
	u.log, u.rows = log-before.log, rows-before.rows
	return u, err
}

// work starts a node on the documents, reads and writes for some seconds, and says how long it took to become ready, and
// how much memory it had.
func (s Sizing) work(ctx context.Context) (notes []string, err error) {
	began := time.Now()
	n, err := startServer(ctx, s.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	memory := func(when string) {
		notes = append(notes, fmt.Sprintf("%s: memory %d MB, of which %d MB are not pages of files", when, n.memory()/1024, n.ownMemory()/1024))
	}
	memory(fmt.Sprintf("started in %.1f s", time.Since(began).Seconds()))
	time.Sleep(idleTime)
	memory("at rest")
	if _, _, err := Send(ctx, n.addr, nodesConns, Books(s.Books)); err != nil {
		return nil, err
	}
	memory(fmt.Sprintf("after reads over %d connections", nodesConns))
	if _, _, err := Send(ctx, n.addr, nodesConns, Puts("p")); err != nil {
		return nil, err
	}
	memory(fmt.Sprintf("after writes over %d connections", nodesConns))
	return notes, nil
}
