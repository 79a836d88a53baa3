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
done in the same transaction. A delete that would write more than a transaction takes is refused,
and says what it would touch; --steps does it in several transactions, children first, the document
last. Before the first one the server looks at everything that the delete leads to, and refuses it
whole where another document stands in its way. It can be interrupted, and goes on where it was when
it is run again.`,
		Example: "  fanfold delete comments 7\n  fanfold delete posts 1 --steps\n  fanfold delete comments 7 --if-match 12",
		Args:    cobra.ExactArgs(2),
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&steps, "steps", false, "in as many transactions as it takes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	conditions.add(cmd)
	for _, name := range []string{"if-match", "dry-run", "allow-fanout"} {
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
		var total deleteResult
		if steps {
			total, err = deleteInSteps(cmd, docs, args[1])
		} else {
			total, err = deleteAtOnce(cmd, docs, args[1], conditions.options())
		}
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, total)
		}
		with := ""
		if steps {
			with = fmt.Sprintf("; %d documents in all, and %d lost their reference", total.Deleted, total.Changed)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "deleted %s/%s at %s%s\n", args[0], args[1], total.Position, with)
		return err
	}
	return cmd
}

// deleteResult is what a delete has done, in all its steps.
type deleteResult struct {
	Done     bool   `json:"done"`
	Deleted  int    `json:"deleted,omitempty"`
	Changed  int    `json:"changed,omitempty"`
	Position string `json:"position"`
}

// deleteAtOnce deletes a document in one transaction.
func deleteAtOnce(cmd *cobra.Command, docs *client.Documents[json.RawMessage], id string, opts []client.WriteOption) (deleteResult, error) {
	w, err := docs.Delete(cmd.Context(), id, opts...)
	if err != nil {
		return deleteResult{}, err
	}
	return deleteResult{Done: true, Position: w.Position}, nil
}

// deleteInSteps deletes a document in as many transactions as it takes, and shows on a terminal how far it is.
func deleteInSteps(cmd *cobra.Command, docs *client.Documents[json.RawMessage], id string) (total deleteResult, err error) {
	for !total.Done {
		step, err := docs.DeleteStep(cmd.Context(), id)
		if errors.Is(err, client.NotFound) && total.Deleted > 0 { // another client deleted the rest
			return total, nil
		}
		if err != nil {
			return total, err
		}
		total.Done, total.Position = step.Done, step.Position
		total.Deleted += step.Deleted
		total.Changed += step.Changed
		if onTerminal() {
			fmt.Fprintf(cmd.ErrOrStderr(), "\r\033[K%d documents deleted, %d lost their reference", total.Deleted, total.Changed)
		}
	}
	if onTerminal() {
		fmt.Fprint(cmd.ErrOrStderr(), "\r\033[K")
	}
	return total, nil
}
