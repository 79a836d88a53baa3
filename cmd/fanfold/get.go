package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/projector/inspect"
)

// getOptions has the flags of get.
type getOptions struct {
	view, expand    string
	fields          string
	at              string
	asJSON, lineage bool
	fresh           *freshness
}

func getCommand() *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use:     "get COLLECTION ID",
		Short:   "Print one document",
		Example: "  fanfold get books b1\n  fanfold get portfolios 1 --expand stock\n  fanfold get books b1 --at 2026-11-24T21:40:00Z",
		Args:    cobra.ExactArgs(2),
	}
	server := serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.view, "view", "embedded", "embedded (with derived fields) or referenced (as written)")
	f.StringVar(&o.expand, "expand", "", "relations to expand, such as stock or authors.publisher")
	f.StringVar(&o.fields, "fields", "", "print these paths alone, such as title,lines[].sku; the id always stays")
	f.StringVar(&o.at, "at", "", "the document as it was at this position, as history prints it, or RFC 3339 time")
	f.BoolVar(&o.asJSON, "json", false, "print the document exactly as the server sends it")
	f.BoolVar(&o.lineage, "lineage", false,
		"print instead where each derived value comes from, and who carries copies; with --at, as of then")
	o.fresh = freshnessFlags(cmd)
	cmd.MarkFlagsMutuallyExclusive("lineage", "view")
	for _, name := range []string{"consistency", "max-lag", "min-position"} {
		cmd.MarkFlagsMutuallyExclusive("lineage", name)
	}
	cmd.MarkFlagsMutuallyExclusive("at", "consistency")
	cmd.MarkFlagsMutuallyExclusive("at", "max-lag")
	cmd.MarkFlagsMutuallyExclusive("lineage", "expand")
	cmd.MarkFlagsMutuallyExclusive("lineage", "fields")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := server.connect()
		if err != nil {
			return err
		}
		defer server.close()
		if o.lineage {
			return printLineage(cmd, c, fanfold.Key{Collection: args[0], ID: args[1]}, o)
		}
		return printDocument(cmd, c, fanfold.Key{Collection: args[0], ID: args[1]}, o)
	}
	return cmd
}

// printDocument prints a document.
func printDocument(cmd *cobra.Command, c *client.Client, key fanfold.Key, o getOptions) error {
	opts, err := o.fresh.options()
	if err != nil {
		return err
	}
	opts = append(opts, client.View(o.view))
	if o.expand != "" {
		opts = append(opts, client.Expand(o.expand))
	}
	if o.fields != "" {
		opts = append(opts, client.Fields(o.fields))
	}
	if o.at != "" {
		opts = append(opts, client.AsOf(o.at))
	}
	doc, err := client.Collection[json.RawMessage](c, key.Collection).Get(cmd.Context(), key.ID, opts...)
	if err != nil {
		return err
	}
	if o.asJSON {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), string(doc.Value))
		return err
	}
	return printJSON(cmd, doc.Value)
}

// printLineage prints a line for each derived value, and one for each rule that copies from the document; or the server's
// answer.
func printLineage(cmd *cobra.Command, c *client.Client, key fanfold.Key, o getOptions) error {
	var opts []client.ReadOption
	if o.at != "" {
		opts = append(opts, client.AsOf(o.at))
	}
	text, err := c.Lineage(cmd.Context(), key.Collection, key.ID, opts...)
	if err == nil && o.asJSON {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), string(text))
		return err
	}
	var l inspect.Lineage
	if err := report(text, err, &l); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for _, v := range l.Derived {
		var sources []string
		for _, s := range v.Sources[:min(len(v.Sources), 3)] {
			name := s.Collection + "/" + s.ID
			if s.Revision > 0 {
				name += fmt.Sprintf(" (rev %d)", s.Revision)
			}
			sources = append(sources, name)
		}
		if more := v.Documents - int64(len(sources)); more > 0 {
			sources = append(sources, fmt.Sprintf("%d more", more))
		}
		if v.State == inspect.NoValue {
			at := v.Path
			if at == "" {
				at = "nowhere"
			}
			fmt.Fprintf(out, "%s  no value by %s: %s\n", at, v.Rule, v.Reason)
			continue
		}
		since := "long ago"
		if v.Event != nil {
			since = cmp.Or(v.Event.Reason, v.Event.Seq.String())
		}
		state := strings.TrimSuffix(", "+v.State, ", ")
		fmt.Fprintf(out, "%s  by %s%s  of %s  since %s\n", v.Path, v.Rule, state, strings.Join(sources, ", "), since)
	}
	for _, u := range l.Unguarded {
		fmt.Fprintf(out, "not guarded by unique %s: %s: %s\n", u.Unique, u.Part, u.Reason)
	}
	for _, e := range l.Copies {
		first := strings.Join(e.First[:min(len(e.First), 5)], ", ")
		fmt.Fprintf(out, "-> %s  in %d documents  %s", e.Rule, e.Documents, first)
		if e.More > 0 {
			fmt.Fprintf(out, "  (%d more ids were not looked for)", e.More)
		}
		if e.Reason != "" {
			fmt.Fprintf(out, "  (%s)", e.Reason)
		}
		fmt.Fprintln(out)
	}
	return nil
}
