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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/drift"
	"github.com/fanfold/fanfold/internal/foreign"
	"github.com/fanfold/fanfold/model"
)

// importHelp tells what an import is.
const importHelp = `Load documents from a file, from the files of a directory that FILE names, or from standard input where it is -.
All may be compressed by gzip or zstd. docs/learn/moving-in.md shows it store by store.

JSON is documents one a line (NDJSON), one after the other, or in an array. What Cosmos DB,
MongoDB, CouchDB and Firestore export is known by its first document, and --from says what it is where that
is wrong. Members that these stores add are dropped and counted, _id becomes id, and extended JSON becomes
what it means. Another member that begins with _ refuses its document: --rename and --drop say what becomes of it.

--collection says where the documents go; of a directory each file has the collection that it is called after. Without
both each line says so itself: {"collection":"...","doc":{...}}, as fanfold export writes it. A document with an id
replaces the one that is there; without, it gets a new id.

A mapping file (YAML) says what becomes of each document, or of each row of CSV, which has a header line: a list of
  collection: where the documents go
  documents:  a CEL expression over doc, the document or the row (all its members are strings), that gives an
              object or a list of objects
Every row is loaded. --skip-repeats leaves out documents that the file gave before, byte for byte, such as an
author who stands in many rows; where a document changes and changes back, the last row is left out, too.
--encoding says in which encoding CSV is that is not UTF-8, and --delimiter what separates its columns.

A line that is refused is reported with its number, and the rest goes on; the exit code is
then 1. The first twenty are printed (--refusals), --errors has all, and they are counted by kind. An import
that is stored and takes longer than a minute to be shown is done. An import that was cut short
goes on where it was with --resume: every line is loaded exactly once. Standard input needs an --id
for that. --dry-run reads everything, says what it found and stores nothing.

--drift tells which copies, counts and lists were wrong already: it compares what documents bring for the derived members of the
model with what the rules give, and what they bring is dropped as ever. With --dry-run this happens in a store that is thrown away.`

func importCommand() *cobra.Command {
	im := &importer{}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Load documents from JSON, CSV or what another store exports: a file, a directory, standard input",
		Long:  importHelp,
		Example: `  fanfold import --collection books books.ndjson
  fanfold import --dry-run dump
  fanfold import dump
  fanfold import --from mongo --collection books --rename _etag=etag books.json.gz
  fanfold import --mapping mapping.yaml books.csv
  fanfold import --resume --collection books books.ndjson`,
		Args: cobra.ExactArgs(1),
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	delimiter := f.String("delimiter", ",", "of CSV: the character between columns; \\t is a tab")
	im.flags(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if im.refusals.most < 0 {
			return fanfold.Errorf(fanfold.Invalid, "--refusals %d is no number of lines: give 0 or more", im.refusals.most)
		}
		if im.delimiter, err = delimiterOf(*delimiter); err != nil {
			return err
		}
		if im.foreign, err = im.foreignOptions(); err != nil {
			return err
		}
		if err := im.readModel(); err != nil {
			return err
		}
		if im.drifts {
			return im.runDrift(cmd, args[0], server)
		}
		if !im.dryRun {
			if im.client, err = server.connect(); err != nil {
				return err
			}
			defer server.close()
		}
		if cmd.Flags().Changed("server") {
			im.server = " --server " + shellWord(server.server)
		}
		return im.run(cmd, args[0])
	}
	return cmd
}

// flags adds the flags of an import.
func (im *importer) flags(f *pflag.FlagSet) {
	f.StringVar(&im.collection, "collection", "", "where the documents go")
	im.foreignFlags(f)
	f.StringVar(&im.mapping, "mapping", "", "mapping file: what becomes of each document, or row of CSV")
	f.BoolVar(&im.skipRepeats, "skip-repeats", false, "of a mapping: leave out documents that the file gave before, byte for byte")
	f.StringVar(&im.encoding, "encoding", "", "of CSV: utf-8 (default), windows-1252, iso-8859-1, iso-8859-15 or utf-16")
	f.BoolVar(&im.resume, "resume", false, "go on with an import that was cut short")
	f.StringVar(&im.id, "id", "", "name of the import, for --resume (default: made from the file and the flags)")
	im.permissions(f)
	f.IntVar(&im.refusals.most, "refusals", 20, "how many lines that are refused to print")
	f.StringVar(&im.modelFile, "model", "", "model file to apply before the documents; its strict relations and unique members come after them")
	f.BoolVar(&im.drifts, "drift", false, "compare what documents bring for derived members with what the rules give; exit code 3 where it differs")
	f.StringVar(&im.driftOut, "out", "", "of --drift: file that gets every difference as NDJSON")
	f.StringVar(&im.errors, "errors", "", "file that gets every refused line with its place and the reason, as NDJSON")
	f.BoolVar(&im.dryRun, "dry-run", false, "read everything and say what is in it; store nothing, and ask no server")
	f.BoolVar(&im.json, "json", false, "print the result as JSON")
}

// importer sends a file to a server as one stream of lines.
type importer struct {
	client     *client.Client
	collection string
	mapping    string
	resume     bool
	id         string
	json       bool
	dryRun     bool
	errors     string
	server     string // the flag as it was given, with a space before it; "" for none

	csvOptions

	withModel
	renames []string
	foreign foreign.Options

	allowFanout  bool
	allowRemoval bool
	restore      bool

	stderr   io.Writer
	refusals refusals
	progress importProgress
}

// csvOptions say how CSV is read.
type csvOptions struct {
	skipRepeats bool
	encoding    string
	delimiter   rune
}

// withModel is what an import does with a model besides its documents.
type withModel struct {
	model     *model.Model // comes first among the lines; nil for none
	modelFile string
	drift     *driftCheck // nil where nothing is compared
	drifts    bool
	driftOut  string
	scratch   bool // it loads a store that is thrown away
}

// errRefused makes the exit code 1 where everything but some documents was loaded.
var errRefused = errors.New("some documents were refused; the others are loaded")

// errWouldBeRefused makes the exit code 1 where a dry run found documents that an import refuses.
var errWouldBeRefused = errors.New("some documents would be refused; nothing is loaded")

// importResult is what the command prints.
type importResult struct {
	Written  int     `json:"written"` // in all, by runs before this one, too
	Refused  int     `json:"refused"`
	Before   int     `json:"before,omitempty"` // of those written, how many an import that was resumed had stored
	Seconds  float64 `json:"seconds"`
	Position string  `json:"position"`
	// RefusedBy counts the refused lines that this run was told of by the codes of their problems.
	RefusedBy map[client.Code]int `json:"refusedBy,omitempty"`
	dry       bool                // nothing was sent
	thrown    bool                // everything went into a store that is thrown away
	Folded    bool                `json:"folded"`         // the server shows everything
	Late      string              `json:"late,omitempty"` // why it does not yet

	importFound
	Drift    []drift.Rule    `json:"drift,omitempty"`    // of each rule, what documents brought for it
	Compared *drift.Compared `json:"compared,omitempty"` // what could be
}

// drifted tells whether documents brought what is not right.
func (r *importResult) drifted() bool {
	return slices.ContainsFunc(r.Drift, func(rule drift.Rule) bool { return rule.Drifted() })
}

// importFound is what the input had. Of an import that was resumed it counts what this run has read.
type importFound struct {
	From        []string       `json:"from,omitempty"`        // what the input was taken for; nothing for CSV, and for lines that are sent as they are
	Documents   int            `json:"documents,omitempty"`   // that it gave
	Collections map[string]int `json:"collections,omitempty"` // documents
	Dropped     map[string]int `json:"dropped,omitempty"`     // members of documents, by their names
	LeftOut     map[string]int `json:"leftOut,omitempty"`     // documents, such as deleted ones
	LeftFiles   []string       `json:"leftFiles,omitempty"`   // of a directory
}

// run loads the file, or standard input where path is -, and prints the result.
func (im *importer) run(cmd *cobra.Command, path string) error {
	im.stderr = cmd.ErrOrStderr()
	began := time.Now()
	if im.errors != "" {
		out, err := im.openErrors()
		if err != nil {
			return err
		}
		defer out.Close() // what was written is checked line by line
	}
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
	if err := im.refusals.failed; err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the import is done, and not all refused lines are in %s: %v", im.errors, err)
	}
	result.Seconds, result.RefusedBy = time.Since(began).Seconds(), im.refusals.kinds
	if im.json {
		err = printJSON(cmd, result)
	} else {
		err = result.print(cmd.OutOrStdout())
	}
	switch {
	case err != nil:
	case result.drifted():
		err = errWrong
	case result.Refused > 0:
		if err = errRefused; im.dryRun {
			err = errWouldBeRefused
		}
	}
	return err
}

// print prints the result for people.
func (r *importResult) print(out io.Writer) error {
	before := ""
	if r.Before > 0 {
		before = fmt.Sprintf(", %d were stored before", r.Before)
	}
	if r.dry {
		return r.printDry(out)
	}
	where := "position " + r.Position
	if r.thrown {
		where = "in a store that is thrown away"
	}
	_, err := fmt.Fprintf(out, "%d documents written in %.1f s (%.0f/s)%s, %d refused, %s\n",
		r.Written-r.Before, r.Seconds, float64(r.Written-r.Before)/r.Seconds, before, r.Refused, where)
	if err == nil && len(r.RefusedBy) > 0 {
		_, err = fmt.Fprintln(out, "refused: "+kindsText(r.RefusedBy))
	}
	if err == nil && r.RefusedBy[client.ModelRemoves] > 0 {
		_, err = fmt.Fprintln(out, "a model that takes rules or guards away is taken with --allow-removal, if that is meant")
	}
	if err == nil && !r.Folded {
		_, err = fmt.Fprintln(out, r.Late)
	}
	if err == nil {
		err = r.printFound(out)
	}
	if err == nil {
		err = r.printDrift(out)
	}
	return err
}

// load sends the input, or what the server does not have of it where the import is resumed.
func (im *importer) load(cmd *cobra.Command, path string) (result importResult, err error) {
	src, err := im.open(cmd, path)
	if err != nil {
		return result, err
	}
	defer func() { _ = src.close() }()
	before := client.ImportResult{}
	if !im.dryRun && !im.scratch {
		if before, err = im.storedLines(cmd.Context()); err != nil {
			return result, err
		}
	}
	lines, err := im.lines(src, before.Line)
	if err != nil {
		return result, err
	}
	if im.drift != nil {
		if err := im.drift.again(); err != nil {
			return result, err
		}
	}
	im.refusals.begin()
	im.refusals.place = src.placeOf
	defer im.showProgress(src, before.Line)()
	if im.dryRun && !im.scratch {
		result, err = im.rehearse(cmd.Context(), lines)
	} else {
		result, err = im.send(cmd.Context(), src, lines, before.Line)
	}
	result.Before, result.thrown = before.Written, im.scratch
	result.found(src)
	if err == nil && im.drift != nil {
		im.drift.opts = []client.ReadOption{client.AtLeast(result.Position)}
		result.Drift, result.Compared, err = im.drift.brought(cmd.Context())
	}
	return result, err
}

// open returns what is to be loaded; the caller closes it. It sets the size and the import's id where the input has
// them. The error is Invalid.
func (im *importer) open(cmd *cobra.Command, path string) (*source, error) {
	if im.collection != "" && im.mapping != "" {
		return nil, fanfold.Errorf(fanfold.Invalid, "--mapping says where documents go, and so does --collection: give one of them")
	}
	if im.collection != "" && im.delimiter != ',' {
		return nil, fanfold.Errorf(fanfold.Invalid, "--delimiter is for CSV, which goes with --mapping and not with --collection: give one of them")
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
		return &source{in: io.NopCloser(cmd.InOrStdin()), path: path}, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return im.openDir(path)
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
	return &source{in: f, path: path}, nil
}

// openDir returns a directory as what is to be loaded, and sets the size and the import's id. The error is Invalid.
func (im *importer) openDir(path string) (*source, error) {
	names, _, err := foreign.Files(path)
	if err != nil {
		return nil, err
	}
	size := int64(0)
	h := sha256.New()
	for _, name := range names {
		f, err := os.Open(filepath.Join(path, name))
		if err != nil {
			return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot read the file: %v", err)
		}
		info, err := f.Stat()
		if err == nil {
			im.progress.size = info.Size()
			size += info.Size()
			var id string
			id, err = im.name(f)
			fmt.Fprintf(h, "%q %s ", name, id)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	if im.progress.size = size; im.id == "" {
		im.id = hex.EncodeToString(h.Sum(nil)[:16])
	}
	return &source{path: path, files: names}, nil
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
	if im.model != nil {
		fmt.Fprintf(h, "model %s ", im.model.Source)
	}
	if o := im.foreign; o.From != "" || o.List != "" || len(o.Rename) > 0 || len(o.Drop) > 0 || o.KeepExtended {
		fmt.Fprintf(h, "%q %q %q %q %t ", o.From, o.List, im.renames, o.Drop, o.KeepExtended)
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

// writeModel writes a model. With guardsLast documents may refer to later ones until it comes without.
func (l *lineWriter) writeModel(source []byte, guardsLast bool) error {
	l.line = append(append(l.line[:0], `"model":`...), source...)
	if guardsLast {
		l.line = append(l.line, `,"guards":"last"`...)
	}
	return l.writeLine(modelLine)
}

// modelLine is the number of the line of a model that no line of the input has.
const modelLine = 0

// foreignFlags adds the flags that say how the export of another store is read.
func (im *importer) foreignFlags(f *pflag.FlagSet) {
	f.StringVar(&im.foreign.From, "from", "", "what the input is: auto (default), "+strings.Join(foreign.Formats()[1:], ", "))
	f.StringVar(&im.foreign.List, "list", "", "member of the object in the file whose list has the documents; . for the object itself")
	f.StringArrayVar(&im.renames, "rename", nil, "OLD=NEW: another name for a member at the top level; repeatable")
	f.StringArrayVar(&im.foreign.Drop, "drop", nil, "a member at the top level to leave out, and to count; repeatable")
	f.BoolVar(&im.foreign.KeepExtended, "keep-extended", false, "keep values without a JSON form, such as binary ones, as the export has them")
}

// foreignOptions returns how an export is read. The error is Invalid.
func (im *importer) foreignOptions() (foreign.Options, error) {
	opt := im.foreign
	opt.Collection, opt.Rename = im.collection, map[string]string{}
	for _, text := range im.renames {
		from, to, ok := strings.Cut(text, "=")
		if _, twice := opt.Rename[from]; !ok || twice {
			return opt, fanfold.Errorf(fanfold.Invalid, "--rename %.80q is not OLD=NEW, each OLD once, as in --rename _id=key", text)
		}
		opt.Rename[from] = to
	}
	return opt, opt.Validate()
}

// permissions adds the flags that let an import do more.
func (im *importer) permissions(f *pflag.FlagSet) {
	f.BoolVar(&im.allowFanout, "allow-fanout", false, "load also what changes more documents than the model's fanout.limit")
	f.BoolVar(&im.allowRemoval, "allow-removal", false, "let a model in the file take away rules and guards of the model that applies")
	f.BoolVar(&im.restore, "restore", false, "keep the numbers of sequences that documents come with; for who has the role admin")
}
