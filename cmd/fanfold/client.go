package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

const defaultServer = "http://127.0.0.1:8080"

// remote is a running server.
type remote struct {
	server string
	opened *client.Client
}

// serverFlag adds --server to a command, and returns the server that it names.
func serverFlag(cmd *cobra.Command) *remote {
	r := &remote{}
	cmd.Flags().StringVar(&r.server, "server", defaultServer, "running server: host:port, or a URL")
	return r
}

// connect returns the server's client, which asks once: somebody waits for the command, and tries again by themselves. The
// error is Invalid where --server names no server.
func (r *remote) connect() (*client.Client, error) {
	if r.opened != nil {
		return r.opened, nil
	}
	address, err := serverURL(r.server)
	if err != nil {
		return nil, err
	}
	c, err := client.New(address, client.Options{RetryFor: -1, NoKeys: true})
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "--server %q is not a server: %s", r.server, problemOf(err))
	}
	r.opened = c
	return c, nil
}

// maxServer bounds the value of --server, in bytes.
const maxServer = 2048

// serverURL returns the URL of the server that text names: host:port, which is reached by http, or a URL, whose path is what
// a proxy puts before /v1. The error is Invalid.
func serverURL(text string) (string, error) {
	full := text
	if !strings.Contains(text, "://") {
		full = "http://" + text
	}
	u, err := url.Parse(full)
	if wrong := wrongAddress(text, u); wrong != "" {
		return "", fanfold.Wrap(err, fanfold.Invalid,
			"--server %.80q %s: give host:port, such as 127.0.0.1:8080, or a URL, such as %s", text, wrong, defaultServer)
	}
	return full, nil
}

// wrongAddress returns what is wrong with an address, "" for nothing. u is nil where it is no URL.
func wrongAddress(text string, u *url.URL) string {
	switch {
	case text == "":
		return "is empty"
	case len(text) > maxServer:
		return fmt.Sprintf("has %d bytes, more than %d", len(text), maxServer)
	case strings.HasPrefix(text, "/") || strings.HasPrefix(text, "."):
		return "is a path"
	case u == nil:
		return "is no address"
	case u.Scheme != "http" && u.Scheme != "https":
		return "begins with " + u.Scheme + "://, and not with http:// or https://"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "has a query"
	case u.Host == "":
		return "names no host"
	case strings.Trim(text, "0123456789") == "" || u.Hostname() == "":
		return "is a port alone"
	case !strings.Contains(text, "://") && strings.Trim(u.Path, "/") != "":
		return "has a path"
	case strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/v1"):
		return "ends with /v1, which commands add by themselves"
	}
	return ""
}

// close closes idle connections.
func (r *remote) close() {
	if r.opened != nil {
		r.opened.Close()
	}
}

// problemOf returns a client's error as one of the store's, with the status in its message, and any other as it is.
func problemOf(err error) error {
	var known *fanfold.Error
	var e *client.Error
	switch {
	case errors.As(err, &known) || !errors.As(err, &e):
		return err
	case e.Code == client.NoAnswer || e.Code == client.BadAnswer || e.Code == client.AnswerLimit:
		return fanfold.Wrap(err, fanfold.Unavailable, "%s", e.Detail)
	}
	message := e.Detail
	if e.Status > 0 {
		message = fmt.Sprintf("%d %s: %s", e.Status, http.StatusText(e.Status), e.Detail)
	}
	problems := make([]fanfold.Problem, len(e.Problems))
	for i, p := range e.Problems {
		problems[i] = fanfold.Problem{Path: p.Path, Detail: p.Detail}
	}
	return &fanfold.Error{Code: fanfold.Code(e.Code), Message: message, Problems: problems, Err: err}
}

// report decodes a report of the server into out.
func report(text json.RawMessage, err error, out any) error {
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// onTerminal tells whether standard error is a terminal, where progress is shown.
func onTerminal() bool { return term.IsTerminal(int(os.Stderr.Fd())) }

// printJSON prints v as indented JSON.
func printJSON(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
