package modelfile

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/model"
)

// Bounds of the defaults of one collection.
const (
	maxDefaults     = 100
	maxDefaultBytes = 64 << 10 // of all values together
)

// defaultsAt returns where a default stands in the model.
func defaultsAt(c *model.Collection, path string) string {
	return fmt.Sprintf("collections.%s.defaults[%q]", c.Name, path)
}

// readDefaults reads what new documents of a collection have where their writers say nothing.
func readDefaults(p *parser, c *model.Collection, n jsondoc.Node, at string) {
	size := 0
	p.members(n, at, func(path string, v jsondoc.Node) {
		at := defaultsAt(c, path)
		size += len(p.tree.Raw(v))
		switch {
		case p.isNew && len(c.Defaults) == maxDefaults:
			p.problem(at, "a collection has at most %d defaults", maxDefaults)
			return
		case p.isNew && size > maxDefaultBytes:
			p.problem(at, "with this one the defaults of %s have %d bytes; at most %d are taken", c.Name, size, maxDefaultBytes)
			return
		}
		d := &model.Default{Path: p.path(path, at), Value: p.tree.Raw(v)}
		switch {
		case d.Path == nil:
			return
		case d.Path.Arrays():
			p.problem(at, "goes through an array: a default stands once in a document")
		case d.Path[0].Name == "id" || strings.HasPrefix(d.Path[0].Name, "_"):
			p.problem(at, "%q has no default: id and names that begin with _ are the store's", d.Path[0].Name)
		}
		c.Defaults = append(c.Defaults, d)
	})
}

// checkDefaults reports defaults that no document of the collection can have. A rule derives the member, a sequence numbers it, or the schema
// refuses the value, or it nests too deeply or has a number that is not compared.
func checkDefaults(p *parser, c *model.Collection) {
	for _, d := range c.Defaults {
		for _, s := range c.Sequences {
			if s.Path.Overlaps(d.Path) {
				p.problem(defaultsAt(c, d.Path.String()), "stands in the way of sequence %s", s.Path)
			}
		}
		for _, r := range c.Rules {
			for _, owned := range r.OwnedPaths() {
				if d.Hinders(owned) {
					p.problem(defaultsAt(c, d.Path.String()), "stands in the way of %q: the store derives it", owned.String())
				}
			}
		}
	}
	if p.isNew && len(c.Defaults) > 0 && len(p.problems) == 0 {
		checkFilled(p, c, c.Fill([]byte(`{"id":""}`)))
	}
}

// checkFilled reports what is refused of a document that has nothing but the collection's defaults.
func checkFilled(p *parser, c *model.Collection, filled []byte) {
	at := "collections." + c.Name + ".defaults"
	if err := jsondoc.Check(filled, fanfold.DefaultMaxDepth); err != nil {
		p.problem(at, "a document with them is not taken: %v", err)
		return
	}
	t := jsondoc.MustParse(filled)
	if n := t.FirstOf(jsondoc.Number, func(raw []byte) bool { return !decimal.Takes(raw) }); n != jsondoc.None {
		p.problem(at, "at %s stands a number of more than 1,000 digits, or beyond 1e±1000: write it as a text", t.Pointer(n))
	}
	if c.Schema == nil {
		return
	}
	compiled, err := schema.Compile(c.Schema)
	if err != nil {
		p.problem(at, "the schema cannot be read: %v", err)
		return
	}
	for _, d := range c.Defaults {
		for _, problem := range compiled.RefusesAt(filled, d.Path.Pointer()) {
			p.problem(defaultsAt(c, d.Path.String()), "the schema refuses it: at %s %s", problem.Path, problem.Detail)
		}
	}
}
