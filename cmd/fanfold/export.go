package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

func exportCommand() *cobra.Command {
	var collections, out, at string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the model and every document as NDJSON, as import reads it",
		Long: `Write the model and every document, as written, in order of creation: all of one position of
the log, however long it takes and whatever is written meanwhile. The position is printed on
standard error. A store that imports the result is equal: the same documents, and the same
derived values.`,
		Example: "  fanfold export > backup.ndjson\n  fanfold export --collections books,authors --out books.ndjson\n  fanfold export --at 2026-11-24T21:40:00Z > before.ndjson",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().StringVar(&collections, "collections", "", "only these, separated by commas, and no model; each must be declared or have held a document")
	cmd.Flags().StringVar(&out, "out", "", "file to write (default standard output)")
	cmd.Flags().StringVar(&at, "at", "", "everything as it was at this position, or RFC 3339 time")
	fresh := freshnessFlags(cmd)
	cmd.MarkFlagsMutuallyExclusive("at", "consistency")
	cmd.MarkFlagsMutuallyExclusive("at", "max-lag")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		opts, err := fresh.options()
		if err != nil {
			return err
		}
		if at != "" {
			opts = append(opts, client.AsOf(at))
		}
		return server.export(cmd, collections, out, opts...)
	}
	return cmd
}

// export writes the collections, or all where none are named, to a file or standard output.
func (r *remote) export(cmd *cobra.Command, collections, file string, opts ...client.ReadOption) error {
	c, err := r.connect()
	if err != nil {
		return err
	}
	defer r.close()
	var named []string
	if collections != "" {
		named = strings.Split(collections, ",")
	}
	if err := wantCollections(cmd.Context(), c, named, opts); err != nil {
		return err
	}
	export, err := c.ExportAs(cmd.Context(), named, opts...)
	if err != nil {
		return err
	}
	defer export.Close()
	began := time.Now()
	lines := &lineCounter{r: export}
	stop := func() {}
	if onTerminal() && (file != "" || !isTerminal(cmd.OutOrStdout())) { // lines on the same terminal tell by themselves
		stop = lines.show(standardError(), began)
	}
	if file == "" {
		_, err = io.Copy(cmd.OutOrStdout(), lines)
	} else {
		err = writeFile(file, lines)
	}
	stop()
	var refused *os.PathError
	if errors.As(err, &refused) {
		return fanfold.Wrap(err, fanfold.Invalid, "cannot write %s: %v", file, refused.Err)
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the export was cut short: %v", err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%d lines in %.1f s, position %s\n",
		lines.n.Load(), time.Since(began).Seconds(), export.Position)
	return nil
}

// maxCollections bounds how many collections --collections names.
const maxCollections = 1000

// wantCollections returns a NotFound that names the collections that the server does not know: the model does not declare
// them, and they have no documents. Errors are Invalid for a name that can be none, and the server's.
func wantCollections(ctx context.Context, c *client.Client, names []string, opts []client.ReadOption) error {
	switch {
	case len(names) == 0:
		return nil
	case len(names) > maxCollections:
		return fanfold.Errorf(fanfold.Invalid, "--collections has %d names; at most %d are taken: leave it out for all collections", len(names), maxCollections)
	}
	declared, err := declaredCollections(ctx, c)
	if err != nil {
		return err
	}
	var unknown []string
	for _, name := range names {
		if err := fanfold.CheckCollection(name); err != nil {
			return err
		}
		if slices.Contains(declared, name) || slices.Contains(unknown, name) {
			continue
		}
		_, _, err := client.Collection[json.RawMessage](c, name).ListPage(ctx, "", append(slices.Clone(opts), client.PageSize(1))...)
		if errors.Is(err, client.UnknownCollection) {
			unknown = append(unknown, name)
		} else if err != nil {
			return err
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	has := "the model declares none"
	if len(declared) > 0 {
		has = "the model declares " + shortList(declared)
	}
	return fanfold.Errorf(fanfold.NotFound, "there is no collection %s: it never held a document, and %s", shortList(unknown), has)
}

// declaredCollections returns the names of the collections that the model declares.
func declaredCollections(ctx context.Context, c *client.Client) ([]string, error) {
	applied, err := c.Model(ctx)
	if err != nil || len(applied.Source) == 0 {
		return nil, err
	}
	var model struct{ Collections map[string]json.RawMessage }
	if err := json.Unmarshal(applied.Source, &model); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Internal, "the server's model cannot be read: %v", err)
	}
	return slices.Sorted(maps.Keys(model.Collections)), nil
}

// lineCounter counts the lines and bytes that are read through it.
type lineCounter struct {
	r     io.Reader
	n     atomic.Int64
	bytes atomic.Int64
}

// text returns how far an export is, when it has gone on for some time.
func (l *lineCounter) text(took time.Duration) string {
	n := l.n.Load()
	return fmt.Sprintf("%d lines, %.1f MB, %.0f/s", n, float64(l.bytes.Load())/1e6, float64(n)/took.Seconds())
}

// show shows on a terminal how far the export is until stop is called, which waits until the line is gone.
func (l *lineCounter) show(terminal io.Writer, began time.Time) (stop func()) {
	return showEvery(terminal, func() string { return l.text(time.Since(began)) })
}

// Read implements io.Reader.
func (l *lineCounter) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.n.Add(int64(bytes.Count(p[:n], []byte{'\n'})))
	l.bytes.Add(int64(n))
	return n, err
}

// writeFile writes a file under a temporary name and then renames it, so that a file of this name is always whole.
func writeFile(path string, r io.Reader) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	_, err = io.Copy(w, r)
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
