// Package modelfile reads a model from YAML or JSON and checks it, the expressions and schemas in it included.
package modelfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
)

// modelJSON turns YAML into JSON, so that there is one reader and one form in the log.
func modelJSON(src []byte) ([]byte, error) {
	text := src
	if trimmed := strings.TrimSpace(string(src)); !strings.HasPrefix(trimmed, "{") {
		converted, err := yaml.YAMLToJSON(src)
		if err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "the model is not YAML: %s", strings.TrimSpace(err.Error()))
		}
		text = converted
	}
	if err := jsondoc.Check(text, fanfold.DefaultMaxDepth); err != nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "the model is not JSON: %v", err)
	}
	return jsondoc.Compact(nil, text), nil
}

// Parse reads a model in YAML or JSON. It returns the checked model, or an Invalid that lists every mistake
// with its path.
func Parse(src []byte) (*fanfold.Model, error) { return parse(src, true) }

// ParseAccepted reads a model that was checked before it was stored. It takes the JSON Schemas in it as they
// are, because a later version of the library may refuse what an earlier one took.
func ParseAccepted(src []byte) (*fanfold.Model, error) { return parse(src, false) }

func parse(src []byte, checkSchemas bool) (*fanfold.Model, error) {
	text, err := modelJSON(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tree: jsondoc.MustParse(text), checkSchemas: checkSchemas,
		model: &fanfold.Model{Source: text, FanoutLimit: fanfold.DefaultFanoutLimit}}
	p.parse()
	p.link()
	p.order()
	if len(p.problems) > 0 {
		return nil, &fanfold.Error{Code: fanfold.Invalid, Message: "the model has mistakes; nothing was changed", Problems: p.problems}
	}
	return p.model, nil
}

type parser struct {
	tree         *jsondoc.Tree
	model        *fanfold.Model
	checkSchemas bool
	problems     []fanfold.Problem
	pending      []pendingRule
	pages        []pendingPages
}

// pendingPages are pages whose relation is looked up once the collection is read.
type pendingPages struct {
	c    *fanfold.Collection
	at   string
	by   string
	size int
}

// pendingRule is a rule whose relation is looked up once all collections are known.
type pendingRule struct {
	rule     *fanfold.Rule
	at       string
	relation string
}

func (p *parser) problem(at, format string, args ...any) {
	p.problems = append(p.problems, fanfold.Problem{Path: at, Detail: fmt.Sprintf(format, args...)})
}

// members calls fn for each member of the object n; anything but an object is a problem.
func (p *parser) members(n jsondoc.Node, at string, fn func(name string, value jsondoc.Node)) {
	if n == jsondoc.None || p.tree.Kind(n) == jsondoc.Null {
		return
	}
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping")
		return
	}
	for c := p.tree.First(n); c != jsondoc.None; c = p.tree.Next(c) {
		fn(p.tree.Key(c), c)
	}
}

func (p *parser) text(n jsondoc.Node, at string) string {
	if p.tree.Kind(n) != jsondoc.String || p.tree.Text(n) == "" {
		p.problem(at, "must be a string that is not empty")
		return ""
	}
	return p.tree.Text(n)
}

func (p *parser) flag(n jsondoc.Node, at string) bool {
	kind := p.tree.Kind(n)
	if kind != jsondoc.True && kind != jsondoc.False {
		p.problem(at, "must be true or false")
	}
	return kind == jsondoc.True
}

func (p *parser) parse() {
	if p.tree.Kind(jsondoc.Root) != jsondoc.Object {
		p.problem("", "the model must be a mapping with the member collections")
		return
	}
	p.members(jsondoc.Root, "", func(name string, n jsondoc.Node) {
		switch name {
		case "collections":
			p.members(n, name, p.collection)
		case "fanout":
			p.members(n, name, func(member string, v jsondoc.Node) {
				if member != "limit" {
					p.problem("fanout."+member, "unknown member; fanout has one: limit")
					return
				}
				p.model.FanoutLimit = int64(p.number(v, "fanout.limit", fanfold.MaxChanges))
			})
		default:
			p.problem(name, "unknown member; the model has collections and fanout")
		}
	})
	p.model.Index()
}

func (p *parser) collection(name string, n jsondoc.Node) {
	at := "collections." + name
	if err := fanfold.CheckCollection(name); err != nil {
		p.problem(at, "cannot name a collection: use [a-z][a-z0-9_-]*, at most %d bytes", fanfold.MaxCollectionLen)
	}
	c := &fanfold.Collection{Name: name}
	p.model.Collections = append(p.model.Collections, c)
	p.members(n, at, func(member string, v jsondoc.Node) {
		at := at + "." + member
		switch member {
		case "relations":
			p.members(v, at, func(rel string, v jsondoc.Node) { p.relation(c, rel, v, at+"."+rel) })
		case "derive":
			p.members(v, at, func(path string, v jsondoc.Node) { p.rule(c, path, v, fmt.Sprintf("%s[%q]", at, path)) })
		case "release":
			c.Release = p.release(v, at)
		case "pages":
			p.parsePages(c, v, at)
		case "schema":
			c.Schema = p.tree.Raw(v)
			if !p.checkSchemas {
				break
			}
			if _, err := schema.Compile(c.Schema); err != nil {
				p.problem(at, "%v", err)
			}
		case "unique":
			c.Unique = p.unique(v, at)
		default:
			p.problem(at, "unknown member; a collection has relations, derive, pages, schema, unique and release")
		}
	})
}

// unique reads a list of paths, each to one value.
func (p *parser) unique(n jsondoc.Node, at string) []fanfold.Path {
	if p.tree.Kind(n) != jsondoc.Array {
		p.problem(at, "must be a list of paths")
		return nil
	}
	var paths []fanfold.Path
	for c := p.tree.First(n); c != jsondoc.None; c = p.tree.Next(c) {
		path := p.plainPath(c, at)
		if path == nil {
			continue
		}
		if slices.ContainsFunc(paths, func(o fanfold.Path) bool { return o.String() == path.String() }) {
			p.problem(at, "%q is listed twice", path)
		}
		paths = append(paths, path)
	}
	return paths
}

func (p *parser) release(n jsondoc.Node, at string) []string {
	if p.tree.Kind(n) != jsondoc.Array {
		p.problem(at, "must be a list of paths")
		return nil
	}
	var paths []string
	for c := p.tree.First(n); c != jsondoc.None; c = p.tree.Next(c) {
		path, err := fanfold.ParsePath(p.tree.Text(c))
		if err != nil {
			p.problem(at, "%s", fanfold.MessageOf(err))
			continue
		}
		paths = append(paths, path.String())
	}
	return paths
}

func (p *parser) path(s, at string) fanfold.Path {
	path, err := fanfold.ParsePath(s)
	if err != nil {
		p.problem(at, "%s", fanfold.MessageOf(err))
	}
	return path
}

func (p *parser) relation(c *fanfold.Collection, name string, n jsondoc.Node, at string) {
	r := &fanfold.Relation{Name: name, Collection: c.Name, OnDelete: fanfold.Clear}
	if name == "" || strings.ContainsAny(name, ".,[] ") {
		p.problem(at, "a relation's name must not be empty nor hold '.', ',', '[', ']' or spaces")
	}
	c.Relations = append(c.Relations, r)
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping with path and to")
		return
	}
	p.members(n, at, func(member string, v jsondoc.Node) {
		at := at + "." + member
		switch member {
		case "path":
			if s := p.text(v, at); s != "" {
				r.Path = p.path(s, at)
			}
		case "to":
			r.To = p.text(v, at)
		case "onDelete":
			p.onDelete(r, p.text(v, at), at)
		case "strict":
			r.Strict = p.flag(v, at)
		default:
			p.problem(at, "unknown member; a relation has path, to, onDelete and strict")
		}
	})
	for _, member := range []string{"path", "to"} {
		if p.tree.Member(n, member) == jsondoc.None {
			p.problem(at, "%s is missing", member)
		}
	}
	if len(r.Path) > 0 && (r.Path.String() == "id" || strings.HasPrefix(r.Path[0].Name, "_")) {
		p.problem(at+".path", "%q cannot hold a relation's ids", r.Path)
	}
}

func (p *parser) onDelete(r *fanfold.Relation, policy, at string) {
	switch fanfold.OnDelete(policy) {
	case fanfold.Clear, fanfold.Keep, fanfold.Unlink, fanfold.Cascade, fanfold.Restrict:
		r.OnDelete = fanfold.OnDelete(policy)
	case "":
	default:
		p.problem(at, "unknown policy %q: use clear, keep, unlink, cascade or restrict", policy)
	}
}

// parsePages reads {by: relation, size: 100}.
func (p *parser) parsePages(c *fanfold.Collection, n jsondoc.Node, at string) {
	pages := pendingPages{c: c, at: at}
	p.members(n, at, func(member string, v jsondoc.Node) {
		at := at + "." + member
		switch member {
		case "by":
			pages.by = p.text(v, at)
		case "size":
			pages.size = p.number(v, at, maxPageSize)
		default:
			p.problem(at, "unknown member; pages have by and size")
		}
	})
	for _, member := range []string{"by", "size"} {
		if p.tree.Kind(n) != jsondoc.Object || p.tree.Member(n, member) == jsondoc.None {
			p.problem(at, "%s is missing", member)
		}
	}
	p.pages = append(p.pages, pages)
}

// linkPages finds the relations that pages are by.
func (p *parser) linkPages() {
	for _, pages := range p.pages {
		if pages.by == "" {
			continue
		}
		r := pages.c.Relation(pages.by)
		if r == nil {
			p.problem(pages.at+".by", "unknown relation %q: %s has %s", pages.by, pages.c.Name, relationNames(pages.c.Relations, relationName))
			continue
		}
		if name := r.Path.String(); slices.Contains([]string{"page", "pages"}, name) || slices.Contains([]string{"page", "pages", name}, r.Collection) {
			p.problem(pages.at, "a page has the members page and pages besides %s and %s: rename one", name, r.Collection)
		}
		r.PageSize = pages.size
	}
}

func (p *parser) expr(n jsondoc.Node, at string) string {
	s := p.text(n, at)
	if s == "" {
		return ""
	}
	if _, err := expr.MembersRead(s); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n") // behind it CEL draws where
		p.problem(at, "%s", text)
	}
	return s
}

// Bounds of a model's numbers.
const (
	maxIDsLimit = 100_000
	maxRecent   = 1000
	maxPageSize = 1000
)

func (p *parser) number(n jsondoc.Node, at string, most int) int {
	v, err := strconv.Atoi(p.tree.Text(n))
	if p.tree.Kind(n) != jsondoc.Number || err != nil || v < 1 || v > most {
		p.problem(at, "must be a whole number from 1 to %d", most)
		return 1
	}
	return v
}

// link resolves relations and checks that paths do not stand in each other's way.
func (p *parser) link() {
	for _, c := range p.model.Collections {
		for _, r := range c.Relations {
			if r.To == "" {
				continue
			}
			if p.model.Collection(r.To) == nil {
				p.problem(fmt.Sprintf("collections.%s.relations.%s.to", c.Name, r.Name), "unknown collection %q: declare it, if only as %s: {}", r.To, r.To)
			}
		}
	}
	p.linkPages()
	for _, pr := range p.pending {
		p.linkRule(pr)
	}
	for _, c := range p.model.Collections {
		p.overlaps(c)
	}
}

func (p *parser) linkRule(pr pendingRule) {
	r, at := pr.rule, pr.at+"."+string(pr.rule.Kind)
	if pr.relation == "" {
		return
	}
	if r.Kind == fanfold.Copy {
		r.Relation = p.model.Collection(r.Collection).Relation(pr.relation)
		if r.Relation == nil {
			p.problem(at, "unknown relation %q: %s has %s", pr.relation, r.Collection, relationNames(p.model.Collection(r.Collection).Relations, relationName))
			return
		}
		p.copyPath(r, pr.at)
		return
	}
	r.Relation = p.model.Relation(pr.relation)
	switch {
	case r.Relation == nil:
		p.problem(at, "unknown relation %q: relations to %s are %s", pr.relation, r.Collection, relationNames(p.model.RelationsTo(r.Collection), (*fanfold.Relation).FullName))
	case r.Relation.To != r.Collection:
		p.problem(at, "relation %s leads to %s, not to %s", pr.relation, r.Relation.To, r.Collection)
	case r.Path.Arrays():
		p.problem(pr.at, "%s stands once in a document, so its path cannot go through an array", r.Kind)
	default:
		p.childPath(r.Relation.Collection, r.Of, pr.at+".of")
		p.childPath(r.Relation.Collection, r.OrderBy, pr.at+".orderBy")
	}
}

// childPath checks that what a rule reads of children as written is not derived.
func (p *parser) childPath(child string, path fanfold.Path, at string) {
	for _, r := range p.model.Collection(child).Rules {
		if len(path) > 0 && len(r.Path) > 0 && r.Path.Overlaps(path) {
			p.problem(at, "%q is derived in %s: only what is written can be read here", path, child)
		}
	}
}

func relationName(r *fanfold.Relation) string { return r.Name }

func relationNames(rels []*fanfold.Relation, name func(*fanfold.Relation) string) string {
	if len(rels) == 0 {
		return "none"
	}
	names := make([]string, len(rels))
	for i, r := range rels {
		names[i] = name(r)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// copyPath finds where the copied value stands: inside the innermost array that the field's
// path shares with the relation's.
func (p *parser) copyPath(r *fanfold.Rule, at string) {
	if len(r.Relation.Path) == 0 {
		return
	}
	r.Base = r.Path.SharedArrays(r.Relation.Path)
	switch {
	case r.Path[r.Base:].Arrays():
		p.problem(at, "goes through an array that relation %s (%s) does not: a copy stands beside the id, or outside the array as a list", r.Relation.Name, r.Relation.Path)
	case len(r.Path) == r.Base:
		p.problem(at, "must name a member inside the array's elements")
	case len(r.Relation.Path) == r.Base:
		p.problem(at, "relation %s (%s) holds bare ids, which have no room for a member beside them: put the copy outside the array, as a list", r.Relation.Name, r.Relation.Path)
	}
}

// overlaps refuses two rules on one field, and relations or ids in derived fields.
func (p *parser) overlaps(c *fanfold.Collection) {
	at := func(r *fanfold.Rule) string { return fmt.Sprintf("collections.%s.derive[%q]", c.Name, r.Path.String()) }
	for i, r := range c.Rules {
		for _, o := range c.Rules[:i] {
			for _, a := range r.OwnedPaths() {
				for _, b := range o.OwnedPaths() {
					if a.Overlaps(b) {
						p.problem(at(r), "stands in the way of %q: two rules cannot own one field", o.Path.String())
					}
				}
			}
		}
		for _, path := range c.Unique {
			if r.Path.Overlaps(path) {
				p.problem(at(r), "stands in the way of unique member %s", path)
			}
		}
		for _, rel := range c.Relations {
			if r.Path.Overlaps(rel.Path) && len(rel.Path) > 0 {
				p.problem(at(r), "stands in the way of relation %s, whose ids are read at %s", rel.Name, rel.Path)
			}
		}
	}
}
