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
)

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

// changesOnce calls show for each change that there is by now. The errors are those of do and of show.
func (c *client) changesOnce(ctx context.Context, q url.Values, show func([]byte) error) error {
	resp, err := c.do(ctx, http.MethodGet, "/v1/_changes?"+q.Encode(), nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for { // skip everything before the elements of results
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

// tail calls show for each change until ctx ends, whose error it returns. It resumes where it was when the connection
// breaks. Other errors are show's, and those of do for the first connection or where the server refuses to go on.
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
			if last == "" { // so that it can resume even where the connection breaks before the first event
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

// readEvents calls show for each change of a stream of server-sent events until it ends, and returns the id of the
// last event, or last where there was none. An error is show's.
func readEvents(r io.Reader, last string, show func([]byte) error) (string, error) {
	lines := bufio.NewReader(r)
	event := ""
	for {
		line, err := lines.ReadString('\n')
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

// showChange prints one change of the feed on a line.
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

// orNone returns a JSON value's text, or none where it is not there.
func orNone(v json.RawMessage) string {
	if v == nil {
		return "none"
	}
	return string(v)
}
