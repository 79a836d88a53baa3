// Package openapi holds requests and answers against a server's OpenAPI document.
package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Contract is an OpenAPI document, and which of its answers were seen. It may be used from many goroutines.
type Contract struct {
	Doc  *openapi3.T
	mu   sync.Mutex
	seen map[string]bool // "METHOD /path status"
	rows map[string]int  // how many rows of each shape were checked
}

// registerDecoders has bodies of these media types taken as they are.
var registerDecoders = sync.OnceFunc(func() {
	for _, mediaType := range []string{"text/event-stream", "text/html", "application/x-ndjson", "application/jsonl"} {
		openapi3filter.RegisterBodyDecoder(mediaType, openapi3filter.PlainBodyDecoder)
	}
	openapi3filter.RegisterBodyDecoder("application/vnd.fanfold.dry-run+json", openapi3filter.JSONBodyDecoder)
})

// anything is the schema of members of any value.
var anything = regexp.MustCompile(`"additionalProperties":\s*\{\s*"x-go-type":\s*"json.RawMessage"\s*\}`)

// Read reads a document. The error is the loader's.
func Read(text []byte) (*Contract, error) {
	registerDecoders()
	text = bytes.ReplaceAll(text, []byte(`"x-complete": true`), []byte(`"additionalProperties": false`)) // of this version
	text = anything.ReplaceAll(text, []byte(`"x-any": true`))                                            // which the library takes for numbers that a double holds, and not null
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	return &Contract{Doc: doc, seen: map[string]bool{}}, nil
}

// Seen tells whether an answer, as "METHOD /path status", was seen.
func (c *Contract) Seen(answer string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[answer]
}

// find is the operation of a path; a literal segment goes before a parameter.
func (c *Contract) find(r *http.Request) (route *routers.Route, params map[string]string) {
	got := strings.Split(r.URL.EscapedPath(), "/")
	best := -1
	for path, item := range c.Doc.Paths.Map() {
		want := strings.Split(path, "/")
		values, literal := map[string]string{}, 0
		fits := len(got) == len(want) && item.GetOperation(r.Method) != nil
		for i := 0; fits && i < len(want); i++ {
			switch name, isParam := strings.CutPrefix(want[i], "{"); {
			case isParam:
				values[strings.TrimSuffix(name, "}")] = got[i]
			case want[i] == got[i]:
				literal++
			default:
				fits = false
			}
		}
		if fits && literal > best {
			best, params = literal, values
			route = &routers.Route{Spec: c.Doc, Path: path, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)}
		}
	}
	return route, params
}

// Check returns what of a request, with the body that was sent, and of its answer, with its body, is not in the document.
func (c *Contract) Check(r *http.Request, sent []byte, resp *http.Response, body []byte) error {
	route, params := c.find(r)
	if route == nil {
		return errors.New("the document has no such operation")
	}
	declared := route.Operation.Responses.Status(resp.StatusCode)
	if declared == nil {
		return errors.New("the document does not have this status")
	}
	c.mu.Lock()
	c.seen[fmt.Sprintf("%s %s %d", r.Method, route.Path, resp.StatusCode)] = true
	c.mu.Unlock()
	in := &openapi3filter.RequestValidationInput{Request: r.Clone(context.Background()), PathParams: params, Route: route}
	if resp.StatusCode < 300 {
		if err := acceptable(in, sent); err != nil {
			return fmt.Errorf("the request, which was taken, is not in the document: %w", err)
		}
	}
	for name, h := range declared.Value.Headers {
		if h.Value.Required && resp.Header.Get(name) == "" {
			return fmt.Errorf("header %s is missing", name)
		}
	}
	if len(declared.Value.Content) == 0 && len(body) > 0 {
		return errors.New("the document has no body here")
	}
	if resp.StatusCode >= 400 && r.Method != http.MethodHead {
		if err := wholeProblem(resp, body); err != nil {
			return err
		}
	}
	empty := resp.StatusCode == http.StatusCreated && len(body) == 0 // without return=representation
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: empty}})
}

// acceptable checks a request that the server has taken: parameters, headers of ours, body.
func acceptable(in *openapi3filter.RequestValidationInput, sent []byte) error {
	in.Request.Body = io.NopCloser(bytes.NewReader(sent))
	in.Options = &openapi3filter.Options{SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, ExcludeRequestBody: in.Route.Operation.RequestBody == nil}
	declared := slices.Concat(in.Route.PathItem.Parameters, in.Route.Operation.Parameters)
	known := func(where, name string) bool { return declared.GetByInAndName(where, name) != nil }
	for name := range in.Request.URL.Query() {
		if !known("query", name) {
			return fmt.Errorf("parameter %s", name)
		}
	}
	for name := range in.Request.Header {
		ours := strings.HasPrefix(name, "Fanfold-") || strings.HasPrefix(name, "If-") || name == "Prefer" || name == "Last-Event-Id"
		if name == "Last-Event-Id" {
			name = "Last-Event-ID"
		}
		if ours && !known("header", name) {
			return fmt.Errorf("header %s", name)
		}
	}
	return openapi3filter.ValidateRequest(context.Background(), in)
}

// wholeProblem checks what the schema of a problem cannot: that it tells its own status.
func wholeProblem(resp *http.Response, body []byte) error {
	var p struct {
		Status int
		Detail string
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return err
	}
	if p.Status != resp.StatusCode || p.Detail == "" {
		return errors.New("the problem has another status, or no detail")
	}
	return nil
}

// rowsOfShape is how many rows with the same members are checked. A check takes a millisecond, and feeds have thousands of rows.
const rowsOfShape = 50

// CheckRow returns what of a line of an endless feed is not in the document: a change, a heartbeat or the end. Of rows that have
// the same members it checks the first.
func (c *Contract) CheckRow(line []byte) error {
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber() // documents have numbers of any size
	var row map[string]any
	if err := in.Decode(&row); err != nil {
		return err
	}
	name := "Change"
	if _, ended := row["end"]; ended {
		name = "End"
	} else if _, beat := row["last_seq"]; beat {
		name = "Heartbeat"
	}
	shape := fmt.Sprint(row["op"], slices.Sorted(maps.Keys(row)))
	c.mu.Lock()
	if c.rows == nil {
		c.rows = map[string]int{}
	}
	c.rows[shape]++
	known := c.rows[shape] > rowsOfShape
	c.mu.Unlock()
	if known {
		return nil
	}
	return c.Doc.Components.Schemas[name].Value.VisitJSON(row, openapi3.EnableJSONSchema2020())
}
