package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

// diffOptions has the flags of diff.
type diffOptions struct {
	from, to, view, derived string
	collections             []string
	asJSON, stat            bool
}

func diffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Print the documents that differ between two states of the store",
		Long: `Print the documents that differ between two states of the store, by collection and id, and below each
a line for each place that changed. A document that came back to what it was is not among them. The
states are positions or RFC 3339 times; without --to the later one is the present. Long values are
cut, and of many places only some are shown: --json has all. On a terminal lines have colours, unless
NO_COLOR is set.`,
		Example: "  fanfold diff --from 1042-0\n  fanfold diff --from 2026-11-24T00:00:00Z --to 2026-11-25T00:00:00Z --collections books,authors --stat",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "the earlier state: a position or RFC 3339 time (required)")
	f.StringVar(&o.to, "to", "", "the later state (default the present)")
	f.Var(nameList{&o.collections}, "collections", "only these, separated by commas")
	f.StringVar(&o.view, "view", "embedded", "embedded (with derived fields) or referenced (as written)")
	f.StringVar(&o.derived, "derived", "include", "include or exclude documents of which only derived values differ")
	f.BoolVar(&o.asJSON, "json", false, "one JSON object a line, with the document in both states")
	f.BoolVar(&o.stat, "stat", false, "print instead how many documents were created, changed and deleted, by collection")
	cmd.MarkFlagsMutuallyExclusive("json", "stat")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d, err := o.diff()
		if err != nil {
			return err
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if o.stat {
			return o.printCounts(cmd.Context(), cmd.OutOrStdout(), c, d)
		}
		return o.print(cmd.Context(), cmd.OutOrStdout(), c, d)
	}
	return cmd
}

// diff returns the flags as options of the client. The error is Invalid.
func (o *diffOptions) diff() (d client.DiffOptions, err error) {
	if o.from == "" {
		return d, fanfold.Errorf(fanfold.Invalid, "--from is missing: give the position or the time since when differences count")
	}
	d = client.DiffOptions{From: o.from, To: o.to, Collections: o.collections}
	d.NoDerived, err = excludes(o.derived)
	return d, err
}

// excludes reads the flag --derived. The error is Invalid.
func excludes(derived string) (bool, error) {
	if derived != "include" && derived != "exclude" {
		return false, fanfold.Errorf(fanfold.Invalid, "--derived %.80q is neither include nor exclude", derived)
	}
	return derived == "exclude", nil
}

// print prints the differences: as the server sends them, or as lines for people.
func (o *diffOptions) print(ctx context.Context, out io.Writer, c *client.Client, d client.DiffOptions) error {
	style := changeStyle{colour: colours(out)}
	for difference, err := range c.Diff(ctx, d, client.View(o.view)) {
		if err != nil {
			return err
		}
		if o.asJSON {
			_, err = fmt.Fprintf(out, "%s\n", oneLine(difference.Raw))
		} else {
			_, err = io.WriteString(out, style.difference(difference))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// diffPlaces bounds how many places are shown of a document.
const diffPlaces = 50

// difference returns a document that differs as lines for people: one for it, and one for each place that changed.
func (s changeStyle) difference(d *client.DocumentDifference) string {
	parts := patchedValues(d.Patch)
	if d.Op == "delete" {
		parts = nil // the whole document went
	}
	lines := s.paint(opColours[d.Op], fmt.Sprintf("%-6s", shown(d.Op))) + "  " + shown(d.Collection+"/"+d.ID) + "\n"
	for _, part := range parts[:min(len(parts), diffPlaces)] {
		lines += "  " + part + "\n"
	}
	if more := len(parts) - diffPlaces; more > 0 {
		lines += fmt.Sprintf("  and %d more\n", more)
	}
	return lines
}

// diffCounts says how many documents differ.
type diffCounts struct{ created, changed, deleted int }

// printCounts prints how many documents differ, by collection.
func (o *diffOptions) printCounts(ctx context.Context, out io.Writer, c *client.Client, d client.DiffOptions) error {
	byName := map[string]diffCounts{}
	for difference, err := range c.Diff(ctx, d, client.View(o.view)) {
		if err != nil {
			return err
		}
		n := byName[difference.Collection]
		switch difference.Op {
		case "create":
			n.created++
		case "delete":
			n.deleted++
		default:
			n.changed++
		}
		byName[difference.Collection] = n
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "COLLECTION\tCREATED\tCHANGED\tDELETED")
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		n := byName[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", shown(name), n.created, n.changed, n.deleted)
	}
	return w.Flush()
}
