package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/wire"
)

func changesCommand() *cobra.Command {
	var since, collections, mode, filter, params string
	var docs, once, asJSON bool
	cmd := &cobra.Command{
		Use:   "changes",
		Short: "Tail the change feed",
		Long: `Print the changes of documents as they come, a line each: time, position, what was done to which
document, what changed, and, of a derived change, its rule and the document that was written. Long
values are cut, and of many only some are shown: --json has all. On a terminal lines have colours,
unless NO_COLOR is set.`,
		Example: "  fanfold changes\n  fanfold changes --since 0 --mode all --collections books --json",
		Args:    cobra.NoArgs,
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&since, "since", "now", "position, 0, now or an RFC 3339 time")
	f.StringVar(&collections, "collections", "", "only these, separated by commas")
	f.StringVar(&mode, "mode", "all", "all changes, or only the latest of each document")
	f.StringVar(&filter, "filter", "", "only changes of which this CEL expression over doc, previous, change and params is true, and leave where a document ceases to match")
	f.StringVar(&params, "params", "", "values of params in the filter, as a JSON object")
	f.BoolVar(&docs, "include-docs", false, "with --json: the documents, too, as of each change (of a written one: of its transaction's end; latest: as they are now)")
	f.BoolVar(&once, "once", false, "print what there is and end")
	f.BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		values, err := paramsOf(params)
		if err != nil {
			return err
		}
		opt := client.ChangesOptions{Params: values, Since: since, Mode: mode, Filter: filter, IncludeDocs: docs || !asJSON, Once: once, MustConnect: true}
		noteOn(cmd.ErrOrStderr(), &opt)
		if collections != "" {
			opt.Collections = []string{collections}
		}
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		out, style := cmd.OutOrStdout(), changeStyle{time: true, colour: colours(cmd.OutOrStdout())}
		for change, err := range c.Changes(cmd.Context(), opt) {
			switch {
			case errors.Is(err, context.Canceled) && !once:
				return nil
			case err != nil:
				return err
			}
			if asJSON {
				_, err = fmt.Fprintf(out, "%s\n", change.Raw)
			} else {
				_, err = fmt.Fprintln(out, style.line(change))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// noteOn has a feed say what its filter had no value for, and once, however often it connects, which collections are not there.
func noteOn(out io.Writer, opt *client.ChangesOptions) {
	said := false
	opt.OnUnknown = func(collections []string) {
		if !said {
			fmt.Fprintf(out, "not there: %s (misspelt, or without a document so far)\n", shortList(collections))
		}
		said = true
	}
	opt.OnNoValue = func(n int64) {
		fmt.Fprintf(out, "the filter has no value for %s: look for a misspelt member\n", wire.Counted(n, "change", "changes"))
	}
}
