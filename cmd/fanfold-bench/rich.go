package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// richRound is one import of rich data, with the import of its updates.
type richRound struct {
	documents int
	written   int64         // bytes of the documents and their updates
	took      time.Duration // until everything was folded
	cpu       time.Duration // of this process, which has the log, the store and the client
	log, rows int64         // bytes on the disk
}

// rate returns documents a second.
func (r richRound) rate() float64 { return float64(r.documents) / r.took.Seconds() }

// cpuEach returns microseconds of CPU a document.
func (r richRound) cpuEach() float64 { return float64(r.cpu.Microseconds()) / float64(r.documents) }

// benchRich measures an import of rich data under a model with many rules, beside the same without its guards. Then it measures a change
// that reaches the 22 of a hundred documents which refer to one, and a replay.
func benchRich(ctx context.Context, b *bench) error {
	d := richData{documents: b.documents}
	plain, err := d.round(ctx, filepath.Join(b.dir, "plain"), false, leave)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "guarded")
	at := len(b.results) // the import's result comes before the change's
	guarded, err := d.round(ctx, dir, true, func(ctx context.Context, n *node.Node, c *client.Client) error {
		return b.richChange(ctx, n, c, d)
	})
	if err != nil {
		return err
	}
	b.one(fmt.Sprintf("import of %d rich documents", guarded.documents), "documents/s", guarded.rate(), plain.rate(), "limit: the same import without fan-out limit, strict relations and unique members",
		fmt.Sprintf("CPU for a document: %.0f us; without the guards %.0f us", guarded.cpuEach(), plain.cpuEach()),
		fmt.Sprintf("on the disk for a byte written: log %.2f, read model %.2f (%.0f MB written)", float64(guarded.log)/float64(guarded.written), float64(guarded.rows)/float64(guarded.written), float64(guarded.written)/1e6),
		fmt.Sprintf("most memory of the process, log and client included: %d MB", memoryOf(os.Getpid(), "VmHWM")/1024))
	b.results[at], b.results[at+1] = b.results[at+1], b.results[at]
	events, seconds, peak, err := replay(ctx, dir)
	b.one(fmt.Sprintf("replay of %d rich documents", guarded.documents), "documents/s", float64(guarded.documents)/seconds, guarded.rate(), "limit: the import",
		fmt.Sprintf("%d events, with the changes that reached many; most memory of the replaying process, embedded log included: %d MB", events, peak))
	return err
}

// round imports the documents and their updates into a new store in dir, and calls then on the node.
func (d richData) round(ctx context.Context, dir string, guards bool, then measure) (r richRound, err error) {
	s := benchStore{model: `{"collections":{}}`}
	err = s.run(ctx, dir, func(ctx context.Context, n *node.Node, c *client.Client) error {
		r.documents = d.documents + d.updates()
		began, cpu := time.Now(), cpuTime()
		err := loadModel(ctx, c, richModel(guards), func(w io.Writer) error {
			first, err := d.write(w)
			if err != nil {
				return err
			}
			again, err := d.writeUpdates(w)
			r.written = first + again
			return err
		})
		if err != nil {
			return err
		}
		r.took, r.cpu = time.Since(began), cpuTime()-cpu
		if r.log, r.rows, err = storeDisk(dir); err != nil {
			return err
		}
		return then(ctx, n, c)
	})
	return r, err
}

// richChange moves publisher 0 to another city, which is copied to each of its books, and then changes the limit alone.
func (b *bench) richChange(ctx context.Context, n *node.Node, c *client.Client, d richData) error {
	publishers := client.Collection[json.RawMessage](c, "publishers")
	err := b.rename(ctx, n.Store, rename{
		name: fmt.Sprintf("change that reaches %d rich documents", d.reached()),
		path: "$.publisherCity", where: "body ->> '$.publisher' = '0'", copies: d.reached(),
		write: func(name string) error {
			_, err := publishers.Patch(ctx, "0", map[string]string{"city": name}, patient, client.AllowFanout())
			return err
		},
	})
	if err != nil {
		return err
	}
	began := time.Now()
	_, err = c.PutModel(ctx, []byte(strings.Replace(richModel(true), "limit: 5000", "limit: 6000", 1)), client.ModelOptions{})
	last := &b.results[len(b.results)-1]
	last.Notes = append(last.Notes, fmt.Sprintf("a model with another limit alone took %d ms", time.Since(began).Milliseconds()))
	return err
}

// cpuTime returns the CPU time that this process has taken.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
