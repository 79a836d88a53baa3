package modelfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Bounds of what is unique, besides maxUnique.
const (
	maxUniqueParts = 8    // of one declaration
	maxUniqueName  = 2000 // of a declaration's text, in bytes: every claim carries it
)

// A string of unique is an expression where it looks at doc, and a path otherwise.
var (
	namesDoc    = regexp.MustCompile(`(^|[^A-Za-z0-9_.])doc[.\[]`)
	namesMeta   = regexp.MustCompile(`(^|[^A-Za-z0-9_.])meta\.(created|updated)At\b`)
	onlyMeta    = regexp.MustCompile(`^meta\.[A-Za-z]+$`)                // a path
	onlyMembers = regexp.MustCompile(`^doc(\.[A-Za-z_][A-Za-z0-9_]*)+$`) // could be either
)

// unique reads a list of what is unique: paths, expressions, and lists of them.
func (p *parser) unique(n jsondoc.Node, at string) []*model.Unique {
	var all []*model.Unique
	for c := range p.list(n, at, "paths, expressions and lists of them") {
		if !p.counted(&p.sizes.unique, maxUnique, "unique members", at) {
			return all
		}
		u := p.uniqueOne(c, at)
		if u == nil {
			continue
		}
		if model.HasUnique(all, u) {
			p.problem(at, "%q is listed twice", u)
		}
		if size := len(u.Name()); p.isNew && size > maxUniqueName {
			p.problem(at, "an entry has %d bytes; at most %d are taken: %s", size, maxUniqueName, u)
		}
		all = append(all, u)
	}
	return all
}

// uniqueOne reads one entry of unique; nil stands for a mistake.
func (p *parser) uniqueOne(n jsondoc.Node, at string) *model.Unique {
	if p.tree.Kind(n) != jsondoc.Array {
		part, ok := p.uniquePart(n, at)
		if !ok {
			return nil
		}
		return &model.Unique{Parts: []model.UniquePart{part}}
	}
	u, ok := &model.Unique{}, true
	for c := p.tree.First(n); c != jsondoc.None; c = p.tree.Next(c) {
		if p.isNew && len(u.Parts) == maxUniqueParts {
			p.problem(at, "a list of what is unique together has more than %d entries", maxUniqueParts)
			return nil
		}
		part, good := p.uniquePart(c, at)
		if good && slices.ContainsFunc(u.Parts, func(o model.UniquePart) bool { return o.String() == part.String() }) {
			p.problem(at, "%q is in one list twice", part)
		}
		ok = ok && good
		u.Parts = append(u.Parts, part)
	}
	if ok && len(u.Parts) < 2 {
		p.problem(at, "a list of what is unique together has two entries or more; write one by itself")
		ok = false
	}
	if !ok {
		return nil
	}
	return u
}

// uniquePart reads a path to one value, or an expression. ok is false for a mistake.
func (p *parser) uniquePart(n jsondoc.Node, at string) (part model.UniquePart, ok bool) {
	s := ""
	if p.tree.Kind(n) == jsondoc.String {
		s = p.tree.Text(n)
	}
	switch {
	case !p.isNew && (onlyMembers.MatchString(s) || !namesDoc.MatchString(s)): // a path, of when there were no expressions
	case onlyMembers.MatchString(s):
		name := strings.TrimPrefix(s, "doc.")
		p.problem(at, "%q could be a path or an expression: write %q for that member, or %q for one inside a member doc", s, name, "(doc."+s+")")
		return part, false
	case namesDoc.MatchString(s):
		return p.uniqueExpression(n, s, at)
	case strings.ContainsAny(s, "()"):
		p.problem(at, "%q is neither a path nor an expression: an expression names members as doc.email, and one with another name as doc[\"a (b)\"]", s)
		return part, false
	}
	part.Path = p.plainPath(n, at)
	return part, part.Path != nil
}

// uniqueExpression reads an expression over the document as written. ok is false for a mistake.
func (p *parser) uniqueExpression(n jsondoc.Node, s, at string) (part model.UniquePart, ok bool) {
	before := len(p.problems) + p.untold
	p.expression(n, at)
	if len(p.problems)+p.untold > before {
		return part, false
	}
	program, err := expr.CompileBinary(s) // a stored claim has the value that its event gave
	if err != nil {
		p.problem(at, "%v", err)
		return part, false
	}
	return model.UniquePart{Expression: s, Explain: program.Explain, Evaluate: func(t *jsondoc.Tree) ([]byte, bool) {
		text, err := program.Eval(t)
		return text, err == nil
	}}, true
}

// checkUnique reports what is unique and may look at a derived field: documents are compared as they are written, so that
// a write can be refused.
func (p *parser) checkUnique(c *model.Collection) {
	for _, u := range c.Unique {
		for _, part := range u.Parts {
			if part.Expression == "" {
				p.checkUniquePath(c, part.Path)
			} else {
				p.checkUniqueExpression(c, part.Expression)
			}
		}
	}
}

// checkUniquePath reports the rules that own what is at a unique path.
func (p *parser) checkUniquePath(c *model.Collection, path model.Path) {
	for _, r := range c.Rules {
		for _, owned := range r.OwnedPaths() {
			if owned.Overlaps(path) {
				p.problem(rulePath(r), "stands in the way of unique member %s", path)
				break
			}
		}
	}
}

// checkUniqueExpression reports the rules whose values an expression can see.
func (p *parser) checkUniqueExpression(c *model.Collection, expression string) {
	at := fmt.Sprintf("collections.%s.unique", c.Name)
	members, err := expr.MembersRead(expression)
	switch {
	case err != nil: // which was told when it was read
	case members == nil:
		p.problem(at, "%q looks at doc as a whole, or at a member by a computed name: name the members that it is made of", expression)
	default:
		reader := &model.Rule{Reads: members}
		for _, r := range c.Rules {
			if reader.CanRead(r) {
				p.problem(at, "%q looks at %s, in which %s is derived: only what is written can be unique, for no write could be refused for the rest", expression, r.Path[0].Name, r.Path)
			}
		}
	}
}
