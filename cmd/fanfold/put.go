package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/wire"
)

// writeFlags has the flags of commands that write a document.
type writeFlags struct {
	ifMatch             string
	condition, params   string
	ifAbsent, strict    bool // of put alone
	dryRun, allowFanout bool
	examples            int
}

// add adds the flags that all writes have.
func (w *writeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.ifMatch, "if-match", "", `only where the document has this revision or ETag, or, with "*", is there`)
	f.BoolVar(&w.dryRun, "dry-run", false, "write nothing, and print what would be stored and how much it would change")
	f.IntVar(&w.examples, "examples", 0, "with --dry-run: print so many of the changes of other documents, at most 20")
	f.BoolVar(&w.allowFanout, "allow-fanout", false, "also where it changes more documents than the model's fanout.limit")
}

// addIf adds the flags of a condition over content.
func (w *writeFlags) addIf(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.condition, "if", "", "only where this expression is true of the document as it was written, such as 'doc.stock > 0'")
	f.StringVar(&w.params, "params", "", "with --if, and of delete with --filter: the values of params in it, as a JSON object")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if f.Changed("params") && !f.Changed("if") && !f.Changed("filter") {
			return fanfold.Errorf(fanfold.Invalid, "--params has the values of params in --if, which is missing")
		}
		return nil
	}
}

// options returns the flags as options of the client.
func (w *writeFlags) options() (opts []client.WriteOption) {
	switch tag := w.ifMatch; {
	case tag == "":
	case tag == "*" || strings.HasPrefix(tag, `"`) || strings.HasPrefix(tag, "W/"):
		opts = append(opts, client.IfMatch(tag))
	default: // a shell has taken the quotes
		opts = append(opts, client.IfMatch(`"`+tag+`"`))
	}
	if w.condition != "" {
		var params any
		if w.params != "" {
			params = json.RawMessage(w.params)
		}
		opts = append(opts, client.If(w.condition, params))
	}
	for _, o := range []struct {
		given  bool
		option client.WriteOption
	}{{w.ifAbsent, client.CreateOnly()}, {w.strict, client.Strict()}, {w.dryRun, client.DryRun()}, {w.allowFanout, client.AllowFanout()}} {
		if o.given {
			opts = append(opts, o.option)
		}
	}
	if w.examples != 0 {
		opts = append(opts, client.Examples(w.examples))
	}
	return opts
}

// printReport prints what a dry run tells.
func (w *writeFlags) printReport(cmd *cobra.Command, written *client.Written, err error) error {
	if err != nil {
		return err
	}
	return printJSON(cmd, written.Body)
}

func putCommand() *cobra.Command {
	var flags writeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "put COLLECTION ID [JSON|FILE|-]",
		Short: "Create or replace one document",
		Long: `Create or replace the document COLLECTION/ID by a JSON object: as the argument itself, in FILE, or on
standard input where there is none. It prints the document's new revision and the position from which on reads
show it.`,
		Example: `  fanfold put books b1 '{"name":"Azure Cosmos DB 101"}'
  fanfold put books b1 book.json
  echo '{"name":"Azure Cosmos DB 101"}' | fanfold put books b1 --if-absent
  fanfold put books b1 book.json --if-match 12
  fanfold put books b1 book.json --if 'doc.pages < params.n' --params '{"n":400}'`,
		Args: cobra.RangeArgs(2, 3),
	}
	server := serverFlag(cmd)
	flags.add(cmd)
	flags.addIf(cmd)
	cmd.Flags().BoolVar(&flags.strict, "strict", false, "refuse members that the store derives or adds, instead of dropping them")
	cmd.Flags().BoolVar(&flags.ifAbsent, "if-absent", false, "only where the document is not there")
	cmd.MarkFlagsMutuallyExclusive("if-match", "if-absent")
	cmd.MarkFlagsMutuallyExclusive("if", "if-absent")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return server.write(cmd, args, flags, asJSON, func(docs *client.Documents[json.RawMessage], body []byte, opts []client.WriteOption) (*client.Written, error) {
			return docs.Put(cmd.Context(), args[1], body, opts...)
		})
	}
	return cmd
}

func patchCommand() *cobra.Command {
	var flags writeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "patch COLLECTION ID [JSON|FILE|-]",
		Short: "Change some members of one document",
		Long: `Change the document COLLECTION/ID by a patch: as the argument itself, in FILE, or on standard input where
there is none. An object is a merge patch (RFC 7396), in which null removes a member, and an array a JSON Patch
(RFC 6902). It prints the document's new revision and the position from which on reads show it.`,
		Example: `  fanfold patch books b1 '{"name":"Azure Cosmos DB 102"}'
  echo '[{"op":"add","path":"/tags/-","value":"cloud"}]' | fanfold patch books b1 --if-match 12`,
		Args: cobra.RangeArgs(2, 3),
	}
	server := serverFlag(cmd)
	flags.add(cmd)
	flags.addIf(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return server.write(cmd, args, flags, asJSON, func(docs *client.Documents[json.RawMessage], body []byte, opts []client.WriteOption) (*client.Written, error) {
			if !bytes.HasPrefix(body, []byte("[")) {
				return docs.Patch(cmd.Context(), args[1], json.RawMessage(body), opts...)
			}
			patch, err := readJSONPatch(body)
			if err != nil {
				return nil, err
			}
			return docs.JSONPatch(cmd.Context(), args[1], patch, opts...)
		})
	}
	return cmd
}

// write reads a body, has it sent by do, and prints what came of it. args are the collection, the id and the file.
func (r *remote) write(cmd *cobra.Command, args []string, flags writeFlags, asJSON bool,
	do func(docs *client.Documents[json.RawMessage], body []byte, opts []client.WriteOption) (*client.Written, error)) error {
	key := fanfold.Key{Collection: args[0], ID: args[1]}
	if err := key.Validate(); err != nil {
		return err
	}
	body, err := readBody(cmd, args[2:])
	if err != nil {
		return err
	}
	c, err := r.connect()
	if err != nil {
		return err
	}
	defer r.close()
	written, err := do(client.Collection[json.RawMessage](c, key.Collection), body, flags.options())
	return flags.printResult(cmd, key, asJSON, written, err)
}

// printResult prints what came of a write: what a dry run tells, or what was done, as JSON or for people.
func (w *writeFlags) printResult(cmd *cobra.Command, key fanfold.Key, asJSON bool, written *client.Written, err error) error {
	switch {
	case err != nil || w.dryRun:
		return w.printReport(cmd, written, err)
	case asJSON:
		return printJSON(cmd, map[string]any{"collection": key.Collection, "id": key.ID, "created": written.Created, "unchanged": written.Unchanged,
			"revision": written.Revision, "position": written.Position, "etag": written.ETag, "folded": written.Folded, "derived": written.Derived, "dropped": written.Dropped})
	}
	return printWritten(cmd, key, written)
}

// printWritten prints what a write did, for people.
func printWritten(cmd *cobra.Command, key fanfold.Key, w *client.Written) error {
	if w.Unchanged {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s is written so already: revision %d\n", shown(key.String()), w.Revision)
		return err
	}
	did := "wrote"
	if w.Created {
		did = "created"
	}
	more := ""
	switch {
	case !w.Folded:
		more = ", stored and not shown yet"
	case w.Derived > 0:
		more = fmt.Sprintf(", derived changes %d", w.Derived)
	}
	if len(w.Dropped) > 0 {
		more += ", not stored: " + shown(strings.Join(w.Dropped, ", "))
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s: revision %d, position %s%s\n", did, shown(key.String()), w.Revision, w.Position, more)
	return err
}

// readBody returns the JSON that args have, what the file has that they name, or standard input where there are none, without white space
// around it. JSON begins with { or [; a file of such a name is given with its path.
// The error is Invalid.
func readBody(cmd *cobra.Command, args []string) ([]byte, error) {
	var text []byte
	var err error
	switch {
	case len(args) == 1 && strings.IndexAny(strings.TrimSpace(args[0]), "{[") == 0:
		text = []byte(args[0])
	case len(args) == 1 && args[0] != "-":
		text, err = readFile(args[0], "document", maxInput)
	default:
		if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
			fmt.Fprintln(cmd.ErrOrStderr(), "reading the document from the terminal; Ctrl-D ends it")
		}
		text, err = readInput(cmd.InOrStdin(), "document", maxInput)
	}
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = fanfold.Errorf(fanfold.Invalid, "there is no document: name a file, or give it on standard input")
	}
	return bytes.TrimSpace(text), err
}

// readJSONPatch returns the operations of a JSON Patch, whose values stay as they are written. The error is Invalid.
func readJSONPatch(text []byte) (patch client.JSONPatch, err error) {
	var operations []struct {
		Op, Path, From  string
		Value, Min, Max json.RawMessage
	}
	if err := json.Unmarshal(text, &operations); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "the patch is no list of operations: %v", err)
	}
	for i, o := range operations {
		if o.Value == nil && (o.Op == "add" || o.Op == "replace" || o.Op == "test" || o.Op == "increment") {
			return nil, fanfold.Errorf(fanfold.Invalid, "operation %d of the patch, %s %s, has no value", i, o.Op, o.Path)
		}
		operation := client.PatchOperation{Op: o.Op, Path: o.Path, From: o.From, Value: o.Value}
		if o.Min != nil {
			operation.Min = o.Min
		}
		if o.Max != nil {
			operation.Max = o.Max
		}
		patch = append(patch, operation)
	}
	return patch, nil
}

// byQueryFlags has the flags of commands that write all documents which a filter matches.
type byQueryFlags struct {
	filter, params, refresh, key     string
	dryRun, yes, allowFanout, asJSON bool
	examples                         int
}

// byQueryNames are the flags that go with --filter alone.
var byQueryNames = []string{"filter", "key", "yes"}

// add adds the flags that are of such commands alone.
func (b *byQueryFlags) add(cmd *cobra.Command, what string) {
	f := cmd.Flags()
	f.StringVar(&b.filter, "filter", "", what+" all documents of which this expression is true, such as 'doc.year > 2000'; true means all")
	if f.Lookup("params") == nil {
		f.StringVar(&b.params, "params", "", "values of params in the filter, as a JSON object")
	}
	f.StringVar(&b.key, "key", "", "go on with a run that was cut, by the key that it has printed")
	f.BoolVar(&b.yes, "yes", false, "do not ask")
}

func updateCommand() *cobra.Command {
	var b byQueryFlags
	cmd := &cobra.Command{
		Use:   "update COLLECTION [FILE|-] --filter EXPRESSION",
		Short: "Change some members of all documents that a filter matches",
		Long: `Patch all documents of COLLECTION of which the filter is true, each once, by the patch in FILE, or on
standard input where there is none: an object is a merge patch, and an array a JSON Patch. With --refresh
and without FILE only the frozen copies are taken anew.

It says what would come of it, and asks on a terminal before it writes; --yes answers that. Documents whose
patch is refused are listed, the others are written, and the exit code is 1. A run that was cut goes
on with --key.`,
		Example: `  echo '{"status":"archived"}' | fanfold update orders --filter 'doc.year < 2020' --dry-run
  fanfold update lines --filter 'doc.order == "o1"' --refresh price --yes`,
		Args: cobra.RangeArgs(1, 2),
	}
	server := serverFlag(cmd)
	b.add(cmd, "change")
	f := cmd.Flags()
	f.StringVar(&b.refresh, "refresh", "", "paths of frozen copies that are taken anew, separated by commas")
	f.BoolVar(&b.dryRun, "dry-run", false, "write nothing, and print what would come of it")
	f.IntVar(&b.examples, "examples", 0, "with --dry-run: print so many of the changes of other documents, at most 20")
	f.BoolVar(&b.allowFanout, "allow-fanout", false, "also where one changes more documents than the model's fanout.limit")
	f.BoolVar(&b.asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := fanfold.CheckCollection(args[0]); err != nil {
			return err
		}
		body, err := []byte("{}"), error(nil)
		if b.refresh == "" || len(args) > 1 {
			body, err = readBody(cmd, args[1:])
		}
		if err != nil {
			return err
		}
		patch := any(json.RawMessage(body))
		if bytes.HasPrefix(body, []byte("[")) {
			if patch, err = readJSONPatch(body); err != nil {
				return err
			}
		}
		return b.run(cmd, server, args[0], "changed", func(docs *client.Documents[json.RawMessage], opt client.ByQuery) (client.ByQueryResult, error) {
			return docs.UpdateByQuery(cmd.Context(), b.filter, patch, opt)
		})
	}
	return cmd
}

// run says what would come of it, asks, and has the documents written by do. did says what is done to them.
func (b *byQueryFlags) run(cmd *cobra.Command, server *remote, collection, did string, do func(docs *client.Documents[json.RawMessage], opt client.ByQuery) (client.ByQueryResult, error)) error {
	if b.filter == "" {
		return fanfold.Errorf(fanfold.Invalid, "--filter is missing: say which documents are meant; --filter true means all")
	}
	opt := client.ByQuery{AllowFanout: b.allowFanout, DryRun: true, Examples: b.examples}
	var err error
	if opt.Params, err = paramsOf(b.params); err != nil {
		return err
	}
	if b.refresh != "" {
		opt.Refresh = strings.Split(b.refresh, ",")
	}
	c, err := server.connect()
	if err != nil {
		return err
	}
	defer server.close()
	docs := client.Collection[json.RawMessage](c, collection)
	trial, err := do(docs, opt)
	switch {
	case err != nil:
		return err
	case len(trial.Hints) > 0:
		printHints(cmd, trial.Hints)
	}
	switch {
	case b.dryRun:
		return printJSON(cmd, trial.Report)
	case !b.asJSON:
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n", wire.Counted(int64(trial.Matched), "document matches", "documents match"))
	}
	if err := agree(cmd, b.yes, "Documents are "+did+" for good then. Go on?"); err != nil {
		return err
	}
	opt.DryRun, opt.Examples, opt.Key = false, 0, b.key
	opt.Refused = func(r client.RefusedDocument) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s%s/%s: %s\n", clearLine(), collection, shown(r.ID), shown(r.Detail))
	}
	opt.Progress = func(r client.ByQueryResult) {
		if onTerminal() {
			fmt.Fprintf(cmd.ErrOrStderr(), wipe+"%d of %d documents", r.Matched, trial.Matched)
		}
	}
	result, err := do(docs, opt)
	fmt.Fprint(cmd.ErrOrStderr(), clearLine())
	return b.finish(cmd, result, did, err)
}

// finish prints what came of it.
func (b *byQueryFlags) finish(cmd *cobra.Command, r client.ByQueryResult, did string, failed error) error {
	var err error
	switch {
	case b.asJSON:
		err = printJSON(cmd, map[string]any{"done": failed == nil, "matched": r.Matched, "written": r.Written, "unchanged": r.Unchanged, "refused": r.Refused, "position": r.Position, "key": r.Key})
	case failed != nil && r.Key != "":
		fmt.Fprintf(cmd.ErrOrStderr(), "%s %s: to go on, run this again with --key %s\n", wire.Counted(int64(r.Written), "document", "documents"), did, r.Key)
	case failed == nil:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s, %d were so already, %d refused, position %s\n", wire.Counted(int64(r.Written), "document", "documents"), did, r.Unchanged, r.Refused, r.Position)
	}
	switch {
	case failed != nil:
		return failed
	case err == nil && r.Refused > 0:
		err = errLeft
	}
	return err
}
