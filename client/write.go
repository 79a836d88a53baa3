package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// Written says what a write did.
type Written struct {
	ID       string // of the document; "" where Create does not know it, because another answer than its own came
	Revision uint64 // of the document from now on; 0 of a dry run
	Position string // goes into AtLeast
	// ETag goes into IfMatch. It is "" of a delete, and where the server dropped members of the body.
	ETag    string
	Created bool // the document was not there before
	// Unchanged says, of Revert, that the document is written so already. Nothing was written now, and Position is what the server shows.
	Unchanged bool
	// Folded says that this node shows the write and all its copies. Otherwise it is stored for good, and will be shown.
	Folded  bool
	Derived int64 // how many derived changes it caused, where Folded
	// Dropped lists the members of the body that are not stored, because the server derives or adds them: JSON pointers as
	// a URI has them. It ends with "..." where there are more.
	Dropped []string
	// Body is the document under ReturnBody, where no other write was faster, and the report of a DryRun.
	Body json.RawMessage
}

// WriteOption says under which conditions and how documents are written.
type WriteOption func(r *request)

// IfMatch writes only if the document's revision is the one of an ETag, which Get, a list or Written gave. The error is
// Stale otherwise. A derived change does not alter the revision.
func IfMatch(etag string) WriteOption { return func(r *request) { r.header.Set("If-Match", etag) } }

// IfRevision writes only where the document has this revision. The error is Stale otherwise.
// In a store that was restored, revisions that the stores before do not share need the whole ETag: see IfMatch.
func IfRevision(revision uint64) WriteOption { return IfMatch(revisionTag(revision)) }

// listTag returns an ETag of a document in a list. The position names the store, so that the ETag holds for no other write that has the
// revision's number in a store that was restored.
func listTag(revision uint64, position string) string {
	parts := strings.SplitN(position, "-", 4)
	if len(parts) < 3 {
		return revisionTag(revision)
	}
	return `"` + strconv.FormatUint(revision, 10) + "." + strings.Join(parts[:3], "-") + `"`
}

// revisionTag returns an ETag that names a revision alone. In a store that was restored it holds up to the last event of the backup: take
// an ETag for a later revision.
func revisionTag(revision uint64) string { return `"` + strconv.FormatUint(revision, 10) + `"` }

// MustExist writes only where the document is there. The error is Stale otherwise.
func MustExist() WriteOption { return IfMatch("*") }

// CreateOnly makes Put write only where the document is not there. The error is Stale otherwise.
func CreateOnly() WriteOption { return func(r *request) { r.header.Set("If-None-Match", "*") } }

// If writes only if a condition is true of the document as it was written, such as doc.stock >= params.n. It is CEL, as a filter is. params
// has the values of params, as a map or struct; nil for none. The error is ConditionFailed otherwise, also where there is no document.
func If(condition string, params any) WriteOption {
	return func(r *request) {
		r.query.Set("if", condition)
		if params == nil {
			return
		}
		text, err := encode(params)
		r.query.Set("params", string(text))
		r.err = err
	}
}

// IdempotencyKey is the key under which the write happens once, for whoever sends it: 1 to 255 printable ASCII characters.
// It is for a write that may be done again by another process, such as the handler of a message. The same key with
// another request is the error KeyReused.
func IdempotencyKey(key string) WriteOption { return func(r *request) { r.header.Set(headerKey, key) } }

// Async answers as soon as the write is stored, before its copies are right. Written.Folded is false then.
func Async() WriteOption { return prefer("respond-async") }

// Strict refuses a document that has members which the store derives or adds, instead of dropping them. The error is
// Unprocessable.
func Strict() WriteOption { return prefer("handling=strict") }

// ReturnBody answers with the document as it is after the write, in Written.Body.
func ReturnBody() WriteOption { return prefer("return=representation") }

// prefer adds a preference (RFC 7240).
func prefer(what string) WriteOption { return func(r *request) { r.header.Add("Prefer", what) } }

// FoldWithin says how long the server waits until it shows the write; its default is 5 s, and a minute the most.
func FoldWithin(d time.Duration) WriteOption {
	return func(r *request) { r.header.Set(headerTimeout, d.String()) }
}

// DryRun writes nothing. Written.Body tells what would be stored, and how many derived changes that would cause.
func DryRun() WriteOption { return func(r *request) { r.query.Set("dryRun", "true") } }

// Examples makes a DryRun show so many of the derived changes, at most 20: the first of each rule, then others.
func Examples(n int) WriteOption {
	return func(r *request) { r.query.Set("examples", strconv.Itoa(n)) }
}

// AllowFanout writes also what changes more documents than the model's fanout.limit.
func AllowFanout() WriteOption { return func(r *request) { r.query.Set("allowFanout", "true") } }

// Refresh takes frozen copies anew, by their paths.
func Refresh(fields ...string) WriteOption {
	return func(r *request) { r.query.Set("refresh", strings.Join(fields, ",")) }
}

// JSONPatch is a patch by operations (RFC 6902).
type JSONPatch []PatchOperation

// PatchOperation is one operation of a JSONPatch. Paths are JSON pointers; Value is of add, replace, test and increment, From of move
// and copy. Min and Max, of an increment, are numbers that its result may not pass; nil for none.
type PatchOperation struct {
	Op, Path, From  string
	Value, Min, Max any
}

// MarshalJSON returns the operation with the members that its kind has.
func (o PatchOperation) MarshalJSON() ([]byte, error) {
	members := map[string]any{"op": o.Op, "path": o.Path}
	switch o.Op {
	case "move", "copy":
		members["from"] = o.From
	case "add", "replace", "test", "increment":
		value, err := encode(o.Value)
		if err != nil {
			return nil, err
		}
		members["value"] = json.RawMessage(value)
	}
	for name, bound := range map[string]any{"min": o.Min, "max": o.Max} {
		if bound != nil {
			members[name] = bound
		}
	}
	return encode(members)
}

// Increment returns an operation of a JSONPatch that adds a number to the number at a path, such as Increment("/stock", -1). Set Min and Max
// of it for bounds that the sum may not pass.
func Increment(path string, by any) PatchOperation {
	return PatchOperation{Op: "increment", Path: path, Value: by}
}

// Create stores a new document. Its id is the member id, or a UUIDv7 that the server makes. The error is Exists where a
// document has the id.
func (d *Documents[T]) Create(ctx context.Context, value T, opts ...WriteOption) (*Written, error) {
	return d.c.write(ctx, http.MethodPost, "/v1/"+url.PathEscape(d.name), writeBody{value, "application/json"}, opts)
}

// Put creates or replaces a document. A member id of the value must be the same id; where there is none the server adds
// it. The error is Stale where a condition does not hold.
func (d *Documents[T]) Put(ctx context.Context, id string, value T, opts ...WriteOption) (*Written, error) {
	return d.write(ctx, http.MethodPut, id, writeBody{value, "application/json"}, opts)
}

// Patch changes the members of a document that a merge patch (RFC 7396) has: null removes one. Without IfMatch it applies
// to the document as it is then, whatever else is written. Errors are NotFound, and Stale where a condition does not hold.
func (d *Documents[T]) Patch(ctx context.Context, id string, patch any, opts ...WriteOption) (*Written, error) {
	return d.write(ctx, http.MethodPatch, id, writeBody{patch, "application/merge-patch+json"}, opts)
}

// JSONPatch changes a document by operations, all or none. It returns the errors of Patch, Conflict if an operation does not fit the
// document, and ConditionFailed if an increment would pass its Min or Max.
func (d *Documents[T]) JSONPatch(ctx context.Context, id string, patch JSONPatch, opts ...WriteOption) (*Written, error) {
	return d.write(ctx, http.MethodPatch, id, writeBody{patch, "application/json-patch+json"}, opts)
}

// Delete deletes a document, with what the model's onDelete says. Errors are NotFound, Restricted, and Stale where a
// condition does not hold.
func (d *Documents[T]) Delete(ctx context.Context, id string, opts ...WriteOption) (*Written, error) {
	return d.write(ctx, http.MethodDelete, id, writeBody{}, opts)
}

// Revert writes a document as it was written at a position, such as Version.Seq, or at an RFC 3339 time, as Put does. AsOf says what
// these stand for. Conditions come first; where the document is written so already, Written.Unchanged says so. It returns the errors of
// Put, NotFound if the document was not there then, Timeout, StoreChanged and PositionGone.
func (d *Documents[T]) Revert(ctx context.Context, id, at string, opts ...WriteOption) (*Written, error) {
	w, err := d.c.write(ctx, http.MethodPost, documentPath(d.name, id, "_revert"), writeBody{wire.RevertBody{At: at}, "application/json"}, opts)
	if w != nil {
		w.ID = id
	}
	return w, err
}

// write writes one document.
func (d *Documents[T]) write(ctx context.Context, method, id string, body writeBody, opts []WriteOption) (*Written, error) {
	w, err := d.c.write(ctx, method, documentPath(d.name, id), body, opts)
	if w != nil {
		w.ID = id
	}
	return w, err
}

// writeBody is what a write sends; a nil value is no body.
type writeBody struct {
	value     any
	mediaType string
}

// write sends a write and returns what it did.
func (c *Client) write(ctx context.Context, method, path string, body writeBody, opts []WriteOption) (*Written, error) {
	r, err := c.writeRequest(method, path, body, opts)
	if err != nil {
		return nil, err
	}
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	w := &Written{Revision: parseRevision(a.header.Get(headerRevision)), Position: a.header.Get(headerPosition), ETag: a.header.Get("ETag"),
		Created: a.status == http.StatusCreated, Folded: a.status != http.StatusAccepted, Derived: derived(a)}
	w.Unchanged = a.status == http.StatusNoContent && a.header.Get("Last-Modified") != "" // a write tells it with the document alone
	if list := a.header.Get(headerDropped); list != "" {
		w.Dropped = strings.Split(list, ", ")
	}
	if len(a.body) > 0 && w.Folded {
		w.Body = a.body
	}
	if at := a.header.Get("Location"); at != "" {
		w.ID, err = url.PathUnescape(at[strings.LastIndexByte(at, '/')+1:])
	}
	return w, err
}

// derived returns how many derived changes a write caused.
func derived(a *answer) int64 {
	n, _ := strconv.ParseInt(a.header.Get(headerDerived), 10, 64)
	return n
}

// writeRequest returns a request that writes documents, under a key of its own where none is given.
func (c *Client) writeRequest(method, path string, body writeBody, opts []WriteOption) (r *request, err error) {
	r = newRequest(method, path)
	if body.mediaType != "" {
		if r.body, err = encode(body.value); err != nil {
			return nil, err
		}
		r.header.Set("Content-Type", body.mediaType)
	}
	for _, opt := range opts {
		opt(r)
	}
	if r.err != nil {
		return nil, r.err
	}
	switch {
	case r.query.Get("dryRun") == "true":
		r.repeatable = true
		return r, nil
	case r.header.Get(headerKey) == "" && !c.opt.NoKeys:
		r.header.Set(headerKey, rand.Text())
	}
	if r.header.Get(headerKey) != "" {
		r.repeatable = true
	}
	return r, nil
}

// DeletedStep says what DeleteStep did.
type DeletedStep struct {
	Done     bool   `json:"done"`    // the document itself is deleted
	Deleted  int    `json:"deleted"` // how many documents
	Changed  int    `json:"changed"` // how many lost their reference
	Position string `json:"position"`
}

// DeleteStep deletes some of the documents that go with a document, children first, and it itself last. It is repeated
// until the step is Done, as DeleteSteps does, for a delete that would write more than a transaction takes. Each step is a
// transaction. Before the first one the server looks at everything that the delete leads to. Errors are NotFound, where the
// document is gone, and Restricted, where other documents stand in its way.
func (d *Documents[T]) DeleteStep(ctx context.Context, id string) (*DeletedStep, error) {
	return d.deleteStep(ctx, d.stepRequest(id))
}

// stepRequest returns the request for a step of a delete.
func (d *Documents[T]) stepRequest(id string) *request {
	r := newRequest(http.MethodDelete, documentPath(d.name, id))
	r.query.Set("steps", "true")
	return r
}

// deleteStep sends the request for a step of a delete.
func (d *Documents[T]) deleteStep(ctx context.Context, r *request) (*DeletedStep, error) {
	a, err := d.c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	var step struct {
		DeletedStep
		Result *DeletedStep // of a step that is stored and not folded yet
	}
	if err := decode(a.body, &step); err != nil {
		return nil, err
	}
	if step.Result != nil {
		return step.Result, nil
	}
	return &step.DeletedStep, nil
}

// DeletedSteps says what DeleteSteps has done, in all its steps.
type DeletedSteps struct {
	Done     bool   `json:"done"`    // the document itself is deleted
	Steps    int    `json:"steps"`   // transactions whose answers came
	Deleted  int    `json:"deleted"` // how many documents, the document itself included
	Changed  int    `json:"changed"` // how many lost their reference
	Position string `json:"position"`
}

// DeleteSteps deletes a document with all that the model's policies delete and change with it. It needs as many
// transactions as that takes: one writes 1,000 documents at most. It repeats DeleteStep until the document itself is
// deleted, and blocks until then. progress, which may be nil, is called after each step with the sum so far. A step whose
// answer is lost is sent again, and is not counted. A document that is written anew under the id meanwhile is deleted,
// too.
//
// With an error the sum so far comes back, and the same call goes on from there. Errors are DeleteStep's and ctx's.
// NotFound comes back only where nothing was deleted; later it means that another client deleted the rest, which is done.
func (d *Documents[T]) DeleteSteps(ctx context.Context, id string, progress func(sum DeletedSteps)) (DeletedSteps, error) {
	var sum DeletedSteps
	for !sum.Done {
		r := d.stepRequest(id)
		r.repeatable = true
		step, err := d.deleteStep(ctx, r)
		if errors.Is(err, NotFound) && (sum.Steps > 0 || r.unsure) {
			sum.Done = true
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
		sum = DeletedSteps{Done: step.Done, Steps: sum.Steps + 1, Deleted: sum.Deleted + step.Deleted, Changed: sum.Changed + step.Changed, Position: step.Position}
		if progress != nil {
			progress(sum)
		}
	}
	return sum, nil
}
