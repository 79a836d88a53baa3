// Package exportfile writes an export: the lines of JSON that an import reads. It knows nothing of who reads them.
package exportfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// Source holds what is exported: one prefix of the log.
type Source interface {
	// Model returns the model's source, nil where none was applied, the paths that are still reserved, and the rules that
	// were removed and whose values are still stored.
	Model() (src []byte, reserved model.Reserved, retired model.Retired, err error)
	// All returns up to limit documents of all collections, as they were written, by number, later than the number after,
	// and whether there are more. The list is the caller's.
	All(after int64, limit int) (docs []*fanfold.Document, more bool, err error)
	// EachKept calls fn for each value that stays on the document with a number, by rule, then by target.
	EachKept(holder int64, fn func(rule, target string, value []byte) error) error
	// SequencesAfter returns up to limit counters of a collection, "" for all, later than one, and whether others follow.
	SequencesAfter(collection string, after fanfold.Counter, limit int) (list []fanfold.Counter, more bool, err error)
}

// Bounds of what an export holds at a time.
const (
	exportPage  = 512       // documents that are read
	exportPiece = 256 << 10 // bytes from which on lines are sent
)

// Write writes the model, unless only some collections are exported, then the last numbers of sequences, and then every document in
// order of creation. nil stands for all collections. It blocks until all is written; errors are ctx's, from's and to's.
func Write(ctx context.Context, from Source, to io.Writer, collections []string) error {
	ex := &exporter{from: from, out: to, shapes: map[string]*model.Shape{}, schemas: map[string]*schema.Schema{}}
	return ex.run(ctx, collections)
}

// exporter writes the lines of one export.
type exporter struct {
	from     Source
	out      io.Writer
	model    *model.Model
	reserved model.Reserved
	retired  model.Retired
	shapes   map[string]*model.Shape
	schemas  map[string]*schema.Schema
	buf      []byte
}

// run writes the model, unless only some collections are exported, and every document. nil stands for all collections.
func (ex *exporter) run(ctx context.Context, collections []string) error {
	src, reserved, retired, err := ex.from.Model()
	if err != nil {
		return err
	}
	ex.reserved, ex.retired, ex.model = reserved, retired, model.Empty()
	guarded := false // documents may refer strictly to later ones, so that the model's guards come last
	if src != nil {
		if ex.model, err = modelfile.Parse(src); err != nil {
			return err
		}
		if collections == nil {
			guarded = ex.model.Unguarded() != nil
			if err := ex.appendModel(src, guarded); err != nil {
				return err
			}
		}
	}
	if err := ex.counters(ctx, collections); err != nil {
		return err
	}
	if err := ex.documents(ctx, collections); err != nil {
		return err
	}
	if guarded {
		if err := ex.appendModel(src, false); err != nil {
			return err
		}
	}
	return ex.flush()
}

// appendModel writes a model's line, with the removed rules whose values come with the documents. With guardsLast an import
// applies it without its guards until a later line has it.
func (ex *exporter) appendModel(src []byte, guardsLast bool) error {
	ex.buf = append(append(ex.buf, `{"model":`...), src...)
	if len(ex.retired) > 0 {
		rules, err := json.Marshal(ex.retired)
		if err != nil {
			return err
		}
		ex.buf = append(append(ex.buf, `,"retired":`...), rules...)
	}
	if guardsLast {
		ex.buf = append(ex.buf, `,"guards":"last"`...)
	}
	ex.buf = append(ex.buf, "}\n"...)
	return nil
}

// counters writes the last numbers of the collections' sequences. Documents that follow find their counters raised, and deleted ones are
// counted. nil stands for all collections.
func (ex *exporter) counters(ctx context.Context, collections []string) error {
	if collections == nil {
		collections = []string{""}
	}
	for _, collection := range collections {
		after := fanfold.Counter{}
		for more := true; more; {
			var list []fanfold.Counter
			var err error
			if list, more, err = ex.from.SequencesAfter(collection, after, exportPage); err != nil {
				return err
			}
			for _, one := range list {
				after = one
				ex.buf = jsondoc.AppendQuote(append(ex.buf, `{"collection":"`+one.Collection+`","path":`...), one.Path)
				ex.buf = append(strconv.AppendUint(append(ex.buf, `,"key":"`+one.Key+`","last":`...), one.Last, 10), "}\n"...)
			}
			if err := cmp.Or(ctx.Err(), ex.flush()); err != nil {
				return err
			}
		}
	}
	return nil
}

// documents writes every document of the collections, in order of creation. nil stands for all collections.
func (ex *exporter) documents(ctx context.Context, collections []string) error {
	after := int64(0)
	for more := true; more; {
		var docs []*fanfold.Document
		var err error
		if docs, more, err = ex.from.All(after, exportPage); err != nil || len(docs) == 0 {
			return err
		}
		for i, doc := range docs {
			docs[i], after = nil, doc.Number
			if err := ex.addDocument(ctx, doc, collections); err != nil {
				return err
			}
		}
		if err := ex.flush(); err != nil {
			return err
		}
	}
	return nil
}

// addDocument writes a document where it is one of the collections'. It passes on what was written once that is large.
func (ex *exporter) addDocument(ctx context.Context, doc *fanfold.Document, collections []string) error {
	if err := ctx.Err(); err != nil || collections != nil && !slices.Contains(collections, doc.Key.Collection) {
		return err
	}
	kept, err := ex.keptValues(doc)
	if err != nil {
		return err
	}
	ex.document(doc, kept)
	if len(ex.buf) < exportPiece {
		return nil
	}
	return ex.flush()
}

// flush writes the lines that are ready.
func (ex *exporter) flush() error {
	_, err := ex.out.Write(ex.buf)
	if ex.buf = ex.buf[:0]; cap(ex.buf) > 2*exportPiece {
		ex.buf = nil
	}
	return err
}

// keptValue holds one of the values that stay on a document, by rule and by the target's id.
type keptValue struct {
	rule, target string
	value        []byte // nil where the rule's frozen copy has no value for some id
}

// keptValues returns the values that stay on a document.
func (ex *exporter) keptValues(doc *fanfold.Document) (kept []keptValue, err error) {
	err = ex.from.EachKept(doc.Number, func(rule, target string, value []byte) error {
		kept = append(kept, keptValue{rule, target, value})
		return nil
	})
	return kept, err
}

// withMissing adds a keptValue without value for each rule whose frozen copy lacks a value of one of the document's
// targets. It returns all of them by rule, then by target.
func (ex *exporter) withMissing(collection string, t *jsondoc.Tree, kept []keptValue) []keptValue {
	c := ex.model.Collection(collection)
	if c == nil {
		return kept
	}
	for _, r := range c.Rules {
		if !r.Frozen {
			continue
		}
		if slices.ContainsFunc(r.Relation.Targets(t), func(id string) bool {
			return !slices.ContainsFunc(kept, func(k keptValue) bool { return k.rule == r.Name() && k.target == id })
		}) {
			kept = append(kept, keptValue{rule: r.Name()})
		}
	}
	slices.SortFunc(kept, func(a, b keptValue) int {
		return cmp.Or(strings.Compare(a.rule, b.rule), strings.Compare(a.target, b.target))
	})
	return kept
}

// appendKeptValues appends kept values to b as JSON: an object by rule of objects by id.
func appendKeptValues(b []byte, kept []keptValue) []byte {
	open := byte('{')
	for i, k := range kept {
		if i == 0 || kept[i-1].rule != k.rule {
			if i > 0 {
				b = append(b, '}')
			}
			b = append(jsondoc.AppendQuote(append(b, open), k.rule), ":{"...)
			open = ','
		}
		if k.value == nil {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(jsondoc.AppendQuote(b, k.target), ':'), k.value...)
	}
	return append(b, "}}"...)
}

// misfits tells whether a document does not fit its collection's schema.
func (ex *exporter) misfits(collection string, body []byte) bool {
	c := ex.model.Collection(collection)
	if c == nil || c.Schema == nil {
		return false
	}
	if ex.schemas[collection] == nil {
		compiled, err := schema.Compile(c.Schema)
		if err != nil {
			return true
		}
		ex.schemas[collection] = compiled
	}
	return ex.schemas[collection].Check(body) != nil
}

// document writes the line of one document. The document is a string in it if it has line breaks, or if an import would
// not take it as it is. Its members are derived or reserved by now, it has more ids than a relation takes, or it breaks
// its schema.
func (ex *exporter) document(doc *fanfold.Document, kept []keptValue) {
	name := doc.Key.Collection
	shape := ex.shapes[name]
	if shape == nil {
		shape = model.NewShape(ex.model.Collection(name), ex.reserved[name])
		ex.shapes[name] = shape
	}
	t := jsondoc.MustParse(doc.Body)
	_, dropped := shape.Strip(t)
	ex.buf = append(ex.buf, `{"collection":"`+name+`",`...)
	if kept = ex.withMissing(name, t, kept); len(kept) > 0 {
		ex.buf = append(appendKeptValues(append(ex.buf, `"kept":`...), kept), ',')
	}
	if len(dropped) > 0 || ex.misfits(name, doc.Body) || writer.CheckRelations(ex.model.Collection(name), t) != nil || writer.CheckNumbers(t) != nil || bytes.ContainsAny(doc.Body, "\r\n") {
		ex.buf = jsondoc.AppendQuote(append(ex.buf, `"text":`...), string(doc.Body))
	} else {
		ex.buf = append(append(ex.buf, `"doc":`...), doc.Body...)
	}
	ex.buf = append(ex.buf, "}\n"...)
}
