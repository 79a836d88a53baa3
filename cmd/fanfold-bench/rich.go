package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// richRound is one import of rich data, with the import of its updates.
type richRound struct {
	documents int           // and updates
	written   int64         // bytes of their texts
	changes   int64         // of documents by others
	links     float64       // of a document to its targets
	took      time.Duration // until everything was folded
	cpu       time.Duration // of this process, which has the log, the store and the client
	log, rows int64         // bytes on the disk
}

// rate returns documents a second.
func (r richRound) rate() float64 { return float64(r.documents) / r.took.Seconds() }

// cpuEach returns microseconds of CPU a document.
func (r richRound) cpuEach() float64 { return float64(r.cpu.Microseconds()) / float64(r.documents) }

// each returns how much of a sum a document has.
func (r richRound) each(sum int64) float64 { return float64(sum) / float64(r.documents) }

// benchRich measures an import of rich data, beside the same without guards and beside a tenth of it. Then it measures a change that reaches one of
// seven documents, and a replay.
func benchRich(ctx context.Context, b *bench) error {
	d := richData{documents: b.documents}
	tenth, err := richData{documents: b.documents / 10}.round(ctx, filepath.Join(b.dir, "tenth"), true, leave)
	if err != nil {
		return err
	}
	plain, err := d.round(ctx, filepath.Join(b.dir, "plain"), false, leave)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "guarded")
	at := len(b.results) // the imports' results come before the change's
	guarded, err := d.round(ctx, dir, true, func(ctx context.Context, n *node.Node, c *client.Client) error {
		return b.richChange(ctx, n, c, d)
	})
	if err != nil {
		return err
	}
	change := slices.Clone(b.results[at:])
	b.results = b.results[:at]
	b.richImport(guarded, plain, tenth)
	b.results = append(b.results, change...)
	events, seconds, peak, err := replay(ctx, dir)
	b.one(fmt.Sprintf("replay of %d rich documents", guarded.documents), "documents/s", float64(guarded.documents)/seconds, guarded.rate(), "limit: the import",
		fmt.Sprintf("%d events, with the changes that reached many; most memory of the replaying process, embedded log included: %d MB", events, peak))
	return err
}

// richImport adds the results of an import with guards, of the same without, and of a tenth.
func (b *bench) richImport(guarded, plain, tenth richRound) {
	b.one(fmt.Sprintf("import of %d rich documents", guarded.documents), "documents/s", guarded.rate(), plain.rate(), "limit: the same import without fan-out limit, strict relations and unique members",
		fmt.Sprintf("CPU for a document: %.0f us; without the guards %.0f us", guarded.cpuEach(), plain.cpuEach()),
		fmt.Sprintf("for a document: %.0f bytes written, %.1f links, %.1f changes of derived members", guarded.each(guarded.written), guarded.links, guarded.each(guarded.changes)),
		fmt.Sprintf("on the disk for a byte written: log %.2f, read model %.2f (%.0f MB written)", float64(guarded.log)/float64(guarded.written), float64(guarded.rows)/float64(guarded.written), float64(guarded.written)/1e6),
		fmt.Sprintf("most memory of the process, log and client included: %d MB", memoryOf(os.Getpid(), "VmHWM")/1024))
	b.one(fmt.Sprintf("CPU a document at %d and at %d", guarded.documents, tenth.documents), "us", guarded.cpuEach(), tenth.cpuEach(),
		"limit: the import of a tenth of the documents into a store of its own; less is better, and 1.3 is the most that it is to be")
}

// round imports the documents and their updates into a new store in dir, and calls then on the node.
func (d richData) round(ctx context.Context, dir string, guards bool, then measure) (r richRound, err error) {
	s := benchStore{model: `{"collections":{}}`}
	err = s.run(ctx, dir, func(ctx context.Context, n *node.Node, c *client.Client) error {
		r.documents = d.documents + d.updates()
		began, cpu := time.Now(), cpuTime()
		err := loadModel(ctx, c, richModel(guards), func(w io.Writer) error {
			first, err := d.write(w, 1)
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
		err = withPlain(n.Store, func(db *sql.DB) error {
			return db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM link) / ?, max(ordinal) FROM change", float64(d.documents)).Scan(&r.links, &r.changes)
		})
		if err != nil {
			return err
		}
		r.changes -= int64(r.documents) // a write is a change, too
		return then(ctx, n, c)
	})
	return r, err
}

// richChange gives topic 0 another title, which is copied to each of its books, and then changes the limit alone.
func (b *bench) richChange(ctx context.Context, n *node.Node, c *client.Client, d richData) error {
	topics := client.Collection[json.RawMessage](c, "topics")
	err := b.rename(ctx, n.Store, rename{
		name: fmt.Sprintf("change that reaches %d rich documents", d.reached()),
		path: "$.topicTitles[0]", where: "body ->> '$.topics[0]' = '" + topicID(0) + "'", copies: d.reached(),
		write: func(name string) error {
			_, err := topics.Patch(ctx, topicID(0), map[string]string{"title": name}, patient, client.AllowFanout())
			return err
		},
	})
	if err != nil {
		return err
	}
	if err := withPlain(n.Store, func(db *sql.DB) error {
		var changed int
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM document WHERE collection = 'books' AND body ->> '$.topicTitles[0]' LIKE 'Bob%'").Scan(&changed)
		if err == nil && changed != d.reached() {
			err = fmt.Errorf("%d books have the new title, not %d", changed, d.reached())
		}
		return err
	}); err != nil {
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
