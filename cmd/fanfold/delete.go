package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/client"
)

func deleteCommand() *cobra.Command {
	var steps, asJSON bool
	var conditions writeFlags
	cmd := &cobra.Command{
		Use:   "delete COLLECTION ID",
		Short: "Delete a document, with what the model's policies delete with it",
		Long: `Delete a document. What the relations' onDelete policies say of the documents that refer to it is
done in the same transaction. A delete that would write more than 1,000 documents is refused, and
says what it would touch; --steps does it in several transactions, children first, the document
last. Others see what is deleted so far. Before the first transaction the server looks at everything
that the delete leads to, and refuses it whole where another document stands in its way.

A terminal shows how far it is. Where it ends early, because it is interrupted or another client has
written what stands in the way, it says what is deleted already, with --json as "done": false, and the
exit code is 1. The same command goes on from there.`,
		Example: "  fanfold delete comments 7\n  fanfold delete posts 1 --steps\n  fanfold delete comments 7 --if-match 12",
		Args:    cobra.ExactArgs(2),
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&steps, "steps", false, "in as many transactions as it takes, of 1,000 documents at most")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	conditions.add(cmd)
	for _, name := range []string{"if-match", "if", "dry-run", "examples", "allow-fanout"} {
		cmd.MarkFlagsMutuallyExclusive("steps", name)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		docs := client.Collection[json.RawMessage](c, args[0])
		if conditions.dryRun {
			w, err := docs.Delete(cmd.Context(), args[1], conditions.options()...)
			return conditions.printReport(cmd, w, err)
		}
		if steps {
			return deleteInSteps(cmd, docs, args, asJSON)
		}
		w, err := docs.Delete(cmd.Context(), args[1], conditions.options()...)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, deleteResult{Done: true, Position: w.Position})
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "deleted %s/%s at %s\n", args[0], args[1], w.Position)
		return err
	}
	return cmd
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
