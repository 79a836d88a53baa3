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
	f.StringVar(&w.condition, "if", "", "only where this expression is true of the document as it was written, such as 'doc.stock > 0'")
	f.StringVar(&w.params, "params", "", "with --if: the values of params in it, as a JSON object")
	f.BoolVar(&w.dryRun, "dry-run", false, "write nothing, and print what would be stored and how much it would change")
	f.IntVar(&w.examples, "examples", 0, "with --dry-run: print so many of the changes of other documents, at most 20")
	f.BoolVar(&w.allowFanout, "allow-fanout", false, "also where it changes more documents than the model's fanout.limit")
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
		Use:   "put COLLECTION ID [FILE|-]",
		Short: "Create or replace one document",
		Long: `Create or replace the document COLLECTION/ID by the JSON object in FILE, or on standard input
where there is none. It prints the document's new revision and the position from which on reads
show it.`,
		Example: `  fanfold put books b1 book.json
  echo '{"name":"Azure Cosmos DB 101"}' | fanfold put books b1 --if-absent
  fanfold put books b1 book.json --if-match 12
  fanfold put books b1 book.json --if 'doc.pages < params.n' --params '{"n":400}'`,
		Args: cobra.RangeArgs(2, 3),
	}
	server := serverFlag(cmd)
	flags.add(cmd)
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
		Use:   "patch COLLECTION ID [FILE|-]",
		Short: "Change some members of one document",
		Long: `Change the document COLLECTION/ID by the patch in FILE, or on standard input where there is none:
an object is a merge patch (RFC 7396), in which null removes a member, and an array a JSON Patch
(RFC 6902). It prints the document's new revision and the position from which on reads show it.`,
		Example: `  echo '{"name":"Azure Cosmos DB 102"}' | fanfold patch books b1
  echo '[{"op":"add","path":"/tags/-","value":"cloud"}]' | fanfold patch books b1 --if-match 12`,
		Args: cobra.RangeArgs(2, 3),
	}
	server := serverFlag(cmd)
	flags.add(cmd)
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

// readBody returns what the file that args name has, or standard input where they name none, without white space around it.
// The error is Invalid.
func readBody(cmd *cobra.Command, args []string) ([]byte, error) {
	var text []byte
	var err error
	if len(args) == 1 && args[0] != "-" {
		text, err = readFile(args[0], "document", maxInput)
	} else {
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
