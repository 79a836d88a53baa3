package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
)

func exportCommand() *cobra.Command {
	var collections, out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the model and every document as NDJSON, as import reads it",
		Long: `Write the model and every document, as written, in order of arrival: all of one position of
the log, however long it takes and whatever is written meanwhile. The position is printed on
standard error. A store that imports the result is equal: the same documents, and the same
derived values.`,
		Example: "  fanfold export > backup.ndjson\n  fanfold export --collections books,authors --out books.ndjson",
		Args:    cobra.NoArgs,
	}
	c := serverFlag(cmd)
	cmd.Flags().StringVar(&collections, "collections", "", "only these, separated by commas, and no model")
	cmd.Flags().StringVar(&out, "out", "", "file to write (default standard output)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.export(cmd, collections, out) }
	return cmd
}

// export writes the collections, or all where none are named, to a file or standard output.
func (c *client) export(cmd *cobra.Command, collections, file string) error {
	path := "/v1/_export"
	if collections != "" {
		path += "?collections=" + url.QueryEscape(collections)
	}
	resp, err := c.do(cmd.Context(), http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	began := time.Now()
	lines := &lineCounter{r: resp.Body}
	if file == "" {
		_, err = io.Copy(cmd.OutOrStdout(), lines)
	} else {
		err = writeFile(file, lines)
	}
	var refused *os.PathError
	if errors.As(err, &refused) {
		return fanfold.Wrap(err, fanfold.Invalid, "cannot write %s: %v", file, refused.Err)
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the export was cut short: %v", err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%d lines in %.1f s, position %s\n",
		lines.n, time.Since(began).Seconds(), resp.Header.Get("Fanfold-Position"))
	return nil
}

// lineCounter counts the lines that are read through it.
type lineCounter struct {
	r io.Reader
	n int
}

// Read implements io.Reader.
func (l *lineCounter) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.n += bytes.Count(p[:n], []byte{'\n'})
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
