package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ByQuery says how documents are written that a filter matches. The zero value works.
type ByQuery struct {
	Params      any      // the values of params in the filter, as a map or struct; nil for none
	Refresh     []string // paths of frozen copies that are taken anew
	AllowFanout bool     // write also what changes more documents than the model's fanout.limit
	// Key is the Idempotency-Key, under which the same call goes on where it was cut; "" for a new one, which ByQueryResult has.
	Key      string
	DryRun   bool // write nothing, and tell what would come of it
	Examples int  // with DryRun, how many of the derived changes Report shows
	Refused  func(r RefusedDocument)
	Progress func(r ByQueryResult) // called after each step
}

// RefusedDocument tells why a document was not written.
type RefusedDocument struct {
	ID     string
	Status int
	Code   Code
	Detail string
}

// ByQueryResult tells what came of the documents that a filter matches.
type ByQueryResult struct {
	Matched, Written, Unchanged, Refused int
	Position                             string
	Key                                  string          // the Idempotency-Key
	Folded                               bool            // as in ImportResult
	Late                                 string          // as in ImportResult
	Hints                                []string        // as Query.OnHints hears them, about the filter
	Report                               json.RawMessage // of a DryRun: its Judged first documents alone are counted, 1,000 at most, but for Matched
}

// UpdateByQuery patches all documents that a filter matches, each once, and returns what came of them; "true" means all. patch is a JSONPatch,
// or a merge patch. A document whose patch is refused is told to Refused, and the others go on. It blocks until all are written and
// folded. Errors come with the result so far: Invalid, and what ended it. The same call with the result's Key goes on.
func (d *Documents[T]) UpdateByQuery(ctx context.Context, filter string, patch any, opt ByQuery) (ByQueryResult, error) {
	body := writeBody{patch, "application/merge-patch+json"}
	if _, operations := patch.(JSONPatch); operations {
		body.mediaType = "application/json-patch+json"
	}
	return d.byQuery(ctx, http.MethodPatch, filter, body, opt)
}

// DeleteByQuery deletes all documents that a filter matches, each with what the model's onDelete says. It is as UpdateByQuery otherwise.
func (d *Documents[T]) DeleteByQuery(ctx context.Context, filter string, opt ByQuery) (ByQueryResult, error) {
	return d.byQuery(ctx, http.MethodDelete, filter, writeBody{}, opt)
}

// byQuery sends a write of all documents that a filter matches.
func (d *Documents[T]) byQuery(ctx context.Context, method, filter string, body writeBody, opt ByQuery) (result ByQueryResult, err error) {
	r, err := d.c.writeRequest(method, "/v1/"+url.PathEscape(d.name), body, opt.options())
	if err != nil {
		return result, err
	}
	r.query.Set("filter", filter)
	if opt.Params != nil {
		text, err := encode(opt.Params)
		if err != nil {
			return result, err
		}
		r.query.Set("params", string(text))
	}
	if opt.DryRun {
		a, err := d.c.send(ctx, r)
		if err != nil {
			return result, err
		}
		result.Report, result.Position = a.body, a.header.Get(headerPosition)
		return result, json.Unmarshal(a.body, &result)
	}
	result.Key = r.header.Get(headerKey)
	resp, failure := d.c.open(ctx, r, bytes.NewReader(r.body))
	if failure != nil {
		return result, cmp.Or[error](ctx.Err(), failure)
	}
	defer resp.Body.Close()
	if result, err = readByQuery(json.NewDecoder(&boundedLines{r: resp.Body, limit: maxProblem}), result, opt); err != nil {
		return result, cmp.Or(ctx.Err(), err)
	}
	d.c.latest.see(result.Position)
	return result, nil
}

// options returns what is asked for as options of a write.
func (o ByQuery) options() (opts []WriteOption) {
	for _, w := range []struct {
		given  bool
		option WriteOption
	}{{o.DryRun, DryRun()}, {o.Examples > 0, Examples(o.Examples)}, {o.AllowFanout, AllowFanout()}, {len(o.Refresh) > 0, Refresh(o.Refresh...)}, {o.Key != "", IdempotencyKey(o.Key)}} {
		if w.given {
			opts = append(opts, w.option)
		}
	}
	return opts
}

// readByQuery reads the answer to its end.
func readByQuery(in *json.Decoder, result ByQueryResult, opt ByQuery) (ByQueryResult, error) {
	for {
		var l struct {
			ByQueryResult
			ID, Type, Detail string
			Status           int
			Done             *bool
			Progress         *ByQueryResult
		}
		if err := in.Decode(&l); errors.Is(err, AnswerLimit) {
			return result, err
		} else if err != nil {
			return result, &Error{Code: NoAnswer, Err: err, Detail: fmt.Sprintf("the server went away after %d documents", result.Matched)}
		}
		code := Code(strings.TrimPrefix(l.Type, problemPrefix))
		switch {
		case l.Done != nil:
			key := result.Key
			result = l.ByQueryResult
			result.Key, result.Late = key, l.Detail
			if !*l.Done {
				result.Late = ""
				return result, &Error{Status: l.Status, Code: code, Detail: l.Detail}
			}
			return result, nil
		case l.Progress != nil:
			l.Progress.Key, l.Progress.Position = result.Key, l.Position
			result = *l.Progress
			if opt.Progress != nil {
				opt.Progress(result)
			}
		case opt.Refused != nil:
			opt.Refused(RefusedDocument{ID: l.ID, Status: l.Status, Code: code, Detail: l.Detail})
		}
	}
}
