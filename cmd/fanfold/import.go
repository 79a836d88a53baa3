package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

func importCommand() *cobra.Command {
	im := &importer{}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Load documents from NDJSON, from an export, or from CSV with a mapping file",
		Long: `Load documents from a file, or from standard input where FILE is -.

NDJSON has one document a line; --collection says where they go. Without it each line says so
itself: {"collection":"...","doc":{...}}, as fanfold export writes it. A document with an id
replaces the one that is there; without, it gets a new id.

CSV has a header line. The mapping file (YAML) says what becomes of each row: a list of
  collection: where the documents go
  documents:  a CEL expression over doc, the row (all members are strings), that gives an
              object or a list of objects
Every row is loaded. --skip-repeats leaves out documents that the file gave before, byte for byte, such as an
author who stands in many rows; where a document changes and changes back, the last row is left out, too.
--encoding says in which encoding CSV is that is not UTF-8, and --delimiter what separates its columns.

A line that is refused is reported with its number, and the rest goes on; the exit code is
then 1. The first ten are printed (--refusals), and how many there are of each kind. An import
that is stored and takes longer than a minute to be shown is done. An import that was cut short
goes on where it was with --resume: every line is loaded exactly once. Standard input needs an --id
for that.`,
		Example: `  fanfold import --collection books books.ndjson
  fanfold import --mapping mapping.yaml books.csv
  fanfold import --resume --collection books books.ndjson`,
		Args: cobra.ExactArgs(1),
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&im.collection, "collection", "", "where the documents of NDJSON go")
	f.StringVar(&im.mapping, "mapping", "", "mapping file for CSV")
	f.BoolVar(&im.skipRepeats, "skip-repeats", false, "of CSV: leave out documents that the file gave before, byte for byte")
	f.StringVar(&im.encoding, "encoding", "", "of CSV: utf-8 (default), windows-1252, iso-8859-1, iso-8859-15 or utf-16")
	delimiter := f.String("delimiter", ",", "of CSV: the character between columns; \\t is a tab")
	f.BoolVar(&im.resume, "resume", false, "go on with an import that was cut short")
	f.StringVar(&im.id, "id", "", "name of the import, for --resume (default: made from the file and the flags)")
	im.permissions(f)
	f.IntVar(&im.refusals.most, "refusals", 10, "how many lines that are refused to print")
	f.BoolVar(&im.json, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if im.refusals.most < 0 {
			return fanfold.Errorf(fanfold.Invalid, "--refusals %d is no number of lines: give 0 or more", im.refusals.most)
		}
		if im.delimiter, err = delimiterOf(*delimiter); err != nil {
			return err
		}
		if im.client, err = server.connect(); err != nil {
			return err
		}
		defer server.close()
		if cmd.Flags().Changed("server") {
			im.server = " --server " + shellWord(server.server)
		}
		return im.run(cmd, args[0])
	}
	return cmd
}

// importer sends a file to a server as one stream of lines.
type importer struct {
	client     *client.Client
	collection string
	mapping    string
	resume     bool
	id         string
	json       bool
	server     string // the flag as it was given, with a space before it; "" for none

	skipRepeats bool
	encoding    string
	delimiter   rune

	allowFanout  bool
	allowRemoval bool
	restore      bool

	stderr   io.Writer
	refusals refusals
	progress importProgress
}

// errRefused makes the exit code 1 where everything but some documents was loaded.
var errRefused = errors.New("some documents were refused; the others are loaded")

// importResult is what the command prints.
type importResult struct {
	Written  int     `json:"written"` // in all, by runs before this one, too
	Refused  int     `json:"refused"`
	Before   int     `json:"before,omitempty"` // of those written, how many an import that was resumed had stored
	Seconds  float64 `json:"seconds"`
	Position string  `json:"position"`
	// RefusedBy counts the refused lines that this run was told of by the codes of their problems.
	RefusedBy map[client.Code]int `json:"refusedBy,omitempty"`
	Folded    bool                `json:"folded"`         // the server shows everything
	Late      string              `json:"late,omitempty"` // why it does not yet
}

// run loads the file, or standard input where path is -, and prints the result.
func (im *importer) run(cmd *cobra.Command, path string) error {
	im.stderr = cmd.ErrOrStderr()
	began := time.Now()
	result, err := im.load(cmd, path)
	if im.resume && path != "-" {
		// A conflict means that the server still works on what the import was cut short with.
		for wait := 100 * time.Millisecond; errors.Is(err, client.Conflict) && wait < 5*time.Second; wait *= 2 {
			select {
			case <-cmd.Context().Done():
				return cmd.Context().Err()
			case <-time.After(wait):
			}
			result, err = im.load(cmd, path)
		}
	}
	if err != nil {
		return err
	}
	result.Seconds, result.RefusedBy = time.Since(began).Seconds(), im.refusals.kinds
	if im.json {
		err = printJSON(cmd, result)
	} else {
		err = result.print(cmd.OutOrStdout())
	}
	if err == nil && result.Refused > 0 {
		err = errRefused
	}
	return err
}

// print prints the result for people.
func (r *importResult) print(out io.Writer) error {
	before := ""
	if r.Before > 0 {
		before = fmt.Sprintf(", %d were stored before", r.Before)
	}
	_, err := fmt.Fprintf(out, "%d documents written in %.1f s (%.0f/s)%s, %d refused, position %s\n",
		r.Written-r.Before, r.Seconds, float64(r.Written-r.Before)/r.Seconds, before, r.Refused, r.Position)
	if err == nil && len(r.RefusedBy) > 0 {
		_, err = fmt.Fprintln(out, "refused: "+kindsText(r.RefusedBy))
	}
	if err == nil && r.RefusedBy[client.ModelRemoves] > 0 {
		_, err = fmt.Fprintln(out, "a model that takes rules or guards away is taken with --allow-removal, if that is meant")
	}
	if err == nil && !r.Folded {
		_, err = fmt.Fprintln(out, r.Late)
	}
	return err
}

// load sends the file, or what the server does not have of it where the import is resumed.
func (im *importer) load(cmd *cobra.Command, path string) (result importResult, err error) {
	in, err := im.open(cmd, path)
	if err != nil {
		return result, err
	}
	defer in.Close()
	before, err := im.storedLines(cmd.Context())
	if err != nil {
		return result, err
	}
	lines, err := im.lines(in, path, before.Line)
	if err != nil {
		return result, err
	}
	im.refusals.begin()
	defer im.showProgress(path, before.Line)()
	result, err = im.send(cmd.Context(), lines, before.Line)
	result.Before = before.Written
	return result, err
}

// open returns what is to be loaded; the caller closes it. It sets the size and the import's id where the input has
// them. The error is Invalid.
func (im *importer) open(cmd *cobra.Command, path string) (io.ReadCloser, error) {
	if im.collection != "" && im.mapping != "" {
		return nil, fanfold.Errorf(fanfold.Invalid,
			"--collection is for NDJSON and --mapping for CSV: give one of them")
	}
	if im.collection != "" && im.delimiter != ',' {
		return nil, fanfold.Errorf(fanfold.Invalid, "--delimiter is for CSV, and --collection for NDJSON: give one of them")
	}
	if im.mapping == "" && (im.skipRepeats || im.encoding != "") {
		return nil, fanfold.Errorf(fanfold.Invalid, "--skip-repeats and --encoding are for CSV: they go with --mapping")
	}
	if im.collection != "" {
		if err := fanfold.CheckCollection(im.collection); err != nil {
			return nil, err
		}
	}
	if path == "-" {
		if im.resume && im.id == "" {
			return nil, fanfold.Errorf(fanfold.Invalid,
				"--resume of standard input needs the --id that the import was started with")
		}
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot read the file: %v", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.Mode().IsRegular() {
		im.progress.size = info.Size()
		if im.id == "" {
			if im.id, err = im.name(f); err != nil {
				return nil, errors.Join(err, f.Close())
			}
		}
	}
	return f, nil
}

// name returns an id for the import, made from the flags and the whole file. Of its middle it takes a checksum, which is as fast as reading. It
// is to find a file that was changed, and not one that somebody made to look like another.
func (im *importer) name(f *os.File) (string, error) {
	const part = 256 << 10
	h := sha256.New()
	fmt.Fprintf(h, "%q %d ", im.collection, im.progress.size)
	if im.mapping != "" {
		text, err := readFile(im.mapping, "mapping", maxMapping)
		if err != nil {
			return "", err
		}
		h.Write(text)
		fmt.Fprintf(h, " %t %q%s ", im.skipRepeats, im.encoding, delimiterFlag(im.delimiter))
	}
	all := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.CopyBuffer(all, io.NewSectionReader(f, 0, im.progress.size), make([]byte, part)); err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%d ", all.Sum32())
	for _, from := range []int64{0, max(0, im.progress.size-part)} {
		if _, err := io.Copy(h, io.NewSectionReader(f, from, part)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// storedLines asks the server what it has of the import: nothing where the import is not resumed. The error says how to go
// on where the server does not answer.
func (im *importer) storedLines(ctx context.Context) (before client.ImportResult, err error) {
	if !im.resume {
		return before, nil
	}
	p, err := im.client.ImportProgress(ctx, im.id)
	switch {
	case err == nil:
		fmt.Fprintf(im.stderr, "going on after line %d\n", p.Line)
	case errors.Is(err, client.NotFound): // it was cut short before anything was stored
		return before, nil
	case errors.Is(err, client.NoAnswer) || errors.Is(err, client.Unavailable):
		return before, fanfold.Wrap(err, fanfold.Unavailable, "%s; when it is back, %s", fanfold.MessageOf(problemOf(err)), im.howToGoOn())
	}
	return p, err
}

// permissions adds the flags that let an import do more.
func (im *importer) permissions(f *pflag.FlagSet) {
	f.BoolVar(&im.allowFanout, "allow-fanout", false, "load also what changes more documents than the model's fanout.limit")
	f.BoolVar(&im.allowRemoval, "allow-removal", false, "let a model in the file take away rules and guards of the model that applies")
	f.BoolVar(&im.restore, "restore", false, "keep the numbers of sequences that documents come with; for who has the role admin")
}
