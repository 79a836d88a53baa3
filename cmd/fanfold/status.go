package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/node"
)

func statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show how a server stands",
		Example: "  fanfold status\n  fanfold status --json",
		Args:    cobra.NoArgs,
	}
	c := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.status(cmd.Context())
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, s)
		}
		showStatus(cmd.OutOrStdout(), s)
		return nil
	}
	return cmd
}

// status returns how the server stands.
func (c *client) status(ctx context.Context) (*node.Status, error) {
	s := new(node.Status)
	return s, c.json(ctx, http.MethodGet, "/v1/_status", s)
}

// showStatus prints a line for each thing worth knowing.
func showStatus(out io.Writer, s *node.Status) {
	fmt.Fprintf(out, "version     %s (%s)\n", s.Version, s.Fold)
	fmt.Fprintf(out, "position    %s\n", s.Position)
	fmt.Fprintf(out, "lag         %d events\n", s.Lag)
	fmt.Fprintf(out, "model       applied at event %d\n", s.Model)
	fmt.Fprintf(out, "log         %s\n", s.Log)
	durability := s.Durability
	if s.Sync == events.SyncServer {
		durability += ", and the server syncs every message by itself (docs/operations.md)"
	}
	fmt.Fprintf(out, "durability  %s\n", durability)
	if s.Stopped != nil {
		fmt.Fprintf(out, "stopped     at event %d: %s\n", s.Stopped.Seq, s.Stopped.Reason)
	}
	for _, e := range s.RuleErrors {
		fmt.Fprintf(out, "rule error  %s: %d times, last on %s: %s\n", e.Rule, e.Count, e.Document, e.Error)
	}
	if p := s.Preparing; p != nil {
		fmt.Fprintf(out, "preparing   %s\n", preparationLine(p))
	}
	if a := s.Activated; a != nil {
		fmt.Fprintf(out, "activated   the model of event %d: %d documents, %.2f s\n", a.Model, a.Documents, a.Seconds)
	}
	if p := s.Replay; p != nil {
		fmt.Fprintf(out, "replay      %s\n", replayLine(p))
	}
}
