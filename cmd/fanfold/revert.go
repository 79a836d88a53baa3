package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

func revertCommand() *cobra.Command {
	var flags writeFlags
	var at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "revert COLLECTION ID",
		Short: "Write a document as it was written at a position or a time",
		Long: `Write the document COLLECTION/ID as it was written at a position, as history prints it, or at an RFC 3339
time. It is a write like any other: what holds for put holds here, and the versions in between stay in the
history. It prints the document's new revision and the position from which on reads show it, or that the
document is written so already. A document that was not there then is an error: delete it to go back to
that.`,
		Example: "  fanfold revert books b1 --at 1042-0\n  fanfold revert books b1 --at 2026-11-24T21:40:00Z --if-match 12 --dry-run",
		Args:    cobra.ExactArgs(2),
	}
	server := serverFlag(cmd)
	cmd.Flags().StringVar(&at, "at", "", "the position or RFC 3339 time to go back to (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	flags.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		key := fanfold.Key{Collection: args[0], ID: args[1]}
		if err := key.Validate(); err != nil {
			return err
		}
		if at == "" {
			return fanfold.Errorf(fanfold.Invalid, "--at is missing: give the position or the time to go back to")
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		written, err := client.Collection[json.RawMessage](c, key.Collection).Revert(cmd.Context(), key.ID, at, flags.options()...)
		return flags.printResult(cmd, key, asJSON, written, err)
	}
	return cmd
}
