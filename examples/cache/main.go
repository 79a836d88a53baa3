// Cache keeps a cache of documents right by a consumer group. The cache is a directory with a file for each document. It
// stands for any place that several processes write to: start this as often as you like, and the processes share the work.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/client"
)

// entry is what the cache has of a document. Term is the term of the lease under which it was written.
type entry struct {
	Term uint64          `json:"term"`
	Doc  json.RawMessage `json:"doc,omitempty"` // absent where the document is gone
}

func main() {
	server := flag.String("server", cmp.Or(os.Getenv("FANFOLD_SERVER"), "http://127.0.0.1:8080"), "URL of the server")
	dir := flag.String("dir", "cache", "directory of the cache")
	group := flag.String("group", "cache", "name of the consumer group")
	once := flag.Bool("once", false, "end when the group has nothing left to do")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *server, *dir, *group, *once)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run is a member of the group until ctx ends or, with once, the group has nothing left to do.
func run(ctx context.Context, server, dir, group string, once bool) error {
	c, err := client.New(server, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	// The newest version of each document is what a cache wants.
	if _, err := c.PutGroup(ctx, group, client.GroupSettings{Partitions: 4, Mode: client.Latest}); err != nil {
		return err
	}
	consumer, err := client.NewConsumer(c, client.ConsumerOptions{Group: group, IncludeDocs: true,
		Handler: func(_ context.Context, b *client.Batch) error { return apply(dir, b) },
		Failed:  func(err error) { log.Print(err) }})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	if once {
		go func() {
			defer end()
			await(ctx, c, group)
		}()
	}
	return consumer.Run(ctx) // gives its leases back at the end, so that others go on at once
}

// await waits until the group has nothing left to do.
func await(ctx context.Context, c *client.Client, group string) {
	for {
		g, err := c.Group(ctx, group)
		if ctx.Err() != nil || err == nil && g.Lag.Changes != nil && *g.Lag.Changes == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// apply brings the cache up to a batch. If it fails, the batch comes again, and in the end is parked.
func apply(dir string, b *client.Batch) error {
	// A member that was frozen does not know that another one has its partition by now. Its late writes must not win: the
	// number at the beginning of the token grows whenever a partition changes hands.
	number, _, _ := strings.Cut(b.Token, "-")
	term, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return fmt.Errorf("the token does not begin with a number: %w", err)
	}
	for _, change := range b.Changes {
		file := filepath.Join(dir, change.Collection, url.PathEscape(change.ID)+".json")
		// A change that takes its document out (change.Gone) has none: it was deleted or erased or, in a group with a filter, it
		// does not match any more. The cache keeps no older versions, so that nothing else is to be forgotten (change.Erased).
		if err := put(file, entry{Term: term, Doc: change.Doc}); err != nil {
			return err
		}
	}
	return nil
}

// put writes an entry, unless a later lease has written one. A database would do both in one transaction.
func put(file string, e entry) error {
	if old, err := os.ReadFile(file); err == nil {
		var was entry
		if json.Unmarshal(old, &was) == nil && was.Term > e.Term {
			return fmt.Errorf("%s was written under a later lease", file)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
