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
	"github.com/fanfold/fanfold/internal/wire"
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
the store begins there and the log is purged. That waits for all nodes, and some seconds for writes
on their way. Where it is interrupted, the server goes on by itself. Groups that have yet to
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
	if !o.dryRun && !plan.Done {
		return o.follow(cmd, c, plan)
	}
	if o.asJSON {
		return printJSON(cmd, plan)
	}
	return nil
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
	if p.Feeds > 0 {
		fmt.Fprintf(out, "%s of the node: still without some of them\n", wire.Counted(p.Feeds, "open feed", "open feeds"))
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
	return agreed(in, out, "It is gone for good then. Take it away?")
}

// agree asks a question on a terminal, unless yes is the answer already. The error is errKept where the answer is another.
func agree(cmd *cobra.Command, yes bool, question string) error {
	if !yes && askable(cmd.InOrStdin()) && !agreed(cmd.InOrStdin(), cmd.ErrOrStderr(), question) {
		return errKept
	}
	return nil
}

// agreed asks a question, and tells whether the answer is yes.
func agreed(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question+" [y/N] ")
	line, _ := bufio.NewReader(io.LimitReader(in, 64)).ReadString('\n') // the end of the input is a no
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// How a compaction is waited for.
const (
	compactPause = 200 * time.Millisecond // between two questions of how far it is
	compactLost  = 30 * time.Second       // after which a server that knows nothing of it has forgotten it
)

// compacted is what is printed as JSON of a compaction that is through.
type compacted struct {
	*client.CompactPlan
	Seconds float64 `json:"seconds"` // that it took, without the log's purge; 0 where that is not known
}

// follow waits until the compaction is through, the purge of the log included. A terminal shows how far that is.
func (o *compactOptions) follow(cmd *cobra.Command, c *client.Client, plan *client.CompactPlan) error {
	state, err := awaitCompaction(cmd.Context(), c, plan.Before)
	if onTerminal() {
		fmt.Fprint(standardError(), clearLine())
	}
	switch {
	case cmd.Context().Err() != nil:
		fmt.Fprintln(cmd.ErrOrStderr(), "the server goes on by itself: fanfold status shows how far it is")
		return cmd.Context().Err()
	case err != nil:
		return err
	case state.Error != "":
		return fanfold.Errorf(fanfold.Unavailable, "the store begins where it did: %s", state.Error)
	}
	plan.Done = true
	if o.asJSON {
		return printJSON(cmd, compacted{plan, state.Seconds})
	}
	after := ""
	if state.Seconds > 0 {
		after = fmt.Sprintf(", after %.1f s", state.Seconds)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "the store begins at %s: %d events and %d versions are gone%s\n", plan.Before, plan.Events, plan.Versions, after)
	return nil
}

// awaitCompaction asks again and again until the compaction up to a position is through, or has failed. Several nodes may answer at the
// same address, and some know nothing of it.
func awaitCompaction(ctx context.Context, c *client.Client, before string) (*client.Compaction, error) {
	began := time.Now()
	for known := began; ; {
		state, err := c.Compaction(ctx)
		switch {
		case err != nil && !errors.Is(err, client.NotFound):
			return nil, err
		case err == nil && state.Before == before:
			if known = time.Now(); !state.Running && (state.Error != "" || state.Phase == "done") {
				return state, nil
			}
			if onTerminal() {
				fmt.Fprint(standardError(), clearLine()+compactLine(state, began))
			}
		default: // the node has forgotten it since it was through, or another one came after it
			if there, err := beginsAt(ctx, c, before); err != nil || there {
				return &client.Compaction{}, err
			}
			if time.Since(known) > compactLost {
				return nil, fanfold.Errorf(fanfold.Unavailable, "the server does not know of the compaction any more, and the store begins where it did: perhaps it was started again; try again")
			}
		}
		select {
		case <-time.After(compactPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// beginsAt tells whether the store begins at a position by now, or later.
func beginsAt(ctx context.Context, c *client.Client, before string) (bool, error) {
	status, err := c.Status(ctx)
	if err != nil || status.History == nil {
		return false, err
	}
	oldest, err := fanfold.ParsePosition(status.History.Oldest)
	if err != nil {
		return false, err
	}
	at, err := fanfold.ParsePosition(before)
	return oldest >= at, err
}

// compactLine returns how far a compaction is: of its phases how much is done, and then for what the log's purge waits.
func compactLine(s *client.Compaction, began time.Time) string {
	switch {
	case s.Phase != "purging":
		return workLine("compact", s.Phase, s.Done, s.Total, began)
	case len(s.WaitingFor) > 0:
		return workLine("compact", "the store begins there; the log is purged once these nodes do, too: "+strings.Join(s.WaitingFor, ", "), 0, 0, began)
	}
	return workLine("compact", "the store begins there; the log is purged once writes on their way have ended", 0, 0, began)
}
