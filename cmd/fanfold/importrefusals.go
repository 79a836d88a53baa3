package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/foreign"
)

// refusedLine is a line of the file that --errors names.
type refusedLine struct {
	File   string      `json:"file,omitempty"` // of a directory
	Line   int         `json:"line"`
	Code   client.Code `json:"code"`
	Detail string      `json:"detail"`
}

// maxKinds bounds how many codes of refused lines are counted by themselves; others count as "other".
const maxKinds = 50

// refusals prints the first lines of an import that are refused, and counts all of them by the codes of their problems.
type refusals struct {
	most    int                          // to print
	place   func(line int) foreign.Place // of a line in the input; nil where it is just that line
	file    *json.Encoder                // gets all of them; nil for nobody
	failed  error                        // why it did not
	printed int
	kinds   map[client.Code]int
}

// begin forgets what an attempt to import has counted.
func (r *refusals) begin() { r.printed, r.kinds = 0, map[client.Code]int{} }

// add counts a refused line, and prints it while there is room.
func (r *refusals) add(out io.Writer, refused client.Refusal) {
	if r.kinds == nil {
		r.begin()
	}
	code := refused.Code
	if _, known := r.kinds[code]; !known && len(r.kinds) >= maxKinds {
		code = "other"
	}
	r.kinds[code]++
	at := foreign.Place{Line: refused.Line}
	if r.place != nil {
		at = r.place(refused.Line)
	}
	if r.file != nil && r.failed == nil {
		r.failed = r.file.Encode(refusedLine{at.File, at.Line, refused.Code, refused.Detail})
	}
	where := fmt.Sprintf("line %d", at.Line)
	if at.Line == modelLine {
		where = "the model"
	} else if at.File != "" {
		where = shown(at.File) + ", " + where
	}
	switch r.printed++; {
	case r.printed <= r.most:
		fmt.Fprintf(out, "%s%s: %s\n", clearLine(), where, shown(refused.Detail))
	case r.printed == r.most+1 && r.most > 0:
		fmt.Fprintf(out, "%smore lines are refused, and counted: --refusals prints more of them, and --errors FILE has all\n", clearLine())
	}
}

// kindsText returns how many lines each code has, the most frequent first.
func kindsText(kinds map[client.Code]int) string {
	counts := make(map[string]int, len(kinds))
	for code, n := range kinds {
		counts[string(code)] = n
	}
	return countsText(counts)
}

// countsText returns how many there are of each, the most frequent first.
func countsText(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = fmt.Sprintf("%s: %d", name, counts[name])
	}
	return strings.Join(texts, ", ")
}

// openErrors opens the file that gets every refused line; it goes on with it where the import is resumed. The error is Invalid.
func (im *importer) openErrors() (io.Closer, error) {
	how := os.O_TRUNC
	if im.resume {
		how = os.O_APPEND
	}
	f, err := os.OpenFile(im.errors, os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot write --errors: %v", err)
	}
	im.refusals.file = json.NewEncoder(f)
	return f, nil
}

// printDry prints what a dry run found.
func (r *importResult) printDry(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%d documents read in %.1f s, %d refused; nothing is stored, and no model was asked\n", r.Documents, r.Seconds, r.Refused)
	for _, name := range slices.Sorted(maps.Keys(r.Collections)) {
		if err == nil {
			_, err = fmt.Fprintf(out, "%s: %d\n", shown(cmp.Or(name, "without a collection")), r.Collections[name])
		}
	}
	if err == nil {
		err = r.printFound(out)
	}
	return err
}

// printFound prints what of the input was not loaded.
func (f *importFound) printFound(out io.Writer) error {
	var err error
	if len(f.From) > 1 {
		_, err = fmt.Fprintln(out, "the files are taken for: "+formatsText(f.From))
	}
	for _, left := range []struct{ what, text string }{{"dropped members", countsText(f.Dropped)}, {"documents left out", countsText(f.LeftOut)}, {"files left out", strings.Join(f.LeftFiles, ", ")}} {
		if err == nil && left.text != "" {
			_, err = fmt.Fprintln(out, left.what+": "+shown(left.text))
		}
	}
	return err
}

// rehearse reads all lines and sends none.
func (im *importer) rehearse(ctx context.Context, lines linesFunc) (result importResult, err error) {
	counted := &dryLines{ctx: ctx}
	if err := lines(counted); err != nil {
		return result, fanfold.Wrap(err, fanfold.CodeOf(err), "%s", message(err))
	}
	for _, n := range im.refusals.kinds {
		result.Refused += n
	}
	result.dry, result.Documents = true, counted.lines
	return result, nil
}

// dryLines counts the lines of a dry run, until its context ends.
type dryLines struct {
	ctx   context.Context
	lines int
}

// Write implements io.Writer.
func (l *dryLines) Write(p []byte) (int, error) {
	l.lines += bytes.Count(p, []byte{'\n'})
	return len(p), l.ctx.Err()
}

// found notes what was read of another store's export.
func (r *importResult) found(src *source) {
	if src.reader == nil || src.raw {
		return
	}
	report := src.reader.Report()
	if r.dry { // a mapping gives others than the input has
		report.Documents = r.Documents
	}
	r.importFound = importFound{From: report.From, Documents: report.Documents, Collections: report.Collections, Dropped: report.Dropped, LeftOut: report.Left, LeftFiles: report.Files}
}
