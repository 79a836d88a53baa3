package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
)

func deleteCommand() *cobra.Command {
	var steps, asJSON bool
	cmd := &cobra.Command{
		Use:   "delete COLLECTION ID",
		Short: "Delete a document, with what the model's policies delete with it",
		Long: `Delete a document. What the relations' onDelete policies say of the documents that refer to it is
done in the same transaction. A delete that would write more than a transaction takes is refused,
and says what it would touch; --steps does it in several transactions, children first, the document
last. It can be interrupted, and goes on where it was when it is run again.`,
		Example: "  fanfold delete comments 7\n  fanfold delete posts 1 --steps",
		Args:    cobra.ExactArgs(2),
	}
	c := serverFlag(cmd)
	cmd.Flags().BoolVar(&steps, "steps", false, "in as many transactions as it takes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		remove := c.deleteAtOnce
		if steps {
			remove = c.deleteInSteps
		}
		total, err := remove(cmd, documentPath(args[0], args[1]))
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

// deleteAtOnce deletes the document at a path in one transaction.
func (c *client) deleteAtOnce(cmd *cobra.Command, path string) (deleteResult, error) {
	answer, err := c.send(cmd.Context(), http.MethodDelete, path, nil, nil)
	return deleteResult{Done: true, Position: answer.Get("Fanfold-Position")}, err
}

// deleteInSteps deletes the document at a path in as many transactions as it takes, and shows on a terminal how far
// it is.
func (c *client) deleteInSteps(cmd *cobra.Command, path string) (total deleteResult, err error) {
	for !total.Done {
		var step deleteResult
		err := c.json(cmd.Context(), http.MethodDelete, path+"?steps=true", &step)
		if fanfold.CodeOf(err) == fanfold.NotFound && total.Deleted > 0 { // another client deleted the rest
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
