package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

func replicasCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replicas [N]",
		Short: "Show or change how many replicas the log has on a NATS cluster",
		Long: `Show how many NATS servers keep the log and the buckets beside it (consumer groups, nodes,
snapshots), or change it to N, which needs as many servers in the cluster. Reads and writes go
on. The command ends when all replicas have everything; until then they protect from nothing.`,
		Example: "  fanfold replicas\n  fanfold replicas 3",
		Args:    cobra.MaximumNArgs(1),
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		var r *client.Replicas
		if len(args) == 0 {
			r, err = c.Replicas(cmd.Context())
		} else {
			n, wrong := strconv.Atoi(args[0])
			if wrong != nil {
				return fanfold.Errorf(fanfold.Invalid, "%.80q is not a number of replicas, such as 1 or 3", args[0])
			}
			r, err = c.SetReplicas(cmd.Context(), n, func(r *client.Replicas) { showReplicas(standardError(), r) })
		}
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, r)
		}
		showReplicas(cmd.OutOrStdout(), r)
		return nil
	}
	return cmd
}

// showReplicas prints a line for each stream.
func showReplicas(out io.Writer, r *client.Replicas) {
	for _, s := range r.Streams {
		fmt.Fprintf(out, "%-28s %d of %d replicas current", s.Stream, s.Current, s.Replicas)
		if s.Behind > 0 {
			fmt.Fprintf(out, ", one is %d messages behind", s.Behind)
		}
		fmt.Fprintln(out)
	}
}

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
