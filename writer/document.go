package writer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// checkJSON checks that a body is JSON text that nests no deeper than a document may. It returns the errors of CheckDepth.
func (ck *checker) checkJSON(body []byte) error { return CheckDepth(body, ck.maxDepth) }

// CheckDepth checks that a body is JSON text that nests at most maxDepth levels deep. Errors are Invalid, and
// Unprocessable where it nests deeper.
func CheckDepth(body []byte, maxDepth int) error {
	err := jsondoc.Check(body, maxDepth)
	var syntax *jsondoc.SyntaxError
	if errors.As(err, &syntax) {
		code := fanfold.Invalid
		if syntax.Depth {
			code = fanfold.Unprocessable
		}
		e := fanfold.Errorf(code, "the body is not a JSON value that is taken: %v", syntax)
		e.Line, e.Column = jsondoc.Place(body, syntax.Offset)
		return e
	}
	return err
}

// stripDocument checks what any document must be, and returns it as it is stored: without the members that the store owns,
// and with its id. An empty id in key is set from the body, or to a new one. t is the body as it came; dropped holds the
// JSON pointers of the members that were dropped. It returns the errors of parse, and TooLarge.
func (ck *checker) stripDocument(body []byte, key *fanfold.Key) (t *jsondoc.Tree, source []byte, dropped []string, err error) {
	t, hasID, err := ck.parse(body, key, "_meta", "_expanded")
	if err != nil {
		return nil, nil, nil, err
	}
	_, shape := ck.shape(key.Collection)
	source, dropped = shape.Strip(t)
	if !hasID {
		source = jsondoc.WithFirst(source, "id", jsondoc.Quote(key.ID))
		if int64(len(source)) > ck.maxBody {
			return nil, nil, nil, fanfold.Errorf(fanfold.TooLarge, "with its id the document has %d bytes; at most %d are taken", len(source), ck.maxBody)
		}
	}
	return t, source, dropped, nil
}

// checkExact checks a document that is stored as it is, and returns it: one that _export wrote, some of whose members may be
// hidden by derived ones. It returns the errors of parse and of CheckIndexes, and Unprocessable if the document has no id.
func (ck *checker) checkExact(body []byte, key *fanfold.Key) ([]byte, error) {
	t, hasID, err := ck.parse(body, key)
	if err == nil && !hasID {
		err = fanfold.Errorf(fanfold.Unprocessable, "the document has no id")
	}
	if err == nil {
		c, shape := ck.shape(key.Collection)
		err = CheckIndexes(c, func() *jsondoc.Tree {
			own, _ := shape.Strip(t)
			return jsondoc.MustParse(own)
		})
	}
	return body, err
}

// checkSchema returns an Unprocessable where a document, as it is to be stored, does not fit its collection's schema.
func (ck *checker) checkSchema(collection string, source []byte) error {
	return ck.currentShapes().schemas[collection].check("the document does not fit the schema of "+collection, source)
}

// checkArguments returns an Unprocessable where the arguments of a call do not fit the function's schema, and Invalid where they are no JSON.
func checkArguments(ck *checker, f *model.Function, arguments []byte) error {
	if arguments == nil {
		arguments = []byte("null")
	}
	if err := ck.checkJSON(arguments); err != nil {
		return err
	}
	return ck.currentShapes().arguments[f.Name].check("the arguments do not fit those of the function "+f.Name, arguments)
}

// check returns an Unprocessable with a message where a text does not fit the schema; a nil schema takes all.
func (s *lazySchema) check(message string, source []byte) error {
	if s == nil {
		return nil
	}
	compiled := s.compile()
	if compiled == nil {
		return fanfold.Errorf(fanfold.Internal, "%s: the schema cannot be read", message)
	}
	problems := compiled.Check(source)
	if problems == nil {
		return nil
	}
	return &fanfold.Error{Code: fanfold.Unprocessable, Message: message, Problems: problems}
}

// awaitsNumbers tells whether a document may get numbers yet, so that its schema is asked once it has them.
func awaitsNumbers(c *model.Collection, t *jsondoc.Tree) bool {
	return c.Numbers() && slices.ContainsFunc(c.Sequences, func(s *model.Sequence) bool { return s.Path.Lookup(t, jsondoc.Root) == jsondoc.None })
}

// checkNumbered checks a document that was given numbers. Errors are TooLarge and Unprocessable.
func (ck *checker) checkNumbered(collection string, body []byte) error {
	if int64(len(body)) > ck.maxBody {
		return fanfold.Errorf(fanfold.TooLarge, "with its numbers the document has %d bytes; at most %d are taken", len(body), ck.maxBody)
	}
	if err := ck.checkLength(body); err != nil {
		return err
	}
	return ck.checkSchema(collection, body)
}

// checkLength returns an Unprocessable where a document, as it is to be stored, is by itself longer than an embedded one
// may be. Imports are not asked, because they bring documents from before the limit.
func (ck *checker) checkLength(source []byte) error {
	limit := ck.currentShapes().model.EmbeddedLimit
	if len(source) <= limit {
		return nil
	}
	if n := len(jsondoc.Compact(nil, source)); n > limit {
		return fanfold.Errorf(fanfold.Unprocessable, "the document has %d bytes without whitespace; the model lets an embedded document have %d (embedded.limit)", n, limit)
	}
	return nil
}

// parse checks what any document must be, and sets an empty id in key. Of the members that the store owns in every
// document it lets those pass that are dropped later. Errors are Invalid and Unprocessable.
func (ck *checker) parse(body []byte, key *fanfold.Key, dropped ...string) (t *jsondoc.Tree, hasID bool, err error) {
	if err := ck.checkJSON(body); err != nil {
		return nil, false, err
	}
	t = jsondoc.MustParse(body)
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, false, fanfold.Errorf(fanfold.Invalid, "the body must be a JSON object, the document")
	}
	if hasID, err = documentID(t, key); err != nil {
		return nil, false, err
	}
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		if name := t.Key(n); strings.HasPrefix(name, "_") && !slices.Contains(dropped, name) {
			return nil, false, fanfold.Errorf(fanfold.Unprocessable, "member %q: names that begin with _ are the store's own at the top level", name)
		}
	}
	return t, hasID, nil
}

// documentID checks that the body's id is the key's. If the key has none, it sets it to the body's, or to a new one.
// hasID tells whether the body has an id. The error is Unprocessable.
func documentID(t *jsondoc.Tree, key *fanfold.Key) (hasID bool, err error) {
	n := t.Member(jsondoc.Root, "id")
	if n == jsondoc.None {
		if key.ID == "" {
			key.ID, err = newID()
		}
		return false, err
	}
	if kind := t.Kind(n); kind != jsondoc.String && kind != jsondoc.Number {
		return true, fanfold.Errorf(fanfold.Unprocessable, "member \"id\" must be a string or a number")
	}
	id := t.Text(n)
	if err := fanfold.CheckID(id); err != nil {
		return true, err
	}
	if key.ID == "" {
		key.ID = id
	}
	if id != key.ID {
		return true, fanfold.Errorf(fanfold.Unprocessable, "the body's id %q is not %q, under which it is written", id, key.ID)
	}
	return true, nil
}

// CheckNumbers returns an Unprocessable, with the place, where a document has a number that is not compared or added: see package decimal.
func CheckNumbers(t *jsondoc.Tree) error {
	n := t.FirstOf(jsondoc.Number, func(raw []byte) bool { return !decimal.Takes(raw) })
	if n == jsondoc.None {
		return nil
	}
	return &fanfold.Error{Code: fanfold.Unprocessable, Message: "the document has a number of more than 1,000 digits, or beyond 1e±1000, which cannot be compared or added: write it as a text",
		Problems: []fanfold.Problem{{Path: t.Pointer(n), Detail: fmt.Sprintf("is %.60s", t.Raw(n))}}}
}

// CheckRelations returns an Unprocessable where a document holds more ids than a relation takes. c may be nil.
func CheckRelations(c *model.Collection, t *jsondoc.Tree) error {
	if c == nil {
		return nil
	}
	for _, r := range c.Relations {
		if r.Derived() { // see model.Relation.Crowded
			continue
		}
		if n := len(r.Path.AppendIDs(nil, t, jsondoc.Root)); n > model.MaxRelationIDs {
			return fanfold.Errorf(fanfold.Unprocessable, "relation %s holds %d ids at %s; at most %d are taken", r.Name, n, r.Path, model.MaxRelationIDs)
		}
	}
	return nil
}

// CheckIndexes returns an Unprocessable where a document, as it is to be stored, would have entries of more than
// model.MaxIndexBytes in its collection's indexes. c may be nil. An index without an array has one entry, and is not counted.
func CheckIndexes(c *model.Collection, document func() *jsondoc.Tree) error {
	if c == nil {
		return nil
	}
	var t *jsondoc.Tree
	total := 0
	for _, x := range c.Indexes {
		if x.Array() == nil {
			continue
		}
		if t == nil {
			t = document()
		}
		n := x.MostBytes(t)
		if total+n > model.MaxIndexBytes { // only then the keys are made
			n = 0
			keys, _ := x.Keys(nil, model.IndexFacts{Doc: t})
			for _, key := range keys {
				n += len(key)
			}
		}
		if total += n; total > model.MaxIndexBytes {
			return fanfold.Errorf(fanfold.Unprocessable, "the document would have entries of %d bytes in the indexes of %s up to %s, %d of them in this one; at most %d are taken: shorten what stands beside the array %s, or give it fewer elements",
				total, c.Name, x.Name, n, model.MaxIndexBytes, x.Array())
		}
	}
	return nil
}

// newID returns the id of a new document. It is a UUIDv7, so that ids have the order of creation.
func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// fate says what a written document does, as far as that is known before the write is decided.
type fate int

// The fates of a written document.
const (
	replaces fate = iota // another document, which exists
	creates              // a document
	either
)

// checked is a document that may be stored.
type checked struct {
	body    []byte   // as it is stored, for one that creates with the defaults of its collection
	dropped []string // the JSON pointers of members that the store owns
	// created is the other form of a document of either fate, where there is one: it has the defaults, and body has not.
	created *form
	err     error // why body is refused, where created is not
}

// refusal returns why the document is refused whether it exists or not.
func (d *checked) refusal() error {
	switch {
	case d.created == nil:
		return d.err
	case d.err != nil:
		return d.created.err
	}
	return nil
}

// limit checks each form of the document that is not refused, and returns refusal.
func (d *checked) limit(check func(body []byte) error) error {
	if d.err == nil {
		d.err = check(d.body)
	}
	if d.created != nil && d.created.err == nil {
		d.created.err = check(d.created.body)
	}
	return d.refusal()
}

// form is what is stored of a document, or why it is not.
type form struct {
	body []byte
	err  error
}

// checkDocument checks a document that is to be stored, and returns it as it is stored. With strict, members that the store owns are
// refused rather than dropped. It returns the errors of stripDocument, and Unprocessable.
func (ck *checker) checkDocument(body []byte, key *fanfold.Key, strict bool, f fate) (d checked, err error) {
	defer ck.Parsing(body)()
	t, source, dropped, err := ck.stripDocument(body, key)
	if err != nil {
		return checked{}, err
	}
	c, _ := ck.shape(key.Collection)
	d = checked{body: source, dropped: dropped}
	filled := source
	if f != replaces {
		filled = c.Fill(source)
	}
	same := len(filled) == len(source)
	if same || f == creates {
		d.body, d.err = filled, ck.checkContent(c, t, filled, same && len(dropped) == 0)
	} else {
		d.err = ck.checkContent(c, t, source, len(dropped) == 0)
		d.created = &form{filled, ck.checkContent(c, t, filled, false)}
	}
	if err := d.refusal(); err != nil {
		return checked{}, err
	}
	if len(dropped) > 0 && strict {
		return checked{}, ck.ownedError(key.Collection, strictOwns, dropped)
	}
	return d, nil
}

// strictOwns begins the message about a strict document that has members which belong to the store.
const strictOwns = "the body has members that the store derives or adds, or that are reserved; leave them out, or send no Prefer: handling=strict"

// checkContent checks what a document of a collection, which may be nil, holds, as it is to be stored. t is the tree of the body as it came, and whole tells that
// source is that body, or has an id besides. Errors are Unprocessable, and TooLarge for one that defaults make too large.
func (ck *checker) checkContent(c *model.Collection, t *jsondoc.Tree, source []byte, whole bool) error {
	if int64(len(source)) > ck.maxBody {
		return fanfold.Errorf(fanfold.TooLarge, "with its id and its defaults the document has %d bytes; at most %d are taken", len(source), ck.maxBody)
	}
	stored := sync.OnceValue(func() *jsondoc.Tree { return jsondoc.MustParse(source) })
	err := CheckNumbers(t)    // the tree still has the derived members, but no relation looks at those
	if err != nil && !whole { // a derived sum may be longer
		err = CheckNumbers(stored())
	}
	if err != nil || c == nil {
		return err
	}
	if !whole && len(c.Defaults) > 0 {
		t = stored()
	}
	if err := CheckRelations(c, t); err != nil {
		return err
	}
	if err := CheckIndexes(c, stored); err != nil {
		return err
	}
	if awaitsNumbers(c, t) {
		return nil
	}
	return ck.checkSchema(c.Name, source)
}
