package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// mapping says which documents the rows of a CSV file give.
type mapping []struct {
	Collection string `yaml:"collection"`
	Documents  string `yaml:"documents"`

	program *expr.Program
}

// readMapping reads a mapping file. The error is Invalid.
func readMapping(path string) (mapping, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot read the mapping: %v", err)
	}
	var m mapping
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "%s is not a mapping: %v", path, err)
	}
	if len(m) == 0 {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s maps nothing: want a list of collection and documents", path)
	}
	for i := range m {
		if err := fanfold.CheckCollection(m[i].Collection); err != nil {
			return nil, err
		}
		if m[i].program, err = expr.Compile(m[i].Documents); err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "%s: documents of %s: %v", path, m[i].Collection, err)
		}
	}
	return m, nil
}

// readCSV writes the documents that the mapping makes of the rows. A row that is no CSV is written as one to refuse.
func (m mapping) readCSV(r io.Reader, out *lineWriter) error {
	cr := csv.NewReader(r)
	cr.ReuseRecord = true
	columns, err := cr.Read()
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "the file has no header line: %v", err)
	}
	names := make([][]byte, len(columns))
	for i, c := range columns {
		names[i] = jsondoc.Quote(c)
	}
	for {
		row, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var pe *csv.ParseError
		switch {
		case errors.As(err, &pe):
			err = out.refuse(pe.Line, pe.Err.Error())
		case err == nil:
			line, _ := cr.FieldPos(0)
			err = m.row(line, names, row, out)
		}
		if err != nil {
			return err
		}
	}
}

// row writes the documents that the mapping makes of one row. names are the columns' names as JSON strings.
func (m mapping) row(line int, names [][]byte, row []string, w *lineWriter) error {
	doc := []byte{'{'}
	for i, v := range row {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = jsondoc.AppendQuote(append(append(doc, names[i]...), ':'), v)
	}
	t := jsondoc.MustParse(append(doc, '}'))
	for _, target := range m {
		value, err := target.program.Eval(t)
		if err != nil {
			if err := w.refuse(line, fmt.Sprintf("documents of %s: %v", target.Collection, err)); err != nil {
				return err
			}
			continue
		}
		for _, doc := range valueOrElements(value) {
			if err := w.write(line, target.Collection, doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// valueOrElements returns the elements of an array, or any other value by itself.
func valueOrElements(value []byte) [][]byte {
	t := jsondoc.MustParse(value)
	if t.Kind(jsondoc.Root) != jsondoc.Array {
		return [][]byte{t.Raw(jsondoc.Root)}
	}
	var all [][]byte
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		all = append(all, t.Raw(n))
	}
	return all
}
