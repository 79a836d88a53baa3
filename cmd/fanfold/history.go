package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

// historyOptions has the flags of history.
type historyOptions struct {
	oldestFirst, asJSON     bool
	from, to, view, derived string
	limit                   int
}

func historyCommand() *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history COLLECTION ID",
		Short: "Print the versions of a document: who changed what, and when",
		Long: `Print the versions of a document, the newest first, a line each: position, time (UTC), operation,
what changed, and who did it: the key that sent the request, where you are told, and, of a derived
change, the document that was written, and the rule. Long values are cut, and of many only some are
shown: --json has all. fanfold get --at POSITION prints the document as it was then. On a terminal
lines have colours, unless NO_COLOR is set.`,
		Example: "  fanfold history books b1\n  fanfold history books b1 --asc --from 2026-11-01T00:00:00Z --derived exclude",
		Args:    cobra.ExactArgs(2),
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.oldestFirst, "asc", false, "the oldest first")
	f.StringVar(&o.from, "from", "", "only changes from this position or RFC 3339 time on")
	f.StringVar(&o.to, "to", "", "only changes up to this position or RFC 3339 time")
	f.StringVar(&o.view, "view", "embedded", "embedded (with derived fields) or referenced (as written)")
	f.StringVar(&o.derived, "derived", "include", "include or exclude derived changes")
	f.IntVar(&o.limit, "limit", 0, "how many versions are printed, at most; 0 for all")
	f.BoolVar(&o.asJSON, "json", false, "one JSON object a line, with the document after each change")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		h, err := o.history()
		if err != nil {
			return err
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		return o.print(cmd, client.Collection[json.RawMessage](c, args[0]), args[1], h)
	}
	return cmd
}

// history returns the flags as options of the client. The error is Invalid.
func (o *historyOptions) history() (h client.HistoryOptions, err error) {
	const page = 1000
	if o.limit < 0 {
		return h, fanfold.Errorf(fanfold.Invalid, "--limit %d is not how many versions can be printed: give 1 or more, or 0 for all", o.limit)
	}
	h = client.HistoryOptions{OldestFirst: o.oldestFirst, From: o.from, To: o.to, NoDocs: !o.asJSON}
	if h.NoDerived, err = excludes(o.derived); err != nil {
		return h, err
	}
	if o.limit > 0 {
		h.Limit = min(o.limit, page)
	}
	return h, nil
}

// print prints the versions of a document.
func (o *historyOptions) print(cmd *cobra.Command, docs *client.Documents[json.RawMessage], id string, h client.HistoryOptions) error {
	out, printed := cmd.OutOrStdout(), 0
	style := changeStyle{colour: colours(out)}
	for version, err := range docs.History(cmd.Context(), id, h, client.View(o.view)) {
		if err != nil {
			return err
		}
		if err := o.printVersion(out, style, version.Change); err != nil {
			return err
		}
		if printed++; printed == o.limit {
			return nil
		}
	}
	return nil
}

// printVersion prints a version: as the server sends it, or as a line for people.
func (o *historyOptions) printVersion(out io.Writer, style changeStyle, version client.Change) (err error) {
	if o.asJSON {
		_, err = fmt.Fprintf(out, "%s\n", oneLine(version.Raw))
	} else {
		_, err = fmt.Fprintln(out, style.version(version))
	}
	return err
}
