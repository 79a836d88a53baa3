package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector"
	"github.com/fanfold/fanfold/projector/inspect"
)

func getCommand() *cobra.Command {
	var view, expand string
	var asJSON, lineage bool
	cmd := &cobra.Command{
		Use:     "get COLLECTION ID",
		Short:   "Print one document",
		Example: "  fanfold get books b1\n  fanfold get portfolios 1 --expand stock",
		Args:    cobra.ExactArgs(2),
	}
	c := serverFlag(cmd)
	cmd.Flags().StringVar(&view, "view", "embedded", "embedded (with derived fields) or referenced (as written)")
	cmd.Flags().StringVar(&expand, "expand", "", "relations to expand, such as stock or authors.publisher")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the document exactly as the server sends it")
	cmd.Flags().BoolVar(&lineage, "lineage", false, "print instead where each derived value comes from, and who carries copies")
	cmd.MarkFlagsMutuallyExclusive("lineage", "view")
	cmd.MarkFlagsMutuallyExclusive("lineage", "expand")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := url.Values{"view": {view}}
		if expand != "" {
			q.Set("expand", expand)
		}
		path := "/v1/" + url.PathEscape(args[0]) + "/" + url.PathEscape(args[1])
		if lineage && !asJSON {
			return c.showLineage(cmd, path+"/_lineage")
		}
		if path += "?" + q.Encode(); lineage {
			path = strings.TrimSuffix(path, "?"+q.Encode()) + "/_lineage"
		}
		resp, err := c.do(cmd.Context(), http.MethodGet, path, nil, nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if asJSON {
			_, err = fmt.Fprintln(cmd.OutOrStdout(), string(body))
			return err
		}
		return printJSON(cmd, json.RawMessage(body))
	}
	return cmd
}

// showLineage prints a line for each derived value, and one for each rule that copies from the
// document.
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
		fmt.Fprintf(out, "%s  by %s%s  of %s  since %s\n", v.Path, v.Rule, strings.TrimSuffix(", "+v.State, ", "), strings.Join(sources, ", "), since)
	}
	for _, e := range l.Copies {
		fmt.Fprintf(out, "-> %s  in %d documents  %s\n", e.Rule, e.Documents, strings.Join(e.First[:min(len(e.First), 5)], ", "))
	}
	return nil
}

func changesCommand() *cobra.Command {
	var since, collections, mode string
	var docs, once, asJSON bool
	cmd := &cobra.Command{
		Use:     "changes",
		Short:   "Tail the change feed",
		Example: "  fanfold changes\n  fanfold changes --since 0 --mode all --collections books --json",
		Args:    cobra.NoArgs,
	}
	c := serverFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&since, "since", "now", "position, 0, now or an RFC 3339 time")
	f.StringVar(&collections, "collections", "", "only these, separated by commas")
	f.StringVar(&mode, "mode", "all", "all changes, or only the latest of each document")
	f.BoolVar(&docs, "include-docs", false, "with the documents as they are now")
	f.BoolVar(&once, "once", false, "print what there is and end")
	f.BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q := url.Values{"since": {since}, "mode": {mode}, "feed": {"eventsource"}}
		if collections != "" {
			q.Set("collections", collections)
		}
		if docs {
			q.Set("include_docs", "true")
		}
		out := cmd.OutOrStdout()
		show := func(data []byte) error { return showChange(out, data, asJSON) }
		if once {
			q.Set("feed", "normal")
			return c.changesOnce(cmd.Context(), q, show)
		}
		err := c.tail(cmd.Context(), q, show)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	return cmd
}

func (c *client) changesOnce(ctx context.Context, q url.Values, show func([]byte) error) error {
	resp, err := c.do(ctx, http.MethodGet, "/v1/_changes?"+q.Encode(), nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for { // to the first element of results
		t, err := dec.Token()
		if err != nil {
			return err
		}
		if t == json.Delim('[') {
			break
		}
	}
	for dec.More() {
		var row json.RawMessage
		if err := dec.Decode(&row); err != nil {
			return err
		}
		if err := show(row); err != nil {
			return err
		}
	}
	return nil
}

// tail follows the feed and resumes where it was when the connection breaks.
func (c *client) tail(ctx context.Context, q url.Values, show func([]byte) error) error {
	last, connected := "", false
	for {
		h := header{"Accept": "text/event-stream"}
		if last != "" {
			h["Last-Event-ID"] = last
		}
		resp, err := c.do(ctx, http.MethodGet, "/v1/_changes?"+q.Encode(), nil, h)
		switch {
		case err == nil:
			connected = true
			if last == "" { // where since led to, should the connection break before the first event
				last = resp.Header.Get("Fanfold-Position")
			}
			last, err = readEvents(resp.Body, last, show)
			if err = errors.Join(err, resp.Body.Close()); err != nil {
				return err
			}
		case !connected || ctx.Err() != nil || fanfold.CodeOf(err) != fanfold.Unavailable:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// readEvents reads server-sent events until the stream ends; an error is show's.
func readEvents(r io.Reader, last string, show func([]byte) error) (string, error) {
	sc := bufio.NewReader(r)
	event := ""
	for {
		line, err := sc.ReadString('\n')
		if err != nil {
			return last, nil //nolint:nilerr // the connection broke; the caller resumes
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			last = value
		case "event":
			event = value
		case "data":
			if event == "change" {
				if err := show([]byte(value)); err != nil {
					return last, err
				}
			}
		}
	}
}

func showChange(out io.Writer, data []byte, asJSON bool) error {
	if asJSON {
		_, err := fmt.Fprintf(out, "%s\n", data)
		return err
	}
	var row struct {
		Seq, Collection, ID, Op, Time string
		Rev                           uint64
		Cause                         struct{ Collection, ID, Rule string }
		Patch                         []struct {
			Path       string
			Value, Old json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &row); err != nil {
		return err
	}
	line := fmt.Sprintf("%-12s %-8s %s/%s", row.Seq, row.Op, row.Collection, row.ID)
	for _, p := range row.Patch {
		line += fmt.Sprintf("  %s: %s -> %s", p.Path, orNone(p.Old), orNone(p.Value))
	}
	if row.Cause.Rule != "" {
		line += fmt.Sprintf("  (%s, from %s/%s)", row.Cause.Rule, row.Cause.Collection, row.Cause.ID)
	}
	_, err := fmt.Fprintln(out, line)
	return err
}

func orNone(v json.RawMessage) string {
	if v == nil {
		return "none"
	}
	return string(v)
}

func statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "status", Short: "Show how a server stands", Example: "  fanfold status\n  fanfold status --json", Args: cobra.NoArgs}
	c := serverFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var s node.Status
		if err := c.json(cmd.Context(), http.MethodGet, "/v1/_status", &s); err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd, s)
		}
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "version     %s (%s)\nposition    %s\nlag         %d events\nmodel       applied at event %d\nlog         %s\ndurability  %s\n",
			s.Version, s.Fold, s.Position, s.Lag, s.Model, s.Log, s.Durability)
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
			fmt.Fprintf(out, "replay      %s\n", progressLine(p))
		}
		return nil
	}
	return cmd
}

func progressLine(p *projector.Progress) string {
	switch {
	case p.Error != "":
		return "failed: " + p.Error
	case p.Running:
		return fmt.Sprintf("event %d of %d, %.0f events/s, %.0f s left", p.Seq, p.Target, p.Rate, p.Left)
	}
	return fmt.Sprintf("done: %d events in %.1f s (%.0f events/s)", p.Seq, p.Seconds, p.Rate)
}
