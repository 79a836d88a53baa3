package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/projector/inspect"
)

// getOptions has the flags of get.
type getOptions struct {
	view, expand    string
	asJSON, lineage bool
}

func getCommand() *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use:     "get COLLECTION ID",
		Short:   "Print one document",
		Example: "  fanfold get books b1\n  fanfold get portfolios 1 --expand stock",
		Args:    cobra.ExactArgs(2),
	}
	c := serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.view, "view", "embedded", "embedded (with derived fields) or referenced (as written)")
	f.StringVar(&o.expand, "expand", "", "relations to expand, such as stock or authors.publisher")
	f.BoolVar(&o.asJSON, "json", false, "print the document exactly as the server sends it")
	f.BoolVar(&o.lineage, "lineage", false,
		"print instead where each derived value comes from, and who carries copies")
	cmd.MarkFlagsMutuallyExclusive("lineage", "view")
	cmd.MarkFlagsMutuallyExclusive("lineage", "expand")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.get(cmd, documentPath(args[0], args[1]), o) }
	return cmd
}

// documentPath returns the path of a document in the API.
func documentPath(collection, id string) string {
	return "/v1/" + url.PathEscape(collection) + "/" + url.PathEscape(id)
}

// get prints the document at a path, or its lineage.
func (c *client) get(cmd *cobra.Command, path string, o getOptions) error {
	if o.lineage && !o.asJSON {
		return c.showLineage(cmd, path+"/_lineage")
	}
	if o.lineage {
		path += "/_lineage"
	} else {
		q := url.Values{"view": {o.view}}
		if o.expand != "" {
			q.Set("expand", o.expand)
		}
		path += "?" + q.Encode()
	}
	body, err := c.read(cmd.Context(), path)
	if err != nil {
		return err
	}
	if o.asJSON {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), string(body))
		return err
	}
	return printJSON(cmd, json.RawMessage(body))
}

// read returns the body of the answer to a GET.
func (c *client) read(ctx context.Context, path string) ([]byte, error) {
	resp, err := c.do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// showLineage prints a line for each derived value, and one for each rule that copies from the document.
func (c *client) showLineage(cmd *cobra.Command, path string) error {
	var l inspect.Lineage
	if err := c.json(cmd.Context(), http.MethodGet, path, &l); err != nil {
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
		since := "long ago"
		if v.Event != nil {
			since = v.Event.Seq.String()
		}
		state := strings.TrimSuffix(", "+v.State, ", ")
		fmt.Fprintf(out, "%s  by %s%s  of %s  since %s\n", v.Path, v.Rule, state, strings.Join(sources, ", "), since)
	}
	for _, e := range l.Copies {
		first := strings.Join(e.First[:min(len(e.First), 5)], ", ")
		fmt.Fprintf(out, "-> %s  in %d documents  %s\n", e.Rule, e.Documents, first)
	}
	return nil
}
