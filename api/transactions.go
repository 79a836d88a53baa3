package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/condition"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/writer"
)

// maxTransaction bounds the body of a transaction, in bytes: the documents and what is around them.
const maxTransaction = 65 << 20

// transactionDepth is the number of levels that a transaction's body may nest deeper than a document. It is large, so
// that a document that nests too deeply is refused as one, under its operation's index.
const transactionDepth = 100

// Bounds of an operation.
const (
	maxMembers = 16    // more than any has
	maxRefresh = 2_000 // as many fields as a model may have
)

// transact answers POST /v1/_transactions.
func (d *documents) transact(c echo.Context) error {
	if err := parameters(c, writeParameters...); err != nil {
		return err
	}
	body, _, err := readWatched(c, maxTransaction, newOperationCounter(d.maxBody).watch, jsonType)
	if err != nil {
		return err
	}
	w, err := d.newWrite(c, nil, body)
	if err != nil {
		return err
	}
	ops, err := d.operations(c.Request().Context(), body, w.prefer.strict, w.request.By)
	if err != nil {
		return err
	}
	result, err := d.writer.Transact(c.Request().Context(), ops, w.request)
	switch {
	case fanfold.CodeOf(err) == fanfold.ConditionFailed:
		return d.stale(c, keyAtFault(ops, err), err)
	case err != nil:
		return err
	case result.DryRun != nil:
		return d.answerDryRun(c, result.DryRun)
	}
	return d.finishTransaction(c, w, ops, result.First)
}

// keyAtFault returns the document of the operation that an error names; the zero value where it names none.
func keyAtFault(ops []*writer.Operation, err error) (key fanfold.Key) {
	var e *fanfold.Error
	if errors.As(err, &e) && e.Operation != nil && *e.Operation < len(ops) {
		key = ops[*e.Operation].Key
	}
	return key
}

// operations reads and prepares the operations in a transaction's body, which a principal asks for. Errors are Forbidden, Invalid,
// Unprocessable, TooLarge and Unavailable; their Operation is the index of the one at fault.
func (d *documents) operations(ctx context.Context, body []byte, strict bool, by *access.Rights) ([]*writer.Operation, error) {
	if err := writer.CheckDepth(body, d.maxDepth+transactionDepth); err != nil {
		return nil, err
	}
	list, ok := jsondoc.Elements(body, "operations")
	if !ok {
		return nil, errNoOperations
	}
	count := len(list)
	if count == 0 || count > writer.MaxOperations {
		return nil, fanfold.Errorf(fanfold.Unprocessable, "a transaction has from 1 to %d operations; this one has %d", writer.MaxOperations, count)
	}
	ops := make([]*writer.Operation, 0, count)
	seen, made := make(map[fanfold.Key]int, count), namedOperations{}
	conditions := &condition.Set{}
	for _, text := range list {
		op, err := d.operation(ctx, text, strict, made, conditions, by)
		if err == nil {
			if at, twice := seen[op.Key]; twice {
				err = fanfold.Errorf(fanfold.Unprocessable, "document %s is in operation %d already; a transaction has each document once", op.Key, at)
			}
			seen[op.Key] = len(ops)
		}
		if err != nil {
			return nil, fanfold.AtOperation(err, len(ops))
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// operationMembers lists the members that an operation of each kind may have besides op, collection and id. The member
// with its content comes first.
var operationMembers = map[writer.OperationKind][]string{
	writer.Put: {"body", "ifMatch", "ifNoneMatch", paramIf, paramParams, "refresh", memberRefs}, writer.Create: {"body", memberAs, memberRefs},
	writer.Patch:  {"patch", "ifMatch", paramIf, paramParams, "refresh", memberRefs},
	writer.Delete: {"ifMatch", paramIf, paramParams}, writer.Check: {"ifMatch", "ifNoneMatch", paramIf, paramParams}}

// operation reads and prepares one operation. made holds the operations that have names so far, and gets this
// one. conditions has the transaction's, by are the rights of who asks for it. Errors are Forbidden, Invalid, Unprocessable, TooLarge and UnknownCollection.
func (d *documents) operation(ctx context.Context, text []byte, strict bool, made namedOperations, conditions *condition.Set, by *access.Rights) (*writer.Operation, error) {
	t, err := jsondoc.Outline(text, maxMembers)
	if err != nil { // it is JSON
		return nil, fanfold.Errorf(fanfold.Invalid, "it has more than %d members, which no operation has", maxMembers)
	}
	n := jsondoc.Root
	if t.Kind(n) != jsondoc.Object {
		return nil, fanfold.Errorf(fanfold.Invalid, "is not an object")
	}
	op := &writer.Operation{Kind: writer.OperationKind(t.Text(t.Member(n, "op"))), Strict: strict}
	known, ok := operationMembers[op.Kind]
	if !ok {
		return nil, fanfold.Errorf(fanfold.Invalid, "op %q is not one of put, create, patch, delete and check", op.Kind)
	}
	if err := judgeOperation(op, t, by); err != nil {
		return nil, err
	}
	names := operationNames{made: made}
	for m := t.First(n); m != jsondoc.None; m = t.Next(m) {
		err := readMember(op, known, &names, t, m)
		if err == nil && t.Key(m) == "ifMatch" {
			err = d.positions.readIfMatch(op, t, m)
		}
		if err != nil {
			return nil, err
		}
	}
	if op.If, err = readOperationIf(conditions, t); err != nil {
		return nil, err
	}
	if err := checkMembers(op, t); err != nil {
		return nil, err
	}
	if len(names.refs) > 0 {
		if err := d.fillIn(op, &names); err != nil {
			return nil, err
		}
	}
	err = d.writer.Prepare(ctx, op, by)
	if err == nil && names.as != "" {
		made[names.as] = op
	}
	return op, err
}

// readOperationIf reads the condition over a document's content that an operation has, nil for none. The error is Invalid.
func readOperationIf(conditions *condition.Set, t *jsondoc.Tree) (*condition.Condition, error) {
	given, n := t.Member(jsondoc.Root, paramParams), t.Member(jsondoc.Root, paramIf)
	switch {
	case n == jsondoc.None && given == jsondoc.None:
		return nil, nil
	case n == jsondoc.None:
		return nil, fanfold.Errorf(fanfold.Invalid, "params goes with if")
	case t.Kind(n) != jsondoc.String:
		return nil, fanfold.Errorf(fanfold.Invalid, "if is a text: a condition, such as doc.stock > 0")
	case given == jsondoc.None:
		return conditions.Parse(t.Text(n), nil)
	}
	return conditions.Parse(t.Text(n), t.Raw(given))
}

// judgeOperation returns a Forbidden if a principal may not make an operation; it looks at nothing else of the operation then. One
// without a collection is refused later.
func judgeOperation(op *writer.Operation, t *jsondoc.Tree, by *access.Rights) error {
	asked := writer.Operation{Kind: op.Kind, Key: fanfold.Key{Collection: t.Text(t.Member(jsondoc.Root, "collection"))}}
	if named := fanfold.CheckCollection(asked.Key.Collection) == nil; !named {
		return nil
	}
	return asked.Judge(by)
}

// fillIn puts the ids that an operation takes into its content. The error is Invalid.
func (d *documents) fillIn(op *writer.Operation, names *operationNames) error {
	defer d.writer.Parsing(op.Content)()
	return names.fill(op)
}

// readMember reads the member m of an operation that may have the known members, those about names into names. The error is
// Invalid.
func readMember(op *writer.Operation, known []string, names *operationNames, t *jsondoc.Tree, m jsondoc.Node) error {
	name := t.Key(m)
	if !slices.Contains([]string{"op", "collection", "id"}, name) && !slices.Contains(known, name) {
		return fanfold.Errorf(fanfold.Invalid, "unknown member %q: %s takes op, collection, id, %s", name, op.Kind, strings.Join(known, ", "))
	}
	switch name {
	case "op":
	case "collection":
		if op.Key.Collection = t.Text(m); t.Kind(m) != jsondoc.String {
			return fanfold.Errorf(fanfold.Invalid, `member "collection" must be a string`)
		}
	case memberAs, memberRefs:
		return names.read(t, m)
	case "id":
		if t.Kind(m) == jsondoc.Object {
			return names.readID(op, t, m)
		}
		if kind := t.Kind(m); kind != jsondoc.String && kind != jsondoc.Number {
			return fanfold.Errorf(fanfold.Invalid, `member "id" must be a string, a number, or {"ref":"name"}`)
		}
		op.Key.ID = t.Text(m)
		return fanfold.CheckID(op.Key.ID)
	case "ifMatch": // names a revision of the store, see readIfMatch
	case paramIf, paramParams: // see readOperationIf
	case "ifNoneMatch":
		if op.Absent = t.Text(m) == "*"; !op.Absent {
			return fanfold.Errorf(fanfold.Invalid, `ifNoneMatch takes "*": the document must not be there`)
		}
	case "refresh":
		list, err := jsondoc.Outline(t.Raw(m), maxRefresh)
		if err != nil {
			return fanfold.Errorf(fanfold.Invalid, "refresh lists more than %d fields", maxRefresh)
		}
		for e := list.First(jsondoc.Root); e != jsondoc.None; e = list.Next(e) {
			op.Refresh = append(op.Refresh, list.Text(e))
		}
		if len(op.Refresh) == 0 || t.Kind(m) != jsondoc.Array {
			return fanfold.Errorf(fanfold.Invalid, "refresh is a list of frozen fields")
		}
	default: // body and patch
		op.Content = t.Raw(m)
	}
	return nil
}

// readIfMatch reads the condition ifMatch: a tag as the ETag header has it, with or without its quotes, a revision, or
// "*". The error is Invalid.
func (p positions) readIfMatch(op *writer.Operation, t *jsondoc.Tree, n jsondoc.Node) error {
	text := t.Text(n)
	if kind := t.Kind(n); kind != jsondoc.String && kind != jsondoc.Number {
		return fanfold.Errorf(fanfold.Invalid, `ifMatch is a tag as the ETag header has it, a revision, or "*"`)
	}
	switch text {
	case "*":
		op.Exists = true
		return nil
	case "", `""`: // which no document has
		return fanfold.Errorf(fanfold.Invalid, `ifMatch has no value: give it one, or leave it out`)
	}
	if !strings.HasSuffix(text, `"`) {
		text = `"` + text + `"`
	}
	if tags, err := splitETags(text); err != nil || len(tags) > 1 || tags[0] != text {
		return fanfold.Errorf(fanfold.Invalid, `ifMatch is one tag as the ETag header has it, a revision, or "*"`)
	}
	if _, err := parseETag(text); t.Kind(n) == jsondoc.Number && err != nil {
		return fanfold.Errorf(fanfold.Invalid, "ifMatch: %s is not a revision", t.Raw(n))
	}
	op.Revisions = []fanfold.Revision{p.revision(text)}
	return nil
}

// checkMembers checks that an operation has the members that its kind needs. The error is Invalid.
func checkMembers(op *writer.Operation, t *jsondoc.Tree) error {
	if op.Absent && (op.Exists || op.Revisions != nil) {
		return fanfold.Errorf(fanfold.Invalid, "ifMatch and ifNoneMatch exclude each other")
	}
	if op.Absent && op.If != nil {
		return fanfold.Errorf(fanfold.Invalid, "if does not go with ifNoneMatch: it is a condition on a document that is there")
	}
	if t.Member(jsondoc.Root, "collection") == jsondoc.None {
		return fanfold.Errorf(fanfold.Invalid, `member "collection" is missing`)
	}
	if err := fanfold.CheckCollection(op.Key.Collection); err != nil {
		return err
	}
	if op.Key.ID == "" && op.Kind != writer.Create {
		return fanfold.Errorf(fanfold.Invalid, `member "id" is missing`)
	}
	switch op.Kind {
	case writer.Put, writer.Create, writer.Patch:
		if op.Content == nil {
			return fanfold.Errorf(fanfold.Invalid, "member %q is missing", operationMembers[op.Kind][0])
		}
		if op.PatchType = fanfold.MergePatch; op.Content[0] == '[' {
			op.PatchType = fanfold.JSONPatch
		}
	case writer.Check:
		if !op.Any() {
			return fanfold.Errorf(fanfold.Invalid, `a check needs ifMatch (a tag, or "*"), ifNoneMatch ("*") or if (a condition)`)
		}
	}
	return nil
}

// finishTransaction waits for the fold of a transaction, whose first event is first, and answers it.
func (d *documents) finishTransaction(c echo.Context, w *write, ops []*writer.Operation, first uint64) error {
	last := first + uint64(len(ops)) - 1
	result := newTransactionResult(ops, first)
	result.Position = marked(d.positions.markEvent(last), readerMark(c)).String()
	c.Response().Header().Set(headerPosition, result.Position)
	if list := w.prefer.applied(true, w.prefer.async, true); list != "" {
		c.Response().Header().Set("Preference-Applied", list)
	}
	w.answerNowIfFolded(d.folded, last)
	if waited := d.waitFor(c, w, last); waited != nil || w.prefer.async {
		for i, op := range ops {
			if w.request.Key.Hash != "" && (op.Kind == writer.Create || op.IDOf != nil) { // if the request was stored before, its ids may be others
				result.Operations[i].ID = ""
			}
		}
		return d.accepted(c, w, last, waited, result)
	}
	changes, derived, err := d.open(c).Outcomes(first, len(ops))
	if err != nil {
		return err
	}
	setDerived(c.Response().Header(), derived)
	d.addOutcomes(c, &result, ops, changes, first)
	return c.JSON(http.StatusOK, result)
}

// newTransactionResult returns what is known of a stored transaction before it is folded.
func newTransactionResult(ops []*writer.Operation, first uint64) wire.TransactionResult {
	result := wire.TransactionResult{Operations: make([]wire.OperationResult, len(ops))}
	for i, op := range ops {
		r := wire.OperationResult{Op: string(op.Kind), Collection: op.Key.Collection, ID: op.Key.ID, Dropped: droppedMembers(op.Dropped)}
		if op.Kind != writer.Check {
			r.Revision = first + uint64(i)
		}
		result.Operations[i] = r
	}
	return result
}

// addOutcomes adds what the operations of a folded transaction did, by their direct changes.
func (d *documents) addOutcomes(c echo.Context, result *wire.TransactionResult, ops []*writer.Operation, changes []*fanfold.Change, first uint64) {
	for i, op := range ops {
		r := &result.Operations[i]
		if op.Kind == writer.Check {
			if r.Status = http.StatusNoContent; op.IDOf != nil { // of then, where the request was stored before
				r.ID = result.Operations[slices.Index(ops, op.IDOf)].ID
			}
			continue
		}
		o := outcomeOf(changes[i])
		if o.op == "" && op.Kind != writer.Delete {
			o = d.forgotten(c, op, first+uint64(i))
		}
		if changes[i] == nil && op.Kind == writer.Delete {
			o.key = op.Key
		}
		if r.ID, r.Status, result.Tx = o.key.ID, o.status(), o.tx; o.op == fanfold.OpCreate {
			r.Assigned = sequences{d}.assigned(c, o.key)
		}
		if op.Kind != writer.Delete && len(op.Dropped) == 0 {
			r.ETag = d.positions.tag(first + uint64(i))
		}
	}
}
