package main

import (
	"crypto/x509"
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
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/client"
)

const defaultServer = "http://127.0.0.1:8080"

// remote is a running server.
type remote struct {
	server          string
	keyFile, caFile string // "" for none
	rescueKey       string // of the server of a rescue, which takes no other; "" for other servers
	opened          *client.Client
}

// serverFlag adds the flags about a server to a command, and returns the server that they name. None of them takes a key itself, for
// others see a process's arguments.
func serverFlag(cmd *cobra.Command) *remote {
	r := &remote{}
	f := cmd.Flags()
	f.StringVar(&r.server, "server", defaultServer, "running server: host:port, or a URL")
	f.StringVar(&r.keyFile, "key-file", "", "file with the key to send, in one line; without it "+keyVariable+" in the environment has the key")
	f.StringVar(&r.caFile, "ca-file", "", "file with the certificates of the authorities that sign the server's, in PEM; the server is reached by https")
	return r
}

// keyVariable names the environment variable with the key that commands send.
const keyVariable = "FANFOLD_KEY"

// key returns the key to send, none where none is given. The error is Invalid, and does not show it.
func (r *remote) key() (client.Key, error) {
	if r.rescueKey != "" {
		return client.NewKey(r.rescueKey), nil
	}
	if r.keyFile != "" {
		key, err := keys.ReadFile(r.keyFile)
		if err != nil {
			return client.Key{}, fanfold.Wrap(err, fanfold.Invalid, "--key-file: %s", fanfold.MessageOf(err))
		}
		return client.NewKey(key.Text()), nil
	}
	text, given := os.LookupEnv(keyVariable)
	if !given {
		return client.Key{}, nil
	}
	key, err := access.ParseKey(strings.TrimSpace(text))
	if err != nil {
		return client.Key{}, fanfold.Wrap(err, fanfold.Invalid, "%s: %s", keyVariable, fanfold.MessageOf(err))
	}
	return client.NewKey(key.Text()), nil
}

// authorities returns those that sign the server's certificate besides the system's, nil where none are given. The error is
// Invalid.
func (r *remote) authorities() (*x509.CertPool, error) {
	if r.caFile == "" {
		return nil, nil //nolint:nilnil // those of the system
	}
	text, err := readFile(r.caFile, "certificates", maxConfig)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fanfold.Errorf(fanfold.Invalid, "--ca-file %s has no certificate in PEM", r.caFile)
	}
	return pool, nil
}

// connect returns the server's client, which asks once: somebody waits for the command, and tries again by themselves. The
// error is Invalid where --server names no server.
func (r *remote) connect() (*client.Client, error) {
	if r.opened != nil {
		return r.opened, nil
	}
	scheme := "http"
	if r.caFile != "" {
		scheme = "https"
	}
	address, err := serverURL(r.server, scheme)
	if err != nil {
		return nil, err
	}
	if r.caFile != "" && !strings.HasPrefix(address, "https:") {
		return nil, fanfold.Errorf(fanfold.Invalid, "--ca-file is for a server with TLS, and --server %.80q begins with http://", r.server)
	}
	opt := client.Options{RetryFor: -1, NoKeys: true}
	if opt.Key, err = r.key(); err != nil {
		return nil, err
	}
	if opt.CAs, err = r.authorities(); err != nil {
		return nil, err
	}
	c, err := client.New(address, opt)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "--server %q is not a server: %s", r.server, problemOf(err))
	}
	r.opened = c
	return c, nil
}

// maxServer bounds the value of --server, in bytes.
const maxServer = 2048

// serverURL returns the URL of the server that text names: host:port, which is reached by scheme, or a URL, whose path is what a
// proxy puts before /v1. The error is Invalid.
func serverURL(text, scheme string) (string, error) {
	full := text
	if !strings.Contains(text, "://") {
		full = scheme + "://" + text
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
		problems[i] = fanfold.Problem{Path: p.Path, Detail: p.Detail, Line: p.Line, Column: p.Column}
	}
	return &fanfold.Error{Code: fanfold.Code(e.Code), Message: message, Problems: problems, Line: e.Line, Column: e.Column, Err: err}
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
