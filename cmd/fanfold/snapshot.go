package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func snapshotCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Put a copy of the read model where new nodes find it",
		Long: `Have a node copy its read model into the object store beside the log, on the NATS servers, from
which a node with an empty data directory begins. Reads and writes go on. The newest two are
kept. serve --snapshot-every does it by itself.`,
		Example: "  fanfold snapshot\n  fanfold snapshot --json",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		began := time.Now()
		s, err := c.TakeSnapshot(cmd.Context())
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, s)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "snapshot %s has everything up to event %d: %d bytes in %.1f s\n", s.Name, s.Seq, s.Bytes, time.Since(began).Seconds())
		return nil
	}
	return cmd
}
