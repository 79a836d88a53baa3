package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/client"
)

// deleteFlags has the flags of delete.
type deleteFlags struct {
	writeFlags
	many          byQueryFlags
	steps, asJSON bool
}

func deleteCommand() *cobra.Command {
	var d deleteFlags
	cmd := &cobra.Command{
		Use:   "delete COLLECTION [ID]",
		Short: "Delete a document, or all that a filter matches, with what the model's policies delete with it",
		Long: `Delete a document. What the relations' onDelete policies say of the documents that refer to it is
done in the same transaction. A delete that would write more than 1,000 documents is refused, and
says what it would touch; --steps does it in several transactions, children first, the document
last. Others see what is deleted so far. Before the first transaction the server looks at everything
that the delete leads to, and refuses it whole where another document stands in its way.

A terminal shows how far it is. Where it ends early, because it is interrupted or another client has
written what stands in the way, it says what is deleted already, with --json as "done": false, and the
exit code is 1. The same command goes on from there.

With --filter in place of ID, all documents of which it is true are deleted, each by itself. It says how many
match, and asks on a terminal before it deletes; --yes answers that. Those that others forbid are listed.`,
		Example: "  fanfold delete comments 7\n  fanfold delete posts 1 --steps\n  fanfold delete comments 7 --if-match 12\n  fanfold delete comments --filter 'doc.spam' --dry-run",
		Args: cobra.MatchAll(cobra.RangeArgs(1, 2), func(_ *cobra.Command, args []string) error {
			if (d.many.filter == "") == (len(args) == 1) {
				return errors.New("which documents? give an ID, or --filter")
			}
			return nil
		}),
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&d.steps, "steps", false, "in as many transactions as it takes, of 1,000 documents at most")
	cmd.Flags().BoolVar(&d.asJSON, "json", false, "print JSON")
	d.add(cmd)
	d.addIf(cmd)
	d.many.add(cmd, "in place of ID: delete")
	for _, name := range byQueryNames {
		cmd.MarkFlagsMutuallyExclusive("steps", name)
		cmd.MarkFlagsMutuallyExclusive("if-match", name)
	}
	cmd.MarkFlagsMutuallyExclusive("if", "filter")
	for _, name := range []string{"if-match", "if", "dry-run", "examples", "allow-fanout"} {
		cmd.MarkFlagsMutuallyExclusive("steps", name)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return d.run(cmd, server, args) }
	return cmd
}

// run deletes a document, or all that a filter matches.
func (d *deleteFlags) run(cmd *cobra.Command, server *remote, args []string) error {
	if d.many.filter != "" {
		d.many.params = d.params
		d.many.dryRun, d.many.examples, d.many.allowFanout, d.many.asJSON = d.dryRun, d.examples, d.allowFanout, d.asJSON
		return d.many.run(cmd, server, args[0], "deleted", func(docs *client.Documents[json.RawMessage], opt client.ByQuery) (client.ByQueryResult, error) {
			return docs.DeleteByQuery(cmd.Context(), d.many.filter, opt)
		})
	}
	c, err := server.connect()
	if err != nil {
		return err
	}
	defer server.close()
	docs := client.Collection[json.RawMessage](c, args[0])
	if d.steps {
		return deleteInSteps(cmd, docs, args, d.asJSON)
	}
	w, err := docs.Delete(cmd.Context(), args[1], d.options()...)
	switch {
	case err != nil || d.dryRun:
		return d.printReport(cmd, w, err)
	case d.asJSON:
		return printJSON(cmd, deleteResult{Done: true, Position: w.Position})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "deleted %s/%s at %s\n", args[0], args[1], w.Position)
	return err
}

// deleteResult is what a delete in one transaction has done.
type deleteResult struct {
	Done     bool   `json:"done"`
	Position string `json:"position"`
}

// deleteInSteps deletes a document in as many transactions as it takes, and shows on a terminal how far it is. It prints the
// finished part, also if an error ends it after the first transaction.
func deleteInSteps(cmd *cobra.Command, docs *client.Documents[json.RawMessage], args []string, asJSON bool) error {
	sum, err := docs.DeleteSteps(cmd.Context(), args[1], func(sum client.DeletedSteps) {
		if onTerminal() {
			fmt.Fprintf(cmd.ErrOrStderr(), wipe+"%d documents deleted, %d lost their reference", sum.Deleted, sum.Changed)
		}
	})
	fmt.Fprint(cmd.ErrOrStderr(), clearLine())
	switch {
	case err != nil && sum.Steps == 0:
		return err
	case asJSON:
		return errors.Join(err, printJSON(cmd, sum))
	case err != nil:
		_, printed := fmt.Fprintf(cmd.ErrOrStderr(), "%d documents are deleted, and %d lost their reference; %s/%s is still there: run this again to go on\n",
			sum.Deleted, sum.Changed, args[0], args[1])
		return errors.Join(err, printed)
	}
	at := ""
	if sum.Position != "" { // the answer to the only step was lost otherwise
		at = " at " + sum.Position
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "deleted %s/%s%s; %d documents in all, and %d lost their reference\n", args[0], args[1], at, sum.Deleted, sum.Changed)
	return err
}
