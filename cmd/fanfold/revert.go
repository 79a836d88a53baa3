package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold/internal/revert"
)

// revertOptions has the flags of revert.
type revertOptions struct {
	writeFlags
	at, until   string
	collections []string
	resume      bool
	asJSON      bool
}

func revertCommand() *cobra.Command {
	var o revertOptions
	cmd := &cobra.Command{
		Use:   "revert [COLLECTION ID]",
		Short: "Write one document, or all of them, as they were written at a position or a time",
		Long: `Write the document COLLECTION/ID as it was written at a position, as history prints it, or at an RFC 3339
time. It is a write like any other: what holds for put holds here, and the versions in between stay in the
history. It prints the document's new revision and the position from which on reads show it, or that the
document is written so already. A document that was not there then is an error: delete it to go back to
that.

Without COLLECTION and ID, undo all that was written after --at, up to --until or the present: documents are
written as they were, those that were deleted come back, and those that were created are deleted. Targets come
before holders, in as many transactions as it takes. A document that was written later is left alone, and so is one that
is refused; both are listed, and the exit code is 1. --dry-run writes nothing, and says how many documents
go back and which would be refused. A run that was cut short goes on with --resume and the --until that it
has printed.`,
		Example: `  fanfold revert books b1 --at 1042-0
  fanfold revert books b1 --at 2026-11-24T21:40:00Z --if-match 12 --dry-run
  fanfold revert --at 2026-11-24T21:40:00Z --collections books,authors --dry-run`,
		Args: cobra.MatchAll(cobra.MaximumNArgs(2), func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return errors.New("missing argument: ID")
			}
			return nil
		}),
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "", "the position or RFC 3339 time to go back to (required)")
	f.StringVar(&o.until, "until", "", "of all documents: undo writes up to this position or RFC 3339 time (default the present)")
	f.Var(nameList{&o.collections}, "collections", "of all documents: only those in these collections, separated by commas")
	f.BoolVar(&o.resume, "resume", false, "of all documents: go on with a run that was cut short, with its --until")
	f.BoolVar(&o.asJSON, "json", false, "print the result as JSON")
	o.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(args); err != nil {
			return err
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if len(args) == 0 {
			return o.revertAll(cmd, c)
		}
		key := fanfold.Key{Collection: args[0], ID: args[1]}
		written, err := client.Collection[json.RawMessage](c, key.Collection).Revert(cmd.Context(), key.ID, o.at, o.options()...)
		return o.printResult(cmd, key, o.asJSON, written, err)
	}
	return cmd
}

// check returns an Invalid for flags and arguments that do not go together.
func (o *revertOptions) check(args []string) error {
	one := len(args) > 0
	switch {
	case o.at == "":
		return fanfold.Errorf(fanfold.Invalid, "--at is missing: give the position or the time to go back to")
	case one && (o.until != "" || o.collections != nil || o.resume):
		return fanfold.Errorf(fanfold.Invalid, "--until, --collections and --resume go with all documents, and not with COLLECTION and ID")
	case !one && o.ifMatch != "":
		return fanfold.Errorf(fanfold.Invalid, "--if-match goes with COLLECTION and ID: of all documents each is written only as the difference showed it")
	case !one && o.examples != 0:
		return fanfold.Errorf(fanfold.Invalid, "--examples goes with COLLECTION and ID")
	case o.resume && o.until == "":
		return fanfold.Errorf(fanfold.Invalid, "--resume needs --until: the position that the run which was cut short has printed")
	case one:
		return fanfold.Key{Collection: args[0], ID: args[1]}.Validate()
	}
	return nil
}

// errLeft makes the exit code 1 where documents are left alone, which are listed.
var errLeft = errors.New("some documents are left as they are")

// revertAll goes back with all documents.
func (o *revertOptions) revertAll(cmd *cobra.Command, c *client.Client) (err error) {
	screen := cmd.ErrOrStderr()
	plan, err := revert.Compare(cmd.Context(), c, revert.Options{At: o.at, Until: o.until, Collections: o.collections, Resume: o.resume, AllowFanout: o.allowFanout,
		Progress: func(done, all int) {
			if onTerminal() {
				fmt.Fprintf(screen, "%s%d of %d documents", clearLine(), done, all)
			}
		}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	again := fmt.Sprintf("fanfold revert --at %s --until %s --resume", plan.At, plan.Until)
	if !o.dryRun && plan.Len() > 0 {
		fmt.Fprintf(screen, "going back with %d documents to %s; if this is cut short: %s, and the same other flags\n", plan.Len(), plan.At, again)
	}
	result, failed := o.carryOut(cmd.Context(), plan)
	fmt.Fprint(screen, clearLine())
	if o.asJSON {
		err = printJSON(cmd, result)
	} else {
		o.printAll(cmd.OutOrStdout(), result)
	}
	switch {
	case failed != nil:
		return failed
	case err == nil && len(result.Left) > 0:
		err = errLeft
	}
	return err
}

// carryOut writes what a plan says, or finds what would be refused.
func (o *revertOptions) carryOut(ctx context.Context, plan *revert.Plan) (*revert.Result, error) {
	if o.dryRun {
		return plan.DryRun(ctx)
	}
	return plan.Write(ctx)
}

// maxLeftShown bounds how many documents are listed that stay as they are.
const maxLeftShown = 1000

// printAll prints what came of all documents, for people.
func (o *revertOptions) printAll(out io.Writer, result *revert.Result) {
	all := 0
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "COLLECTION\tCHANGE\tRESTORE\tDELETE")
	for _, n := range result.Counts {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", shown(n.Collection), n.Change, n.Restore, n.Delete)
		all += n.Change + n.Restore + n.Delete
	}
	_ = w.Flush() // as the lines below
	for _, left := range result.Left[:min(len(result.Left), maxLeftShown)] {
		fmt.Fprintf(out, "left: %s/%s: %s\n", shown(left.Collection), shown(left.ID), shown(left.Reason))
	}
	if more := len(result.Left) - maxLeftShown; more > 0 {
		fmt.Fprintf(out, "and %d more\n", more)
	}
	if o.dryRun {
		fmt.Fprintf(out, "%d documents would go back to %s, of %d that were written up to %s; nothing is written\n", all-len(result.Left), result.At, all, result.Until)
		return
	}
	at := ""
	if result.Position != "" {
		at = ", position " + result.Position
	}
	fmt.Fprintf(out, "%d of %d documents are as they were at %s%s\n", result.Done, all, result.At, at)
}
