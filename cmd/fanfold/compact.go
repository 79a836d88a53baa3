package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

// compactOptions are the flags of compact.
type compactOptions struct {
	before                     string
	dryRun, force, yes, asJSON bool
}

func compactCommand() *cobra.Command {
	var o compactOptions
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Let the store begin later: keep what is, and take away how it came to be",
		Long: `Let the store begin at a position or a time. Documents, their revisions and their positions stay
as they are. Older versions, older rows of the feed and the events of the log up to there are gone for
good: no replay, no --at and no consumer gets at them any more. The server first builds the state at
that place and checks it; reads and writes go on. A backup that was made before has everything.

It says what goes, and asks on a terminal before anything does; --yes answers that. It ends once
the store begins there. Where it is interrupted, the server goes on. Groups that have yet to
acknowledge what would go are named, and nothing goes without --force.`,
		Example: "  fanfold compact --before 2026-01-01T00:00:00Z --dry-run\n  fanfold compact --before 81234-0-abcdefgh --yes",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.before, "before", "", "position, or RFC 3339 time, whose state is to be the oldest that can be read")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would go, and take nothing away")
	f.BoolVar(&o.force, "force", false, "also where groups have yet to acknowledge what goes; they must be reset then")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.before == "" {
			return fanfold.Errorf(fanfold.Invalid, "--before is missing: give the position or the time at which the store is to begin")
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		return o.run(cmd, c)
	}
	return cmd
}

// errKept makes the exit code 1 where somebody was asked and did not say yes.
var errKept = fanfold.Errorf(fanfold.Conflict, "nothing is taken away")

// run says what goes, asks, and waits until the store begins there.
func (o *compactOptions) run(cmd *cobra.Command, c *client.Client) error {
	plan, err := c.Compact(cmd.Context(), o.before, client.CompactOptions{DryRun: true})
	if err != nil {
		return err
	}
	if !o.asJSON {
		showPlan(cmd.OutOrStdout(), plan, o.dryRun)
	}
	if !o.dryRun && !plan.Done {
		if !o.yes && askable(cmd.InOrStdin()) && !confirmed(cmd.InOrStdin(), cmd.ErrOrStderr()) {
			return errKept
		}
		// A time is given as its position, so that what goes is what was told.
		if plan, err = c.Compact(cmd.Context(), plan.Before, client.CompactOptions{Force: o.force}); err != nil {
			return err
		}
	}
	if o.asJSON {
		err = printJSON(cmd, plan)
	}
	if err != nil || o.dryRun || plan.Done {
		return err
	}
	return o.follow(cmd, c, plan)
}

// showPlan prints what goes.
func showPlan(out io.Writer, p *client.CompactPlan, dryRun bool) {
	if p.Done {
		fmt.Fprintf(out, "the store begins at %s already, or later\n", p.Before)
		return
	}
	at := ""
	if !p.Time.IsZero() {
		at = ", of " + p.Time.Format(time.RFC3339)
	}
	goes := "go"
	if dryRun {
		goes = "would go"
	}
	fmt.Fprintf(out, "%d events of the log (about %s) and %d versions of documents %s; the oldest position is %s then%s\n", p.Events, sizeText(p.Bytes), p.Versions, goes, p.Before, at)
	for _, g := range p.Groups {
		fmt.Fprintf(out, "the group %s has yet to acknowledge some of them\n", g)
	}
	if dryRun {
		fmt.Fprintln(out, "nothing is taken away")
	}
}

// sizeText returns a number of bytes as people read it.
func sizeText(n int64) string {
	size, unit := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB", "TB"} {
		if size < 1000 {
			break
		}
		size, unit = size/1000, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// askable tells whether somebody can be asked.
func askable(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// confirmed asks, and tells whether the answer is yes.
func confirmed(in io.Reader, out io.Writer) bool {
	fmt.Fprint(out, "It is gone for good then. Take it away? [y/N] ")
	line, _ := bufio.NewReader(io.LimitReader(in, 64)).ReadString('\n') // the end of the input is a no
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// compactPause is the time between two questions of how far a compaction is.
const compactPause = 200 * time.Millisecond

// follow waits until the store begins at the horizon. A terminal shows how far that is.
func (o *compactOptions) follow(cmd *cobra.Command, c *client.Client, plan *client.CompactPlan) error {
	state, err := awaitCompaction(cmd.Context(), c, plan.Before, compactForgotten)
	if onTerminal() {
		fmt.Fprint(os.Stderr, clearLine())
	}
	switch {
	case err != nil:
		return err
	case state.Error != "":
		return fanfold.Errorf(fanfold.Unavailable, "the compaction has ended early: %s", state.Error)
	case o.asJSON:
		return nil
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "the store begins at %s: %d events and %d versions are gone", state.Before, plan.Events, plan.Versions)
	if state.Seconds > 0 { // which only the process knows that did it
		fmt.Fprintf(out, ", after %.1f s", state.Seconds)
	}
	fmt.Fprintln(out)
	if state.Phase != "done" {
		fmt.Fprintln(out, "the log's files shrink by themselves within some minutes; fanfold status shows it")
	}
	return nil
}

// compactForgotten is how long nobody may know of a compaction before it counts as lost with the process that ran it.
const compactForgotten = time.Minute

// awaitCompaction asks again and again until the store begins at a position, or the compaction has failed. Another node at the same address
// may not know of it, nor does one that was started anew. The error is Unavailable once no node has known of it for as long as forgotten says.
func awaitCompaction(ctx context.Context, c *client.Client, before string, forgotten time.Duration) (*client.Compaction, error) {
	for known := time.Now(); ; {
		state, err := c.Compaction(ctx)
		switch {
		case err != nil && !errors.Is(err, client.NotFound):
			return nil, err
		case err == nil && state.Before == before && !state.Running && state.Error == "":
			return state, nil
		case err == nil && state.Before == before && state.Running:
			known = time.Now()
			if onTerminal() {
				fmt.Fprint(os.Stderr, clearLine()+workLine("compact", state.Phase, state.Done, state.Total, state.Started))
			}
		default:
			switch plan, err := c.Compact(ctx, before, client.CompactOptions{DryRun: true}); {
			case err != nil:
				return nil, err
			case plan.Done: // there, or later, by another compaction
				return &client.Compaction{Phase: "done", Before: plan.Before}, nil
			case state != nil && state.Before == before:
				return state, nil
			case time.Since(known) > forgotten:
				return nil, fanfold.Errorf(fanfold.Unavailable, "no node knows of the compaction any more, and the store begins where it did: was a node started anew? Give the command again")
			}
		}
		select {
		case <-time.After(compactPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
