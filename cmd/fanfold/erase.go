package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/wire"
)

// eraseOptions are the flags of erase.
type eraseOptions struct {
	file, members, find string
	dryRun, yes, asJSON bool
}

func eraseCommand() *cobra.Command {
	var o eraseOptions
	cmd := &cobra.Command{
		Use:   "erase [COLLECTION] [ID]",
		Short: "Erase documents from every version, copy and file of the store",
		Long: `Erase documents: all that they ever were, but their ids and the ids at relations. What is still
there is deleted first, by the onDelete rules. Copies, sums and kept values made of it go from every
other document, now and in every version; all else stays as it is. With --members only these go, from
every version, and the documents live on.

It says what goes, and asks on a terminal before anything does; --yes answers that. Then it waits until
no node and no file of the store has anything of it. Where it is interrupted, the server goes on by
itself: fanfold erasures shows how far it is. Backups lose it with the next backup into their directory.

--file names documents a line: {"collection":"customers","id":"c1"}; - is standard input. --find looks
for a text in every version of every document, and prints such lines with --json: nothing is erased.`,
		Example: "  fanfold erase customers c1 --dry-run\n  fanfold erase customers c1 --members /email,/phone\n  fanfold erase --find ada@example.org --json > ids.ndjson\n  fanfold erase --file ids.ndjson --yes",
		Args:    cobra.MaximumNArgs(2),
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.file, "file", "", "file with a document a line, at most 10,000; - for standard input")
	f.StringVar(&o.members, "members", "", "only these members, JSON Pointers that commas divide, such as /email,/phone")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would go, and erase nothing")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.StringVar(&o.find, "find", "", "print the documents that have this text in any version, at most 1,000, and erase nothing")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	for _, name := range []string{"file", "members", "dry-run", "yes"} {
		cmd.MarkFlagsMutuallyExclusive("find", name)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		documents, err := o.documents(cmd, args)
		if err != nil {
			return err
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if o.find != "" {
			return o.printFound(cmd, c)
		}
		return o.run(cmd, c, documents)
	}
	return cmd
}

// maxEraseFile bounds a file with the documents of an erasure, in bytes.
const maxEraseFile = 8 << 20

// documents returns the documents that the command line names; none with --find. The error is Invalid.
func (o *eraseOptions) documents(cmd *cobra.Command, args []string) (named []client.Target, err error) {
	switch {
	case o.find != "" && len(args) == 0:
		return nil, nil
	case o.find != "":
		return nil, fanfold.Errorf(fanfold.Invalid, "--find looks through all documents: leave %q out", args[0])
	case o.file == "" && len(args) < 2:
		return nil, fanfold.Errorf(fanfold.Invalid, "which document? give COLLECTION and ID, or --file")
	case o.file == "":
		named = []client.Target{{Collection: args[0], ID: args[1]}}
	case len(args) > 0:
		return nil, fanfold.Errorf(fanfold.Invalid, "--file names the documents: leave %q out", args[0])
	default:
		if named, err = readTargets(cmd.InOrStdin(), o.file); err != nil {
			return nil, err
		}
	}
	asked := fanfold.EraseRequest{Members: o.memberList()}
	for _, d := range named {
		asked.Documents = append(asked.Documents, fanfold.Key(d))
	}
	return named, asked.Validate()
}

// memberList returns the members in --members, nil for none.
func (o *eraseOptions) memberList() []string {
	if o.members == "" {
		return nil
	}
	return strings.Split(o.members, ",")
}

// readTargets reads a file with a document a line. Lines of --find --json are taken, too. The error is Invalid.
func readTargets(stdin io.Reader, path string) (named []client.Target, err error) {
	var text []byte
	if path == "-" {
		text, err = readInput(stdin, "documents", maxEraseFile)
	} else {
		text, err = readFile(path, "documents", maxEraseFile)
	}
	if err != nil {
		return nil, err
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var d struct {
			Collection, ID string
			Versions       int  // as --find tells
			Deleted        bool // as --find tells
		}
		strict := json.NewDecoder(bytes.NewReader(line))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&d); err != nil || strict.More() {
			return nil, fanfold.Errorf(fanfold.Invalid, `line %d of the documents is not as {"collection":"customers","id":"c1"}`, i+1)
		}
		named = append(named, client.Target{Collection: d.Collection, ID: d.ID})
	}
	return named, nil
}

// run says what goes, asks, and waits until it is gone.
func (o *eraseOptions) run(cmd *cobra.Command, c *client.Client, documents []client.Target) error {
	opt := client.EraseOptions{Members: o.memberList()}
	plan, err := c.PlanErasure(cmd.Context(), documents, opt)
	if err != nil {
		return err
	}
	switch {
	case o.asJSON && o.dryRun:
		return printJSON(cmd, plan)
	case !o.asJSON:
		showErasePlan(cmd.OutOrStdout(), plan, opt, o.dryRun)
	}
	if o.dryRun {
		return nil
	}
	if !o.yes && askable(cmd.InOrStdin()) && !confirmed(cmd.InOrStdin(), cmd.ErrOrStderr()) {
		return errKept
	}
	e, err := c.Erase(cmd.Context(), documents, opt)
	if err == nil && (!e.Done() || plan.Events > 0) { // a request that was sent again may find that all is done
		e, err = followErasure(cmd, c, e.Number)
	} else if err == nil && !o.asJSON {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "nothing is left to erase")
		return err
	}
	switch {
	case err != nil:
		return err
	case o.asJSON:
		return printJSON(cmd, e)
	}
	showErased(cmd.OutOrStdout(), e)
	return nil
}

// showErasePlan prints what goes.
func showErasePlan(out io.Writer, p *client.ErasePlan, opt client.EraseOptions, dryRun bool) {
	goes, what := "go", "all that they were"
	if dryRun {
		goes = "would go"
	}
	if len(opt.Members) > 0 {
		what = strings.Join(opt.Members, ", ")
	}
	fmt.Fprintf(out, "%s, of which %d still there: %s, in %s and %s, %s\n", wire.Counted(p.Documents, "document", "documents"), p.Living, shown(what), wire.Counted(p.Versions, "version", "versions"), wire.Counted(p.Events, "event", "events"), goes)
	for _, kind := range []struct {
		copies map[string]int64
		what   string
	}{{p.Copies, "with copies"}, {p.Frozen, "with frozen copies"}, {p.Kept, "with values of deleted ones"}} {
		for _, rule := range slices.Sorted(maps.Keys(kind.copies)) {
			fmt.Fprintf(out, "%s: %s %s\n", shown(rule), wire.Counted(kind.copies[rule], "document", "documents"), kind.what)
		}
	}
	if dryRun {
		fmt.Fprintln(out, "nothing is erased")
	}
}

// followErasure waits until an erasure is done. A terminal shows how far it is.
func followErasure(cmd *cobra.Command, c *client.Client, number uint64) (*client.Erasure, error) {
	began := time.Now()
	e, err := c.AwaitErasure(cmd.Context(), number, func(e *client.Erasure) {
		if onTerminal() {
			fmt.Fprint(standardError(), clearLine()+erasureLine(e, began))
		}
	})
	if onTerminal() {
		fmt.Fprint(standardError(), clearLine())
	}
	if cmd.Context().Err() != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "the server goes on by itself: fanfold erasures shows how far it is")
	}
	return e, err
}

// erasureLine returns how far an erasure is, and for which nodes it waits.
func erasureLine(e *client.Erasure, began time.Time) string {
	phase := e.Phase
	if len(e.Nodes) > 0 {
		phase += ", waiting for " + strings.Join(e.Nodes, ", ")
	}
	if e.Error != "" {
		phase += ", trying again: " + e.Error
	}
	return workLine("erase", shown(phase), 0, 0, began)
}

// showErased prints what an erasure has done, which nodes have yet to do it, and what a NATS server may still have.
func showErased(out io.Writer, e *client.Erasure) {
	fmt.Fprintf(out, "erased %s, with the contents of %s: the store has nothing of them since %s\n", wire.Counted(e.Documents, "document", "documents"), wire.Counted(e.Events, "event", "events"), e.Position)
	for _, node := range e.Nodes {
		fmt.Fprintf(out, "the node %s was away: it erases them before it serves again\n", shown(node))
	}
	for _, r := range e.Residue {
		fmt.Fprintf(out, "%s may still have something of them: %s\n", shown(r.Where), shown(r.Do))
	}
}
