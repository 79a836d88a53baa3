package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// EraseOptions say what of the documents Erase takes away.
type EraseOptions struct {
	// Members are JSON Pointers of what goes from every version; nil for everything but the ids, and the ids at relations. With them
	// the documents live on.
	Members []string
}

// ErasePlan says what an erasure takes away.
type ErasePlan = wire.ErasurePlan

// Erasure says how far an erasure is.
type Erasure = wire.Erasure

// Residue says what a NATS server may still have on its disk.
type Residue = wire.ErasureResidue

// Found is a document in which a text was found.
type Found = wire.Found

// eraseBody returns the body of a request for an erasure.
func eraseBody(documents []Target, opt EraseOptions) ([]byte, error) {
	body := wire.EraseBody{Members: opt.Members}
	for _, d := range documents {
		body.Documents = append(body.Documents, wire.ErasedKey(d))
	}
	return json.Marshal(body)
}

// erase sends a request for an erasure, and reads the answer into a value. It is tried again like a read: the second one finds what the
// first has begun.
func (c *Client) erase(ctx context.Context, documents []Target, opt EraseOptions, dry bool, into any) (err error) {
	r := command("/v1/_erase")
	r.read, r.repeatable = true, true
	if dry {
		r.query.Set("dryRun", "true")
	}
	if r.body, err = eraseBody(documents, opt); err != nil {
		return err
	}
	a, err := c.sendSlow(ctx, r)
	if err != nil {
		return err
	}
	return decode(a.body, into)
}

// PlanErasure tells what Erase would take away. It returns the errors of Erase.
func (c *Client) PlanErasure(ctx context.Context, documents []Target, opt EraseOptions) (*ErasePlan, error) {
	plan := &ErasePlan{}
	return plan, c.erase(ctx, documents, opt, true, plan)
}

// Erase takes away all that documents ever were, or members of them, from every version, copy and file of the store, for good. Documents that
// are there are deleted first, by the rules of relations. At most 10,000 are taken. The key needs the role admin. It does not wait for
// the end: AwaitErasure does. Errors are NotFound for a document that never was, Conflict and Restricted where the store cannot do it,
// Busy, Invalid and Timeout.
func (c *Client) Erase(ctx context.Context, documents []Target, opt EraseOptions) (*Erasure, error) {
	e := &Erasure{}
	return e, c.erase(ctx, documents, opt, false, e)
}

// Erasure tells how far an erasure is. The error is NotFound.
func (c *Client) Erasure(ctx context.Context, number uint64) (*Erasure, error) {
	r := newRequest(http.MethodGet, "/v1/_erasures/"+strconv.FormatUint(number, 10))
	r.read = true
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	e := &Erasure{}
	return e, decode(a.body, e)
}

// erasurePause is how long is waited between two questions of how far an erasure is.
const erasurePause = 200 * time.Millisecond

// AwaitErasure waits until an erasure is Over, and returns it then. Each time it has asked how far that is, it tells progress, unless that
// is nil. With an error it returns what it knows last, nil for nothing. The server goes on whatever becomes of the client. Errors are
// NotFound and ctx's.
func (c *Client) AwaitErasure(ctx context.Context, number uint64, progress func(e *Erasure)) (*Erasure, error) {
	var last *Erasure
	for {
		e, err := c.Erasure(ctx, number)
		if err != nil {
			return last, err
		}
		if last = e; progress != nil {
			progress(e)
		}
		if e.Over() {
			return e, nil
		}
		if !sleep(ctx, erasurePause) {
			return last, ctx.Err()
		}
	}
}

// Erasures returns the newest erasures, the newest first, at most 1,000, and whether there are more.
func (c *Client) Erasures(ctx context.Context) (newest []Erasure, more bool, err error) {
	r := newRequest(http.MethodGet, "/v1/_erasures")
	r.read = true
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, false, err
	}
	var list wire.Erasures
	err = decode(a.body, &list)
	return list.Erasures, list.More, err
}

// ExportErasures returns a line of NDJSON for each document of each erasure, with ids and sequences only, as fanfold restore --erasures
// takes them. It blocks until the server begins to send. The caller closes it. A Read before the end fails where the connection breaks.
func (c *Client) ExportErasures(ctx context.Context) (io.ReadCloser, error) {
	r := newRequest(http.MethodGet, "/v1/_erasures")
	r.read = true
	r.query.Set("export", "true")
	c.joinSession(r)
	resp, failure := c.open(ctx, r, nil) //nolint:bodyclose // the caller closes it
	if failure != nil {
		return nil, errors.Join(ctx.Err(), failure)
	}
	return resp.Body, nil
}

// FindText returns documents that have a text of 1 to 1,000 bytes in any version as it was written, 1,000 at most, and whether there are
// more. The server reads the whole log for it. The key needs the role admin. Errors are Busy while another one looks for a text, and Invalid.
func (c *Client) FindText(ctx context.Context, text string) (found []Found, more bool, err error) {
	r, err := jsonRequest(http.MethodPost, "/v1/_find", wire.FindBody{Text: text})
	if err != nil {
		return nil, false, err
	}
	r.read, r.repeatable = true, true
	list, err := answerOf[wire.FoundList](c.sendSlow(ctx, r))
	if err != nil {
		return nil, false, err
	}
	return list.Found, list.More, nil
}
