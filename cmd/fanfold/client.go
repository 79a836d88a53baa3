package main

import (
	"bytes"
	"context"
	"encoding/json"
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

// client talks to a running server.
type client struct {
	server string
	http   http.Client
}

type header map[string]string

// serverFlag adds --server.
func serverFlag(cmd *cobra.Command) *client {
	c := &client{}
	cmd.Flags().StringVar(&c.server, "server", defaultServer, "URL of a running server")
	return c
}

// do sends a request; a problem that comes back is the error. The caller closes the body.
func (c *client) do(ctx context.Context, method, path string, body io.Reader, h header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.server, "/")+path, body)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "--server %q is not a URL", c.server)
	}
	for k, v := range h {
		req.Header.Set(k, v)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "no answer from %s: is a server running there? (%v)", c.server, err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, problemOf(resp)
}

func problemOf(resp *http.Response) error {
	var p struct {
		Type, Detail, Title string
		Problems            []fanfold.Problem
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return fanfold.Errorf(fanfold.Unavailable, "the server answered %s: %s", resp.Status, text)
	}
	code := fanfold.Code(strings.TrimPrefix(p.Type, "urn:fanfold:problem:"))
	return &fanfold.Error{Code: code, Message: fmt.Sprintf("%s: %s", resp.Status, p.Detail), Problems: p.Problems}
}

// json sends a request without a body and reads the JSON answer.
func (c *client) json(ctx context.Context, method, path string, out any) error {
	resp, err := c.do(ctx, method, path, nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(out)
}

// sameModel tells whether the server's model is this one.
func (c *client) sameModel(ctx context.Context, src []byte) (bool, error) {
	m, err := modelfile.Parse(src)
	if err != nil {
		return false, err
	}
	resp, err := c.do(ctx, http.MethodGet, "/v1/_model", nil, nil)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	have, err := io.ReadAll(resp.Body)
	return bytes.Equal(have, m.Source), err
}

// onTerminal tells whether progress has somebody to read it.
func onTerminal() bool { return term.IsTerminal(int(os.Stderr.Fd())) }

// printJSON writes v indented.
func printJSON(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
