package writer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer/numbering"
)

// importEnvelope is the number of levels that a line of an import may nest deeper than its document.
const importEnvelope = 3

// importLine holds what one line of an import says.
type importLine struct {
	event      fanfold.Event
	shown      int    // the number under which a refusal is reported
	body       []byte // the document
	contents   int    // the number of documents in the line
	exact      bool   // the document is to be stored as it is
	guardsLast bool   // of a model: a later line brings its guards
	retired    bool   // of a model: it brings rules that were removed
	counter    bool   // the line says which number was the last one that a sequence gave
	firing     bool   // triggers run for documents of the import
	fires      bool   // one does for this document

	forms *checked // of a document, where what is stored depends on whether it exists
}

// checkImport returns a Forbidden where a principal may not create and update every document of a collection. A line may do either.
func checkImport(by *access.Rights, collection string) error {
	return cmp.Or(by.CheckAll(model.ActUpdate, collection), by.CheckAll(model.ActCreate, collection))
}

// importEvent makes an event of a line, which is a document where the request names a collection, and otherwise an object that names
// its own. by are the rights of who imports it: a model needs the role admin. number is the line's own, unless it says another. It
// returns the errors of a PUT of the document, Forbidden and Invalid.
func (ck *checker) importEvent(by *access.Rights, collection string, line []byte, number int, fires bool) (l *importLine, err error) {
	l = &importLine{event: fanfold.Event{Kind: fanfold.KindPut}, shown: number, firing: fires}
	ev := &l.event
	if collection != "" {
		if err := checkImport(by, collection); err != nil {
			return l, err
		}
		if err := ck.takes(collection); err != nil {
			return l, err
		}
		ev.Key.Collection = collection
		if err := ck.checkSize(line); err != nil {
			return l, err
		}
		return l, ck.importWritten(l, bytes.Clone(line))
	}
	if err := ck.readImportLine(l, line); err != nil {
		return l, err
	}
	if ev.Kind != fanfold.KindPut {
		err = by.CheckRole(model.RoleAdmin)
	} else {
		err = checkImport(by, ev.Key.Collection)
	}
	switch {
	case err != nil:
		return l, err
	case ev.Kind == fanfold.KindModel && l.guardsLast:
		ev.Body, err = ck.unguardedModel(ev.Body)
	case ev.Kind == fanfold.KindModel:
	case ev.Kind == fanfold.KindSequence:
		err = ck.mayRaise(ev.Key.Collection)
	default:
		if err = ck.takes(ev.Key.Collection); err == nil {
			err = ck.importDocument(l)
		}
	}
	return l, err
}

// mayRaise returns a Conflict where the fold in force does not know the events of counters, and what takes returns.
func (ck *checker) mayRaise(collection string) error {
	if m, _, _ := ck.models.Model(); m.Fold < model.SequenceFold {
		return fanfold.Errorf(fanfold.Conflict, "the last numbers of sequences come with fold %d; fold %d is in force: put a model first, or run fanfold upgrade (docs/run/upgrade.md)", model.SequenceFold, m.Fold)
	}
	return ck.takes(collection)
}

// takes returns an UnknownCollection where the model that applies lets no documents of the collection be written.
func (ck *checker) takes(collection string) error {
	m, _, _ := ck.models.Model()
	return m.CheckWritable(collection)
}

// maxLineMembers is more members than a line of an import has.
const maxLineMembers = 16

// readImportLine reads a line that is an object. It looks first at how long its members are: a line may be much longer than
// a document, and names and values take many times their length. Errors are Invalid, TooLarge, and Unprocessable for one that
// nests too deeply.
func (ck *checker) readImportLine(l *importLine, line []byte) error {
	defer ck.Parsing(line)()
	t, err := jsondoc.Outline(line, maxLineMembers)
	if err != nil {
		if int64(len(line)) <= ck.maxBody { // says best what is wrong
			if err := CheckDepth(line, ck.maxDepth+importEnvelope); err != nil {
				return err
			}
		}
		return errImportLine
	}
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		name := t.Key(n)
		most, known := ck.longestMember(name)
		if !known {
			return errImportLine
		}
		if kind := t.Kind(n); kind >= jsondoc.Array && int64(len(t.Raw(n))) > most {
			return fanfold.Errorf(fanfold.TooLarge, "its member %q has %d bytes; at most %d are taken", name, len(t.Raw(n)), most)
		}
	}
	if err := CheckDepth(line, ck.maxDepth+importEnvelope); err != nil {
		return err
	}
	return l.read(t)
}

// longestMember returns how many bytes a member of a line may have that is an object or a list. known is false where a line
// has no such member.
func (ck *checker) longestMember(name string) (most int64, known bool) {
	switch name {
	case "doc", "model":
		return max(ck.maxBody, modelfile.MaxBytes), true
	case "kept", "retired":
		return int64(ck.maxEvent), true
	case "line", "collection", "text", "refused", "guards", "path", "key", "per", "last":
		return ck.maxBody, true
	}
	return 0, false
}

// read reads the members of the line that t outlines. Errors are Invalid.
func (l *importLine) read(t *jsondoc.Tree) error {
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return errImportLine
	}
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		if err := l.member(t, n); err != nil {
			return err
		}
	}
	if l.counter {
		ev, err := numbering.ParseCounter(t.Raw(jsondoc.Root))
		if err == nil && len(ev.Path) > modelfile.MaxPath {
			err = errImportLine
		}
		if err == nil {
			l.event = *ev
		}
		return err
	}
	ev := &l.event
	isModel := ev.Kind == fanfold.KindModel
	if l.contents > 1 || l.guardsLast && !isModel || isModel && (l.body != nil || ev.Key.Collection != "" || ev.Kept != nil && !l.retired) ||
		!isModel && (l.retired || l.body == nil || ev.Key.Collection == "") {
		return errImportLine
	}
	return nil
}

// member reads one member of a line. The error is Invalid.
func (l *importLine) member(t *jsondoc.Tree, n jsondoc.Node) error {
	ev := &l.event
	switch t.Key(n) {
	case "line":
		at, err := strconv.Atoi(t.Text(n))
		if err != nil {
			return errImportLine
		}
		l.shown = at
	case "collection":
		ev.Key.Collection = t.Text(n)
		return fanfold.CheckCollection(ev.Key.Collection)
	case "doc":
		l.body = bytes.Clone(t.Raw(n))
		l.contents++
	case "text":
		l.body, l.exact = []byte(t.Text(n)), true
		l.contents++
		if t.Kind(n) != jsondoc.String {
			return fanfold.Errorf(fanfold.Invalid, `"text" must be a string`)
		}
	case "kept":
		ev.Kept = bytes.Clone(t.Raw(n))
	case "retired":
		return l.readRetired(t.Raw(n))
	case "refused": // whoever made the line refused it; it is reported with the others
		return fanfold.Errorf(fanfold.Invalid, "%s", t.Text(n))
	case "model":
		ev.Kind, ev.Body = fanfold.KindModel, bytes.Clone(t.Raw(n))
	case "path", "key", "per", "last":
		l.counter = true
	case "guards":
		if l.guardsLast = t.Text(n) == "last"; !l.guardsLast {
			return errImportLine
		}
	default:
		return errImportLine
	}
	return nil
}

// readRetired reads the rules that a model's line brings besides it. The error is Invalid.
func (l *importLine) readRetired(raw []byte) error {
	var rules model.Retired
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&rules); err != nil || len(rules) == 0 || len(rules) > maxReserved || l.event.Kept != nil {
		return fanfold.Errorf(fanfold.Invalid, `"retired" is a list of at most %d rules, as _export writes it, on the line of a model`, maxReserved)
	}
	if err := rules.Check(); err != nil {
		return err
	}
	l.event.Kept, l.retired = bytes.Clone(raw), true
	return nil
}

// importDocument checks the document of a line and its kept values, and sets the event's body. It returns the errors of
// a PUT of the document, and Invalid.
func (ck *checker) importDocument(l *importLine) (err error) {
	ev := &l.event
	if err := ck.checkSize(l.body); err != nil {
		return err
	}
	if err := checkKeptValues(ev.Kept); err != nil {
		return err
	}
	if limit := ck.maxEvent - envelopeRoom; len(l.body)+len(ev.Kept) > limit {
		return fanfold.Errorf(fanfold.TooLarge, "the document and what it has kept have %d bytes; the log takes at most %d", len(l.body)+len(ev.Kept), limit)
	}
	if l.exact {
		ev.Body, err = ck.checkExact(l.body, &ev.Key)
	} else {
		err = ck.importWritten(l, l.body)
	}
	l.body = nil // the event, which a batch keeps, has a copy
	return err
}

// importWritten checks the document of a line, and sets the event's body to it: as of one that does not exist, where it has two forms.
// Errors are a PUT's.
func (ck *checker) importWritten(l *importLine, body []byte) error {
	m, _, _ := ck.models.Model()
	if l.fires = l.firing && l.event.Kept == nil && firesTriggers(m, &Operation{Key: l.event.Key}); l.fires {
		_, _, _, err := ck.stripDocument(body, &l.event.Key)
		l.event.Body = body
		return err
	}
	d, err := ck.checkDocument(body, &l.event.Key, false, either)
	if l.event.Body = d.body; d.created != nil {
		l.event.Body, l.forms = d.created.body, &d
	}
	return err
}

// checkSize returns a TooLarge where a document is larger than is taken.
func (ck *checker) checkSize(body []byte) error {
	if int64(len(body)) > ck.maxBody {
		return fanfold.Errorf(fanfold.TooLarge, "the document has %d bytes; at most %d are taken", len(body), ck.maxBody)
	}
	return nil
}

// unguardedModel returns a model without its strict relations and unique members, which a later line brings: until then
// documents may refer to others that come after them. It returns src where that model applies already.
func (ck *checker) unguardedModel(src []byte) ([]byte, error) {
	m, err := modelfile.Parse(src)
	if err != nil {
		return nil, err
	}
	have, _, _ := ck.models.Model()
	if without := m.Unguarded(); without != nil && !bytes.Equal(have.Source, m.Source) {
		return without, nil
	}
	return src, nil
}

// errImportLine says what a line of an import must be. It is an Invalid.
var errImportLine = fanfold.Errorf(fanfold.Invalid, `a line is {"collection":"...","doc":{...}}, as _export writes it; with ?collection= it is the document itself`)

// checkKeptValues returns an Invalid where kept values are not an object by rule of objects by id. nil is none.
func checkKeptValues(kept []byte) error {
	if kept == nil {
		return nil
	}
	t, err := jsondoc.Outline(kept, len(kept))
	ok := err == nil && t.Kind(jsondoc.Root) == jsondoc.Object
	for n := t.First(jsondoc.Root); ok && n != jsondoc.None; n = t.Next(n) {
		ok = t.Kind(n) == jsondoc.Object
	}
	if !ok {
		return fanfold.Errorf(fanfold.Invalid, `"kept" is an object of objects: by rule, then by id`)
	}
	return nil
}
