package api

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/writer"
)

// Scan is one prefix of the log that stays readable for as long as it is open. Close it.
type Scan interface {
	At() fanfold.Position
	// Model is the model's source, nil where none was applied, and the paths still reserved.
	Model() (src []byte, reserved fanfold.Reserved, err error)
	// All returns up to limit documents of all collections behind a number, as written, by number.
	All(after int64, limit int) (docs []*fanfold.Document, more bool, err error)
	// EachKept calls fn for the values that stayed on the holders from one number to another.
	EachKept(from, to int64, fn func(holder int64, rule, target string, value []byte) error) error
	Close() error
}

const exportPage = 512

// export answers GET /v1/_export: the model, then every document in order of arrival, as
// POST /v1/_import reads them.
func (s *Server) export(c echo.Context) (err error) {
	if err := parameters(c, "collections", "consistency"); err != nil {
		return err
	}
	var collections []string
	if list := c.QueryParam("collections"); list != "" {
		collections = strings.Split(list, ",")
		for _, name := range collections {
			if err := fanfold.CheckCollection(name); err != nil {
				return err
			}
		}
	}
	if err := s.freshness(c); err != nil {
		return err
	}
	scan, err := s.Reader.Scan()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scan.Close()) }()
	h := c.Response().Header()
	h.Set("Content-Type", ndjsonType)
	h.Set(headerPosition, scan.At().String())
	ex := &exporter{s: s, scan: scan, out: c.Response(), control: http.NewResponseController(c.Response()), shapes: map[string]*fanfold.Shape{}, schemas: map[string]*schema.Schema{}}
	if err := ex.run(collections); err != nil {
		s.opt.Logger.Error("an export ended early", "err", err)
		panic(http.ErrAbortHandler) // a cut answer must not look whole
	}
	return nil
}

type exporter struct {
	s        *Server
	scan     Scan
	out      http.ResponseWriter
	control  *http.ResponseController
	model    *fanfold.Model
	guarded  bool // the last line says again what the model guards: documents may refer to later ones
	reserved fanfold.Reserved
	shapes   map[string]*fanfold.Shape
	schemas  map[string]*schema.Schema
	buf      []byte
}

func (ex *exporter) run(collections []string) error {
	src, reserved, err := ex.scan.Model()
	ex.reserved = reserved
	if err != nil {
		return err
	}
	ex.model = fanfold.EmptyModel()
	if src != nil {
		if ex.model, err = modelfile.Parse(src); err != nil {
			return err
		}
		if collections == nil {
			ex.buf = append(append(ex.buf, `{"model":`...), src...)
			if ex.guarded = ex.model.Unguarded() != nil; ex.guarded {
				ex.buf = append(ex.buf, `,"guards":"last"`...)
			}
			ex.buf = append(ex.buf, "}\n"...)
		}
	}
	after := int64(0)
	for more := true; more; {
		var docs []*fanfold.Document
		if docs, more, err = ex.scan.All(after, exportPage); err != nil {
			return err
		}
		if len(docs) == 0 {
			break
		}
		last := docs[len(docs)-1].Number
		kept, err := ex.kept(docs[0].Number, last)
		if err != nil {
			return err
		}
		for _, doc := range docs {
			if collections == nil || slices.Contains(collections, doc.Key.Collection) {
				ex.document(doc, kept[doc.Number])
			}
		}
		after = last
		if err := ex.flush(); err != nil {
			return err
		}
	}
	if ex.guarded {
		ex.buf = append(append(append(ex.buf, `{"model":`...), src...), "}\n"...)
	}
	return ex.flush()
}

func (ex *exporter) flush() error {
	if err := supported(ex.control.SetWriteDeadline(time.Now().Add(importPause))); err != nil {
		return err
	}
	_, err := ex.out.Write(ex.buf)
	ex.buf = ex.buf[:0]
	return err
}

// keptValue is one of the values that stay on a document; nil says that a frozen copy has none
// for some id.
type keptValue struct {
	rule, target string
	value        []byte
}

// kept reads the kept values of holders, by holder.
func (ex *exporter) kept(from, to int64) (map[int64][]keptValue, error) {
	all := map[int64][]keptValue{}
	err := ex.scan.EachKept(from, to, func(holder int64, rule, target string, value []byte) error {
		all[holder] = append(all[holder], keptValue{rule, target, value})
		return nil
	})
	return all, err
}

// withNothing says of frozen copies that they lack values.
func (ex *exporter) withNothing(collection string, t *jsondoc.Tree, kept []keptValue) []keptValue {
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

// appendKept writes kept values as JSON, by rule, then by id.
func appendKept(b []byte, kept []keptValue) []byte {
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

// misfits tells whether the document does not fit the schema.
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

// document writes one line. A document that has line breaks, or that an import would not take as
// it is - for members that are derived or reserved, for more ids than a relation takes now, or for
// its schema - stands in it as text.
func (ex *exporter) document(doc *fanfold.Document, kept []keptValue) {
	name := doc.Key.Collection
	shape := ex.shapes[name]
	if shape == nil {
		shape = fanfold.NewShape(ex.model.Collection(name), ex.reserved[name])
		ex.shapes[name] = shape
	}
	t := jsondoc.MustParse(doc.Body)
	_, dropped := shape.Strip(t)
	ex.buf = append(ex.buf, `{"collection":"`+name+`",`...)
	if kept = ex.withNothing(name, t, kept); len(kept) > 0 {
		ex.buf = append(appendKept(append(ex.buf, `"kept":`...), kept), ',')
	}
	if len(dropped) > 0 || ex.misfits(name, doc.Body) || writer.CheckRelations(ex.model.Collection(name), t) != nil || bytes.ContainsAny(doc.Body, "\r\n") {
		ex.buf = jsondoc.AppendQuote(append(ex.buf, `"text":`...), string(doc.Body))
	} else {
		ex.buf = append(append(ex.buf, `"doc":`...), doc.Body...)
	}
	ex.buf = append(ex.buf, "}\n"...)
}
