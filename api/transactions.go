package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// MaxOperations is how many operations a transaction takes: each is one message of the log.
const MaxOperations = 1000

// maxTransaction bounds a transaction's request, in bytes: the documents and what is around them.
const maxTransaction = 65 << 20

// operation is one operation of a transaction.
type operation struct {
	name    string
	event   *fanfold.Event
	cond    conditions
	expect  fanfold.Expect
	dropped bool
	patched []byte // of a patch: the document it makes
	ask     bool   // create-only: the log is to be asked what is there
}

// settles tells whether the operation goes by the current revision, whatever it is, so that it is
// tried again where that has moved on.
func (op *operation) settles() bool {
	return len(op.cond.match) == 0 && (op.name != "put" || op.cond.any())
}

// transact answers POST /v1/_transactions.
func (s *Server) transact(c echo.Context) error {
	if err := parameters(c, askParameters...); err != nil {
		return err
	}
	w := &write{prefer: prefer(c), begun: s.now()}
	var err error
	if w.limit, err = s.timeout(c); err != nil {
		return err
	}
	body, _, err := s.readAny(c, maxTransaction, "application/json")
	if err != nil {
		return err
	}
	ops, err := s.operations(body, w.prefer.strict)
	if err != nil {
		return err
	}
	once, err := onceOf(c.Request(), body)
	if err != nil {
		return err
	}
	ops[0].event.IdempotencyKey = once
	ctx, err := asked(c, w.prefer)
	if err != nil {
		return err
	}
	first, err := s.once(ctx, once, func(ctx context.Context) (uint64, error) { return s.commit(ctx, ops) })
	if err != nil {
		return err
	}
	return s.finishTransaction(c, w, ops, first)
}

// deepest is how much deeper than a document a transaction's request may be: each document says
// for itself that it is too deep, under its operation's index.
const deepest = 100

// operations reads and checks the request of a transaction.
func (s *Server) operations(body []byte, strict bool) ([]*operation, error) {
	if err := s.checkDepth(body, s.opt.MaxDepth+deepest); err != nil {
		return nil, err
	}
	list, ok := jsondoc.Elements(body, "operations")
	if !ok {
		return nil, fanfold.Errorf(fanfold.Invalid, `the body must be {"operations":[...]}`)
	}
	count := len(list)
	if count == 0 || count > MaxOperations {
		return nil, fanfold.Errorf(fanfold.Unprocessable, "a transaction has from 1 to %d operations; this one has %d", MaxOperations, count)
	}
	ops := make([]*operation, 0, count)
	seen := make(map[fanfold.Key]int, count)
	for _, text := range list {
		op, err := s.operation(text, strict)
		if err == nil {
			if at, twice := seen[op.event.Key]; twice {
				err = fanfold.Errorf(fanfold.Unprocessable, "document %s is in operation %d already; a transaction has each document once", op.event.Key, at)
			}
			seen[op.event.Key] = len(ops)
		}
		if err != nil {
			return nil, fanfold.AtOperation(err, len(ops))
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// members are what an operation of each kind may have besides op, collection and id.
var members = map[string]string{"put": "body ifMatch ifNoneMatch refresh", "create": "body", "patch": "patch ifMatch refresh", "delete": "ifMatch", "check": "ifMatch ifNoneMatch"}

// operation reads one operation.
func (s *Server) operation(text []byte, strict bool) (*operation, error) {
	done := s.parsing(text)
	t, n := jsondoc.MustParse(text), jsondoc.Root
	done()
	if t.Kind(n) != jsondoc.Object {
		return nil, fanfold.Errorf(fanfold.Invalid, "is not an object")
	}
	op := &operation{name: t.Text(t.Member(n, "op")), event: &fanfold.Event{Kind: fanfold.KindPut}}
	known, ok := members[op.name]
	if !ok {
		return nil, fanfold.Errorf(fanfold.Invalid, "op %q is not one of put, create, patch, delete and check", op.name)
	}
	var content []byte
	for m := t.First(n); m != jsondoc.None; m = t.Next(m) {
		var err error
		switch name := t.Key(m); {
		case name == "op":
		case name == "collection":
			if op.event.Key.Collection = t.Text(m); t.Kind(m) != jsondoc.String {
				err = fanfold.Errorf(fanfold.Invalid, `member "collection" must be a string`)
			}
		case name == "id":
			if kind := t.Kind(m); kind != jsondoc.String && kind != jsondoc.Number {
				return nil, fanfold.Errorf(fanfold.Invalid, `member "id" must be a string or a number`)
			}
			op.event.Key.ID = t.Text(m)
			err = fanfold.CheckID(op.event.Key.ID)
		case !strings.Contains(" "+known+" ", " "+name+" "):
			err = fanfold.Errorf(fanfold.Invalid, "unknown member %q: %s takes op, collection, id, %s", name, op.name, strings.ReplaceAll(known, " ", ", "))
		case name == "ifMatch":
			err = op.ifMatch(t, m)
		case name == "refresh":
			for e := t.First(m); e != jsondoc.None; e = t.Next(e) {
				op.event.Refresh = append(op.event.Refresh, t.Text(e))
			}
			if len(op.event.Refresh) == 0 || t.Kind(m) != jsondoc.Array {
				err = fanfold.Errorf(fanfold.Invalid, "refresh is a list of frozen fields")
			}
		case name == "ifNoneMatch":
			if op.cond.noneness = t.Text(m) == "*"; !op.cond.noneness {
				err = fanfold.Errorf(fanfold.Invalid, `ifNoneMatch takes "*": the document must not be there`)
			}
		default:
			content = t.Raw(m)
		}
		if err != nil {
			return nil, err
		}
	}
	if op.cond.noneness && (op.cond.exists || len(op.cond.match) > 0) {
		return nil, fanfold.Errorf(fanfold.Invalid, "ifMatch and ifNoneMatch exclude each other")
	}
	if t.Member(n, "collection") == jsondoc.None {
		return nil, fanfold.Errorf(fanfold.Invalid, `member "collection" is missing`)
	}
	if err := fanfold.CheckCollection(op.event.Key.Collection); err != nil {
		return nil, err
	}
	return op, s.complete(op, content, strict)
}

// ifMatch reads a condition: a tag as the ETag header has it, with or without its quotes, a
// revision, or "*".
func (op *operation) ifMatch(t *jsondoc.Tree, n jsondoc.Node) error {
	text := t.Text(n)
	if kind := t.Kind(n); kind != jsondoc.String && kind != jsondoc.Number {
		return fanfold.Errorf(fanfold.Invalid, `ifMatch is a tag as the ETag header has it, a revision, or "*"`)
	}
	if text == "*" {
		op.cond.exists = true
		return nil
	}
	if !strings.HasSuffix(text, `"`) {
		text = `"` + text + `"`
	}
	tag, err := fanfold.ParseETag(text)
	op.cond.match = []fanfold.Revision{tag.Revision}
	return err
}

// complete checks what the operation is about and makes its event.
func (s *Server) complete(op *operation, content []byte, strict bool) error {
	ev := op.event
	if ev.Key.ID == "" && op.name != "create" {
		return fanfold.Errorf(fanfold.Invalid, `member "id" is missing`)
	}
	if content == nil && slices.Contains([]string{"put", "create", "patch"}, op.name) {
		return fanfold.Errorf(fanfold.Invalid, "member %q is missing", strings.Fields(members[op.name])[0])
	}
	if err := s.checkRefresh(ev); err != nil {
		return err
	}
	if int64(len(content)) > s.opt.MaxBody {
		return fanfold.Errorf(fanfold.TooLarge, "it has %d bytes; at most %d are taken", len(content), s.opt.MaxBody)
	}
	switch op.name {
	case "put", "create":
		source, dropped, err := s.written(content, &ev.Key, strict)
		ev.Body, op.dropped = source, dropped
		op.cond.noneness = op.cond.noneness || op.name == "create"
		return err
	case "patch":
		ev.Kind, ev.Body, ev.Patch = fanfold.KindPatch, content, fanfold.MergePatch
		if content[0] == '[' {
			ev.Patch = fanfold.JSONPatch
		}
		if err := s.checkJSON(content); err != nil {
			return err
		}
		return s.checkPatch(ev.Key, ev)
	case "delete":
		ev.Kind = fanfold.KindDelete
	case "check":
		ev.Kind = fanfold.KindCheck
		if !op.cond.any() {
			return fanfold.Errorf(fanfold.Invalid, `a check needs ifMatch (a tag, or "*") or ifNoneMatch ("*")`)
		}
	}
	return nil
}

// commit appends the operations' events, all or none, and returns the sequence of the first.
func (s *Server) commit(ctx context.Context, ops []*operation) (uint64, error) {
	var keys []fanfold.Key
	for _, op := range ops {
		if op.settles() && op.name != "check" {
			keys = append(keys, op.event.Key)
		}
	}
	done, err := s.turns.take(ctx, keys...)
	if err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "too many others write to the documents: try again")
	}
	defer done()
	tx := nuid.Next()
	deletes := s.deletes(ops)
	writes := make([]fanfold.Write, len(ops))
	for again := false; ; again = true {
		if deletes { // whom they concern is read here, and nobody acknowledged may be missed
			if err := s.catchUp(ctx); err != nil {
				return 0, err
			}
		}
		for i, op := range ops {
			if again && !op.settles() {
				continue
			}
			if err := s.settle(ctx, op); err != nil {
				return 0, fanfold.AtOperation(err, i)
			}
			writes[i] = fanfold.Write{Event: op.event, Expect: op.expect}
		}
		first, more, err := s.commitOnce(ctx, tx, ops, &writes, deletes)
		var e *fanfold.Error
		if !errors.As(err, &e) || e.Code != fanfold.Stale || e.Operation == nil || *e.Operation < len(ops) && !ops[*e.Operation].settles() {
			if err == nil && len(keys) > 0 { // whose turn is next should see it
				_ = s.wait(ctx, first+uint64(len(writes))-1, s.opt.Timeout)
			}
			if errors.Is(err, errMessages) && len(more) > 0 {
				err = fanfold.Wrap(errMessages, fanfold.Unprocessable, "with what the delete brings with it the request has more than %d messages: delete in steps (DELETE with steps=true, fanfold delete --steps)", MaxOperations)
			}
			return first, within(err, len(ops))
		}
		s.retries.Add(1)
		for _, op := range ops {
			op.ask = true
		}
		if err := s.wait(ctx, uint64(e.Current), s.opt.Timeout); err != nil {
			return 0, behind(err)
		}
	}
}

// commitOnce appends the writes of the operations, which stand first in writes, with more that their
// deletes bring with them.
func (s *Server) commitOnce(ctx context.Context, tx string, ops []*operation, writes *[]fanfold.Write, deletes bool) (first uint64, more []fanfold.Write, err error) {
	if deletes {
		if more, err = s.removals(ops); err != nil {
			return 0, nil, err
		}
	}
	*writes = append((*writes)[:len(ops)], more...)
	first, err = s.appendAll(ctx, tx, *writes)
	return first, more, err
}

// settle finds the revision that the operation goes by, and checks a patch against it.
func (s *Server) settle(ctx context.Context, op *operation) error {
	key := op.event.Key
	if op.cond.noneness {
		if doc, _, err := s.reader.Get(key, fanfold.Embedded); err != nil || doc == nil && !op.ask {
			op.expect, op.event.Base = fanfold.Exactly(0), 0
			return err
		}
		rev, deleted, err := s.log.Last(ctx, key)
		if err == nil && rev != 0 && !deleted {
			err = exists(key, rev)
			if op.name != "create" {
				err = &fanfold.Error{Code: fanfold.Stale, Current: rev, Message: "document " + key.String() + " exists"}
			}
		}
		op.expect, op.event.Base = fanfold.Exactly(rev), rev
		return err
	}
	if op.name == "put" && !op.cond.any() {
		return nil
	}
	for {
		rev, err := s.current(ctx, key, op.cond)
		if err == nil && op.name == "patch" {
			op.patched, err = s.tryPatch(op.event, rev)
		}
		var e *fanfold.Error
		if errors.As(err, &e) && e.Code == fanfold.Stale && op.settles() && op.name == "patch" && e.Current != 0 {
			if err := s.wait(ctx, uint64(e.Current), s.opt.Timeout); err != nil {
				return behind(err)
			}
			continue
		}
		op.expect = fanfold.Exactly(rev)
		if op.name == "check" {
			op.event.Base = rev
		}
		return err
	}
}

// transactionResult is the answer to a transaction.
type transactionResult struct {
	Tx         string            `json:"tx,omitempty"`
	Position   fanfold.Position  `json:"position"`
	Operations []operationResult `json:"operations"`
}

type operationResult struct {
	Op         string           `json:"op"`
	Collection string           `json:"collection"`
	ID         string           `json:"id,omitempty"` // absent where it is not known yet
	Status     int              `json:"status,omitempty"`
	Revision   fanfold.Revision `json:"revision,omitempty"`
	ETag       string           `json:"etag,omitempty"`
}

// finishTransaction waits for the fold and answers a transaction whose first event is first.
func (s *Server) finishTransaction(c echo.Context, w *write, ops []*operation, first uint64) error {
	last := first + uint64(len(ops)) - 1
	result := transactionResult{Position: fanfold.At(last, 0), Operations: make([]operationResult, len(ops))}
	for i, op := range ops {
		r := operationResult{Op: op.name, Collection: op.event.Key.Collection, ID: op.event.Key.ID}
		if op.name != "check" {
			r.Revision = fanfold.Revision(first + uint64(i))
		}
		result.Operations[i] = r
	}
	c.Response().Header().Set(headerPosition, result.Position.String())
	if list := w.prefer.applied(true, w.prefer.async, true); list != "" {
		c.Response().Header().Set("Preference-Applied", list)
	}
	w.settled(s, ops[0].event.IdempotencyKey, last)
	if waited := s.waitFor(c, w, last); waited != nil || w.prefer.async {
		if ops[0].event.IdempotencyKey.Hash != "" { // the ids of then may be others
			for i, op := range ops {
				if op.name == "create" {
					result.Operations[i].ID = ""
				}
			}
		}
		return s.accepted(c, w, last, waited, result)
	}
	err := s.reader.Read(func(snap Snapshot) error {
		derived, err := snap.Derived(first)
		if err != nil {
			return err
		}
		c.Response().Header()[keyDerived] = []string{strconv.FormatInt(derived, 10)}
		for i, op := range ops {
			r := &result.Operations[i]
			if op.name == "check" {
				r.Status = http.StatusNoContent
				continue
			}
			o, err := outcomeOf(snap, first+uint64(i))
			if err != nil {
				return err
			}
			r.ID, r.Status, result.Tx = o.key.ID, o.status(), o.tx
			if o.op != fanfold.OpDelete && !op.dropped {
				r.ETag = s.tag(first + uint64(i))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, result)
}
