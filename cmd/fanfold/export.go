package main

import (
	"bufio"
	"bytes"
	"cmp"
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
	"github.com/fanfold/fanfold/internal/sqlcopy"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/node"
)

func exportCommand() *cobra.Command {
	var collections, out, at, copyTo string
	var force bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the model and every document as NDJSON, as import reads it",
		Long: `Write the model and every document, as written, in order of creation: all of one position of
the log, however long it takes and whatever is written meanwhile. The position is printed on
standard error. A store that imports the result is equal: the same documents, and the same
derived values.

With --sqlite it writes a SQLite file instead, for SQL, reports and notebooks: a table a collection,
with a column for each member of its first 1,000 documents and the whole document in body, and a table
a relation. It is a copy as of the position that its table fanfold_copy names, and does not follow the store.`,
		Example: "  fanfold export > backup.ndjson\n  fanfold export --collections books,authors --out books.ndjson\n  fanfold export --sqlite books.db\n  fanfold export --at 2026-11-24T21:40:00Z > before.ndjson",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().StringVar(&collections, "collections", "", "only these, separated by commas, and no model; each must be declared or have held a document")
	cmd.Flags().StringVar(&out, "out", "", "file to write (default standard output)")
	cmd.Flags().StringVar(&at, "at", "", "everything as it was at this position, or RFC 3339 time")
	cmd.Flags().StringVar(&copyTo, "sqlite", "", "SQLite file to write instead of NDJSON; one that is there is not overwritten")
	cmd.Flags().BoolVar(&force, "force", false, "with --sqlite: also over a file that is there")
	fresh := freshnessFlags(cmd)
	cmd.MarkFlagsMutuallyExclusive("sqlite", "out")
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
		if force && copyTo == "" {
			return fanfold.Errorf(fanfold.Invalid, "--force goes with --sqlite: it writes over a SQLite file that is there")
		}
		ex := &exporting{server: server, file: out, to: cmd.OutOrStdout(), sqlite: copyTo, force: force, earlier: at != ""}
		if collections != "" {
			ex.collections = strings.Split(collections, ",")
		}
		return ex.run(cmd, opts)
	}
	return cmd
}

// exporting is one export.
type exporting struct {
	server      *remote
	collections []string // nil for all
	to          io.Writer
	file        string // instead of to; "" for none
	sqlite      string // a SQLite file, instead of both; "" for none
	force       bool
	earlier     bool // of an earlier position

	copied sqlcopy.Counts
}

// run writes the export.
func (ex *exporting) run(cmd *cobra.Command, opts []client.ReadOption) error {
	if err := ex.wantNoFile(); err != nil {
		return err
	}
	c, err := ex.server.connect()
	if err != nil {
		return err
	}
	defer ex.server.close()
	if err := wantCollections(cmd.Context(), c, ex.collections, opts); err != nil {
		return err
	}
	export, err := c.ExportAs(cmd.Context(), ex.collections, opts...)
	if err != nil {
		return err
	}
	defer export.Close()
	began := time.Now()
	lines := &lineCounter{r: export}
	stop := func() {}
	if onTerminal() && (ex.file != "" || ex.sqlite != "" || !isTerminal(ex.to)) { // lines on the same terminal tell by themselves
		lines.total = ex.count(cmd.Context(), c, opts)
		stop = lines.show(standardError(), began)
	}
	file := cmp.Or(ex.file, ex.sqlite)
	switch {
	case ex.sqlite != "":
		err = ex.writeCopy(cmd.Context(), c, lines, export.Position)
	case file == "":
		_, err = io.Copy(ex.to, lines)
	default:
		err = writeFile(file, lines)
	}
	stop()
	var refused *os.PathError
	var known *fanfold.Error
	switch {
	case errors.As(err, &refused):
		return fanfold.Wrap(err, fanfold.Invalid, "cannot write %s: %v", file, refused.Err)
	case errors.As(err, &known) && known.Code == fanfold.Invalid:
		return err
	case err != nil:
		return fanfold.Wrap(err, fanfold.Unavailable, "the export was cut short: %v", err)
	}
	if ex.sqlite == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d lines in %.1f s, position %s\n", lines.n.Load(), time.Since(began).Seconds(), export.Position)
		return nil
	}
	n := ex.copied
	fmt.Fprintf(cmd.ErrOrStderr(), "%s in %s, and %s of relations, in %.1f s: a copy as of position %s\n", wire.Counted(n.Documents, "document", "documents"),
		wire.Counted(n.Collections, "table", "tables"), wire.Counted(n.Relations, "table", "tables"), time.Since(began).Seconds(), export.Position)
	if n.Columnless > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "members without a column stand in body alone, of %s\n", wire.Counted(n.Columnless, "document", "documents"))
	}
	return nil
}

// count returns how many documents the export has by the store's own count. It is 0 where the store does not tell, for a rule decides about each
// document, and for an earlier position.
func (ex *exporting) count(ctx context.Context, c *client.Client, opts []client.ReadOption) (total int64) {
	if ex.earlier {
		return 0
	}
	for info, err := range c.Collections(ctx, opts...) {
		switch {
		case err != nil || info.Uncounted:
			return 0
		case ex.collections == nil || slices.Contains(ex.collections, info.Name):
			total += info.Documents
		}
	}
	return total
}

// wantNoFile returns an Invalid if the SQLite file to write is there, unless it may be.
func (ex *exporting) wantNoFile() error {
	if ex.sqlite == "" || ex.force {
		return nil
	}
	if _, err := os.Lstat(ex.sqlite); err == nil {
		return fanfold.Errorf(fanfold.Invalid, "%s is there already: give a new file, or --force to write over it", ex.sqlite)
	}
	return nil
}

// writeCopy writes the lines of an export as a SQLite file: under a temporary name, so that a file of this name is always whole.
func (ex *exporting) writeCopy(ctx context.Context, c *client.Client, lines io.Reader, position string) (err error) {
	about := sqlcopy.About{Position: position, Program: "fanfold " + node.Version(), Taken: time.Now()}
	if parts := strings.Split(position, "-"); len(parts) > 2 { // "<sequence>-<n>-<store>"
		about.Store = parts[2]
	}
	if about.Collections = ex.collections; ex.collections != nil { // whose export has no model
		m, err := c.Model(ctx)
		if err != nil {
			return err
		}
		if m.Revision > 0 {
			about.Model = m.Source
		}
	}
	f, err := os.CreateTemp(filepath.Dir(ex.sqlite), filepath.Base(ex.sqlite)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if ex.copied, err = sqlcopy.Write(ctx, f.Name(), lines, about); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close(), ex.wantNoFile()); err != nil {
		return err
	}
	return os.Rename(f.Name(), ex.sqlite)
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
	total int64 // lines that are to come, or nearly so many; 0 where nobody knows
}

// text returns how far an export is, when it has gone on for some time.
func (l *lineCounter) text(took time.Duration) string {
	n := l.n.Load()
	text := fmt.Sprintf("%d lines, %.1f MB, %.0f/s", n, float64(l.bytes.Load())/1e6, float64(n)/took.Seconds())
	if l.total == 0 {
		return text
	}
	return text + fmt.Sprintf(", %d%%", min(99, 100*n/l.total)) + timeLeft(float64(n)/float64(l.total), took) // 100% is told at the end
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
