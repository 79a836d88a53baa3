package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
)

const defaultServer = "http://127.0.0.1:8080"

// client sends requests to a running server.
type client struct {
	server string
	http   http.Client
}

// header has the header fields of a request.
type header map[string]string

// serverFlag adds --server to a command, and returns the client that uses it.
func serverFlag(cmd *cobra.Command) *client {
	c := &client{}
	cmd.Flags().StringVar(&c.server, "server", defaultServer, "URL of a running server")
	return c
}

// do sends a request and returns the answer, whose body the caller closes. The error is the problem that the server
// answered with, Unavailable where it did not answer, and that of ctx once it has ended.
func (c *client) do(ctx context.Context, method, path string, body io.Reader, h header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.server, "/")+path, body)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "--server %q is not a URL", c.server)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range h {
		req.Header.Set(k, v)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fanfold.Wrap(err, fanfold.Unavailable,
			"no answer from %s: is a server running there? (%v)", c.server, err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, problemOf(resp)
}

// problemOf returns the error that an answer stands for.
func problemOf(resp *http.Response) error {
	var p struct {
		Type, Detail, Title string
		Problems            []fanfold.Problem
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return fanfold.Errorf(fanfold.Unavailable, "the server answered %s: %s", resp.Status, text)
	}
	return &fanfold.Error{Code: codeOf(p.Type), Message: fmt.Sprintf("%s: %s", resp.Status, p.Detail), Problems: p.Problems}
}

// codeOf returns the code in a problem's type.
func codeOf(problemType string) fanfold.Code {
	return fanfold.Code(strings.TrimPrefix(problemType, "urn:fanfold:problem:"))
}

// send sends a request, reads the answer to its end and returns its header. The errors are those of do.
func (c *client) send(ctx context.Context, method, path string, body io.Reader, h header) (http.Header, error) {
	resp, err := c.do(ctx, method, path, body, h)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.Header, errors.Join(err, resp.Body.Close())
}

// json sends a request without a body and decodes the JSON answer into out. The errors are those of do.
func (c *client) json(ctx context.Context, method, path string, out any) error {
	resp, err := c.do(ctx, method, path, nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(out)
}

// sameModel tells whether src is the model that applies on the server.
func (c *client) sameModel(ctx context.Context, src []byte) (bool, error) {
	m, err := modelfile.Parse(src)
	if err != nil {
		return false, err
	}
	applied, err := c.read(ctx, "/v1/_model")
	return bytes.Equal(applied, m.Source), err
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
