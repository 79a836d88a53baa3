package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/internal/wire"
)

func statusCommand() *cobra.Command {
	var asJSON, readyOnly bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how a server stands",
		Long: `Show how a server stands. With --ready it prints nothing and fails unless the server is ready
to be given requests, within three seconds: what a container's health check asks.`,
		Example: "  fanfold status\n  fanfold status --json\n  fanfold status --ready",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	cmd.Flags().BoolVar(&readyOnly, "ready", false, "print nothing, and fail unless the server is ready")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if readyOnly {
			return ready(cmd.Context(), c)
		}
		s, err := c.Status(cmd.Context())
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

// readyTime is how long a server may take to say that it is ready.
const readyTime = 3 * time.Second

// ready returns nil where the server is ready, and otherwise why it is not.
func ready(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	err := c.Ready(ctx)
	if ctx.Err() != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "%s did not say within %v that it is ready", c.Server(), readyTime)
	}
	return err
}

// showStatus prints a line for each thing worth knowing.
func showStatus(out io.Writer, s *client.Status) {
	fmt.Fprintf(out, "version     %s (%s)\n", s.Version, s.Fold)
	if v := s.FoldVersion; v.Version != v.Newest {
		fmt.Fprintf(out, "fold        version %d; the program knows %d: see fanfold upgrade\n", v.Version, v.Newest)
	} else {
		fmt.Fprintf(out, "fold        version %d\n", v.Version)
	}
	fmt.Fprintf(out, "position    %s\n", s.Position)
	fmt.Fprintf(out, "lag         %d events, %.1f s\n", s.Lag, s.LagSeconds)
	fmt.Fprintf(out, "model       applied at event %d\n", s.Model)
	fmt.Fprintf(out, "log         %s\n", s.Log)
	showHistory(out, s.History)
	if r := s.Replicas; r != nil {
		fmt.Fprintf(out, "replicas    %d, of which %d are current\n", r.Configured, r.Current)
	}
	durability := s.Durability
	if s.Sync == events.SyncServer {
		durability += ", and the server syncs every message by itself (docs/run/damage.md)"
	}
	fmt.Fprintf(out, "durability  %s\n", durability)
	if s.Stopped != nil {
		fmt.Fprintf(out, "stopped     at event %d: %s\n", s.Stopped.Seq, s.Stopped.Reason)
	}
	for _, e := range s.RuleErrors {
		fmt.Fprintf(out, "rule error  %s: %d times, last on %s: %s\n", e.Rule, e.Count, e.Document, e.Error)
	}
	showQueries(out, s.Queries)
	if p := s.Preparing; p != nil {
		fmt.Fprintf(out, "preparing   %s\n", preparationLine(p))
	}
	if p := s.Preparing; p != nil && len(p.WaitingFor) > 0 {
		fmt.Fprintf(out, "waiting     for %s to hold its writes\n", strings.Join(p.WaitingFor, ", "))
	}
	showWorks(out, s.Work)
	if a := s.Activated; a != nil {
		fmt.Fprintf(out, "activated   the model of event %d: %d documents, %.2f s\n", a.Model, a.Documents, a.Seconds)
	}
	if p := s.Replay; p != nil {
		fmt.Fprintf(out, "replay      %s\n", replayLine(p))
	}
	showNodes(out, s.Nodes)
	for _, n := range s.Needs {
		fmt.Fprintf(out, "needs       %s: %s\n", shown(n.What), shown(n.Detail))
	}
}

// showHistory prints where the store begins, and how far a compaction is.
func showHistory(out io.Writer, h *wire.History) {
	if h == nil {
		return
	}
	if h.Base != nil {
		fmt.Fprintf(out, "history     from %s on, of %s\n", h.Oldest, h.OldestTime.Format(time.RFC3339))
	}
	if b := h.Backup; b != nil {
		fmt.Fprintf(out, "backup      of %s has what was erased since: make another one, and remove it\n", b.Time.Format(time.RFC3339))
	}
	c := h.Compaction
	switch {
	case c == nil || c.Phase == wire.PhaseDone && c.Error == "":
	case c.Error != "":
		fmt.Fprintf(out, "compaction  ended early: %s\n", c.Error)
	case len(c.WaitingFor) > 0:
		fmt.Fprintf(out, "compaction  %s: waits for %s\n", c.Phase, strings.Join(c.WaitingFor, ", "))
	default:
		fmt.Fprintf(out, "compaction  %s\n", workLine("up to "+c.Before, c.Phase, c.Done, c.Total, c.Started))
	}
}

// showNodes prints a line for each node, where there are several.
func showNodes(out io.Writer, nodes []wire.Node) {
	if len(nodes) < 2 {
		return
	}
	for _, n := range nodes {
		state := "ready"
		switch {
		case n.Error != "":
			state = n.Error
		case !n.Live:
			state = fmt.Sprintf("gone, last seen %.0f s ago", n.SeenSeconds)
		case !n.Ready:
			state = "not ready"
		}
		if n.Self {
			state += ", this one"
		}
		fmt.Fprintf(out, "node        %s  %s  event %d  lag %d, %.1f s  %s  %s\n", n.ID, n.Address, n.Applied, n.Lag, n.LagSeconds, n.Version, state)
	}
}
