package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// maxLine bounds a line of NDJSON, in bytes.
const maxLine = 64 << 20

// readNDJSON calls emit for each line; lines that are not JSON are refused.
func readNDJSON(r io.Reader, collection string, refuse func(line int, reason string), emit func(record) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	for line := 1; sc.Scan(); line++ {
		text := bytes.TrimSpace(sc.Bytes())
		if len(text) == 0 {
			continue
		}
		id, err := idOf(text)
		if err != nil {
			refuse(line, err.Error())
			continue
		}
		if err := emit(record{line: line, collection: collection, id: id, body: bytes.Clone(text)}); err != nil {
			return err
		}
	}
	return sc.Err()
}

// mapping says what becomes of the rows of a CSV file.
type mapping []struct {
	Collection string `yaml:"collection"`
	Documents  string `yaml:"documents"`

	program *expr.Program
}

func readMapping(path string) (mapping, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "cannot read the mapping: %v", err)
	}
	var m mapping
	if err := yaml.UnmarshalWithOptions(text, &m, yaml.Strict()); err != nil {
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

// readCSV calls emit for each document that the mapping makes of the rows.
func (m mapping) readCSV(r io.Reader, refuse func(line int, reason string), emit func(record) error) error {
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
		line, _ := cr.FieldPos(0)
		if err != nil {
			var pe *csv.ParseError
			if !errors.As(err, &pe) {
				return err
			}
			refuse(pe.Line, pe.Err.Error())
			continue
		}
		if err := m.row(line, names, row, refuse, emit); err != nil {
			return err
		}
	}
}

func (m mapping) row(line int, names [][]byte, row []string, refuse func(line int, reason string), emit func(record) error) error {
	doc := []byte{'{'}
	for i, v := range row {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = jsondoc.AppendQuote(append(append(doc, names[i]...), ':'), v)
	}
	t := jsondoc.MustParse(append(doc, '}'))
	for _, out := range m {
		value, err := out.program.Eval(t)
		if err != nil {
			refuse(line, fmt.Sprintf("documents of %s: %v", out.Collection, err))
			continue
		}
		v := jsondoc.MustParse(value)
		nodes := []jsondoc.Node{jsondoc.Root}
		if v.Kind(jsondoc.Root) == jsondoc.Array {
			nodes = nodes[:0]
			for n := v.First(jsondoc.Root); n != jsondoc.None; n = v.Next(n) {
				nodes = append(nodes, n)
			}
		}
		for _, n := range nodes {
			body := v.Raw(n)
			id, err := idOf(body)
			if err != nil {
				refuse(line, err.Error())
				continue
			}
			if err := emit(record{line: line, collection: out.Collection, id: id, body: body}); err != nil {
				return err
			}
		}
	}
	return nil
}
