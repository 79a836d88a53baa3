package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/drift"
	"github.com/fanfold/fanfold/internal/foreign"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/modelguess"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/node"
)

func driftCommand() *cobra.Command {
	im := &importer{withModel: withModel{drifts: true}, csvOptions: csvOptions{delimiter: ','}, foreign: foreign.Options{From: foreign.Own}}
	cmd := &cobra.Command{
		Use:   "drift",
		Short: "Compare what stored documents brought for derived members with what the rules give",
		Long: `Compare what the documents of a server were written with, at the places of derived members, with what
the rules of its model give. Such documents were written before the rule was there. With --model the
rules are those of a file that does not apply yet: the documents are loaded into a store that is thrown away.
The exit code is 0 where nothing differs and 3 where something does.`,
		Example: "  fanfold drift\n  fanfold drift --model model.yaml --out differences.ndjson",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().StringVar(&im.modelFile, "model", "", "model file whose rules are asked (default: the model that applies)")
	cmd.Flags().StringVar(&im.driftOut, "out", "", "file that gets every difference as NDJSON")
	cmd.Flags().BoolVar(&im.json, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := im.readModel(); err != nil {
			return err
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		export, err := c.Export(cmd.Context())
		if err != nil {
			return err
		}
		defer export.Close()
		if im.model != nil {
			cmd.SetIn(export)
			im.dryRun = true
			return im.runDrift(cmd, "-", server)
		}
		return im.driftOfServer(cmd, c, export)
	}
	return cmd
}

// readModel reads the model file that --model names. The error is Invalid.
func (im *importer) readModel() error {
	if im.modelFile == "" {
		if im.driftOut != "" && !im.drifts {
			return fanfold.Errorf(fanfold.Invalid, "--out goes with --drift")
		}
		return nil
	}
	src, err := readModelFile(im.modelFile)
	if err != nil {
		return err
	}
	if im.model, err = modelfile.Parse(src); err != nil {
		return modelfile.Locate(err, src, "")
	}
	return nil
}

// modelOf returns the model that applies on a server. The error is Invalid where there is none.
func modelOf(ctx context.Context, c *client.Client) (*model.Model, error) {
	m, err := c.Model(ctx)
	if err != nil {
		return nil, err
	}
	if m.Revision == 0 {
		return nil, fanfold.Errorf(fanfold.Invalid, "no model applies, so no member is derived: give --model FILE")
	}
	return modelfile.ParseAccepted(m.Source)
}

// driftOfServer compares the documents of an export with what the server shows of them at its position.
func (im *importer) driftOfServer(cmd *cobra.Command, c *client.Client, export *client.Export) error {
	m, err := modelOf(cmd.Context(), c)
	if err != nil {
		return err
	}
	check, err := im.newDrift(c, m)
	if err != nil {
		return err
	}
	defer check.close()
	check.opts = []client.ReadOption{client.AsOf(export.Position)}
	in, err := foreign.Open(export, "the export", im.foreign)
	if err != nil {
		return err
	}
	for {
		doc, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if doc.Body != nil {
			if err := check.Add(cmd.Context(), doc.Collection, doc.Body); err != nil {
				return err
			}
		}
	}
	result := importResult{Position: export.Position, Folded: true}
	if result.Drift, result.Compared, err = check.end(cmd.Context()); err != nil {
		return err
	}
	if im.json {
		err = printJSON(cmd, result)
	} else {
		err = result.printDrift(cmd.OutOrStdout())
	}
	if err == nil && result.drifted() {
		err = errWrong
	}
	return err
}

// runDrift runs an import that compares: of a dry run in a store that is thrown away.
func (im *importer) runDrift(cmd *cobra.Command, path string, server *remote) error {
	scratch := im.dryRun
	if !scratch || im.model == nil {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		im.client = c
	}
	m := im.model
	if m == nil {
		var err error
		if m, err = modelOf(cmd.Context(), im.client); err != nil {
			return err
		}
	}
	if !scratch {
		return im.compare(cmd, path, m)
	}
	im.scratch, im.model = true, m
	return onScratch(cmd.Context(), node.Config{Logger: warnings(cmd.ErrOrStderr())}, func(c *client.Client) error {
		im.client = c
		return im.compare(cmd, path, m)
	})
}

// compare runs an import, and compares what it brings.
func (im *importer) compare(cmd *cobra.Command, path string, m *model.Model) (err error) {
	if im.drift, err = im.newDrift(im.client, m); err != nil {
		return err
	}
	defer im.drift.close()
	if im.drift.spool, err = os.CreateTemp("", "fanfold-drift-"); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot make a temporary file: %v", err)
	}
	defer func() { _ = os.Remove(im.drift.spool.Name()) }()
	defer im.drift.spool.Close()
	return im.run(cmd, path)
}

// onScratch calls fn with a client of a store in a temporary directory, which is removed then.
func onScratch(ctx context.Context, cfg node.Config, fn func(c *client.Client) error) (err error) {
	cfg.Listen, cfg.Durability = "127.0.0.1:0", "interval"
	if cfg.Data, err = os.MkdirTemp("", "fanfold-drift-"); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot make a temporary directory: %v", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cfg.Data)) }()
	n, err := node.Open(ctx, cfg)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	return n.Run(running, func(context.Context) error {
		defer stop()
		c, err := client.New("http://"+n.Addr(), client.Options{RetryFor: -1})
		if err != nil {
			return err
		}
		defer c.Close()
		return fn(c)
	})
}

// driftCheck compares documents with what a server shows of them.
type driftCheck struct {
	*drift.Check
	sample *modelguess.Sample // gets what is brought, in place of the comparison; nil for nobody
	client *client.Client
	opts   []client.ReadOption
	out    *os.File // gets every difference; nil for nobody
	buffer *bufio.Writer
	spool  *os.File // what an import brings, until all of it is stored
	writer *bufio.Writer
}

// Bounds of the ids that are asked for at a time.
const (
	driftIDs     = 400
	driftIDBytes = 24 << 10
)

// newDrift returns a check by the rules of a model. The error is Invalid where it has none, or for --out.
func (im *importer) newDrift(c *client.Client, m *model.Model) (*driftCheck, error) {
	if len(m.Rules) == 0 {
		return nil, fanfold.Errorf(fanfold.Invalid, "the model derives no members, so there is nothing to compare: give --model FILE")
	}
	d := &driftCheck{client: c}
	d.Check = drift.NewCheck(m, d, d.tell)
	if im.driftOut != "" {
		f, err := os.OpenFile(im.driftOut, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot write --out: %v", err)
		}
		d.out, d.buffer = f, bufio.NewWriter(f)
	}
	return d, nil
}

// close closes the file with the differences, where there is one.
func (d *driftCheck) close() {
	if d.out != nil {
		_ = d.out.Close() // end has flushed it
	}
}

// bring notes what an import brings, one line a document.
func (d *driftCheck) bring(collection string, body []byte) error {
	if d.sample != nil {
		d.sample.Add(collection, body)
		return nil
	}
	if !d.Concerns(collection) {
		return nil
	}
	if d.writer == nil {
		d.writer = bufio.NewWriterSize(d.spool, 256<<10)
	}
	_, err := fmt.Fprintf(d.writer, "%s\t%s\n", collection, body)
	return err
}

// again forgets what was brought: the import begins anew.
func (d *driftCheck) again() error {
	if d.writer == nil {
		return nil
	}
	d.writer.Reset(d.spool)
	_, err := d.spool.Seek(0, io.SeekStart)
	return errors.Join(err, d.spool.Truncate(0))
}

// brought compares all that an import has brought.
func (d *driftCheck) brought(ctx context.Context) ([]drift.Rule, *drift.Compared, error) {
	if d.writer == nil {
		return d.end(ctx)
	}
	if err := d.writer.Flush(); err != nil {
		return nil, nil, err
	}
	if _, err := d.spool.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	in := bufio.NewReaderSize(d.spool, 256<<10)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return d.end(ctx)
		} else if err != nil {
			return nil, nil, err
		}
		collection, body, _ := bytes.Cut(line, []byte{'\t'})
		if err := d.Add(ctx, string(collection), body); err != nil {
			return nil, nil, err
		}
	}
}

// Shown implements drift.Store: it asks the server for the first ids. The errors are the server's.
func (d *driftCheck) Shown(ctx context.Context, collection string, ids []string) (found map[string][]byte, looked int, err error) {
	size := 0
	for looked < len(ids) && looked < driftIDs && (looked == 0 || size < driftIDBytes) {
		size += len(url.QueryEscape(ids[looked])) + len("&id=")
		looked++
	}
	docs, _, err := client.Collection[json.RawMessage](d.client, collection).GetSeveral(ctx, ids[:looked], d.opts...)
	if errors.Is(err, client.Timeout) && ctx.Err() == nil { // not everything that was stored is shown yet
		return d.Shown(ctx, collection, ids)
	}
	if err != nil && !errors.Is(err, client.UnknownCollection) {
		return nil, 0, err
	}
	found = make(map[string][]byte, len(docs))
	for _, doc := range docs {
		found[doc.ID] = doc.Value
	}
	return found, looked, nil
}

// tell writes a difference to the file that gets all.
func (d *driftCheck) tell(one drift.Difference) error {
	if d.buffer == nil {
		return nil
	}
	return json.NewEncoder(d.buffer).Encode(one)
}

// end compares the documents that wait, and returns what was counted.
func (d *driftCheck) end(ctx context.Context) ([]drift.Rule, *drift.Compared, error) {
	rules, counts, err := d.End(ctx)
	if err == nil && d.buffer != nil {
		err = d.buffer.Flush()
	}
	return rules, &counts, err
}

// printDrift prints what was counted of each rule, with examples.
func (r *importResult) printDrift(out io.Writer) error {
	if r.Compared == nil {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RULE\tRIGHT\tWRONG\tMISSING\tORPHANED\t")
	for _, rule := range r.Drift {
		note := ""
		switch {
		case rule.Frozen:
			note = "frozen: not compared"
		case rule.New:
			note = "new: no document brought a value"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", shown(rule.Rule), rule.Right, rule.Wrong, rule.Missing, rule.Orphaned, note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, rule := range r.Drift {
		for _, e := range rule.Examples {
			if _, err := fmt.Fprintf(out, "%-8s  %s/%s%s: brought %s, right is %s\n", e.Kind, e.Collection, shown(e.ID), shown(e.Path), driftText(e.Brought), driftText(e.Right)); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(out, "%d documents compared", r.Compared.Documents)
	for _, left := range []struct {
		n    int
		what string
	}{{r.Compared.WithoutID, "without an id"}, {r.Compared.NotThere, "not stored"}} {
		if err == nil && left.n > 0 {
			_, err = fmt.Fprintf(out, ", %d %s", left.n, left.what)
		}
	}
	if err == nil {
		_, err = fmt.Fprintln(out)
	}
	return err
}

// driftText returns a value for people, shortened.
func driftText(v json.RawMessage) string {
	if v == nil {
		return "nothing"
	}
	return shortened(shown(string(v)), 2*lineValue)
}
