package fanfold

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// modelJSON turns YAML into JSON, so that there is one reader and one form in the log.
func modelJSON(src []byte) ([]byte, error) {
	text := src
	if trimmed := strings.TrimSpace(string(src)); !strings.HasPrefix(trimmed, "{") {
		converted, err := yaml.YAMLToJSON(src)
		if err != nil {
			return nil, Errorf(Invalid, "the model is not YAML: %s", strings.TrimSpace(err.Error()))
		}
		text = converted
	}
	if err := jsondoc.Check(text, DefaultMaxDepth); err != nil {
		return nil, Errorf(Invalid, "the model is not JSON: %v", err)
	}
	return jsondoc.Compact(nil, text), nil
}

type modelParser struct {
	tree     *jsondoc.Tree
	exprs    ExprCompiler
	schemas  SchemaCompiler
	model    *Model
	problems []Problem
	pending  []pendingRule
	pages    []pendingPages
}

// pendingPages are pages whose relation is looked up once the collection is read.
type pendingPages struct {
	c    *Collection
	at   string
	by   string
	size int
}

// pendingRule is a rule whose relation is looked up once all collections are known.
type pendingRule struct {
	rule     *Rule
	at       string
	relation string
}

func (p *modelParser) problem(at, format string, args ...any) {
	p.problems = append(p.problems, Problem{Path: at, Detail: fmt.Sprintf(format, args...)})
}

// members calls fn for each member of the object n; anything but an object is a problem.
func (p *modelParser) members(n jsondoc.Node, at string, fn func(name string, value jsondoc.Node)) {
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

func (p *modelParser) text(n jsondoc.Node, at string) string {
	if p.tree.Kind(n) != jsondoc.String || p.tree.Text(n) == "" {
		p.problem(at, "must be a string that is not empty")
		return ""
	}
	return p.tree.Text(n)
}

func (p *modelParser) flag(n jsondoc.Node, at string) bool {
	kind := p.tree.Kind(n)
	if kind != jsondoc.True && kind != jsondoc.False {
		p.problem(at, "must be true or false")
	}
	return kind == jsondoc.True
}

func (p *modelParser) parse() {
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
				p.model.FanoutLimit = int64(p.number(v, "fanout.limit", MaxChanges))
			})
		default:
			p.problem(name, "unknown member; the model has collections and fanout")
		}
	})
	p.model.sort()
}

func (p *modelParser) collection(name string, n jsondoc.Node) {
	at := "collections." + name
	if err := CheckCollection(name); err != nil {
		p.problem(at, "cannot name a collection: use [a-z][a-z0-9_-]*, at most %d bytes", MaxCollectionLen)
	}
	c := &Collection{Name: name}
	p.model.addCollection(c)
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
			if p.schemas == nil {
				break
			}
			if err := p.schemas(c.Schema); err != nil {
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
func (p *modelParser) unique(n jsondoc.Node, at string) []Path {
	if p.tree.Kind(n) != jsondoc.Array {
		p.problem(at, "must be a list of paths")
		return nil
	}
	var paths []Path
	for c := p.tree.First(n); c != jsondoc.None; c = p.tree.Next(c) {
		path := p.plainPath(c, at)
		if path == nil {
			continue
		}
		if slices.ContainsFunc(paths, func(o Path) bool { return o.String() == path.String() }) {
			p.problem(at, "%q is listed twice", path)
		}
		paths = append(paths, path)
	}
	return paths
}

func (p *modelParser) release(n jsondoc.Node, at string) []string {
	if p.tree.Kind(n) != jsondoc.Array {
		p.problem(at, "must be a list of paths")
		return nil
	}
	var paths []string
	for c := p.tree.First(n); c != jsondoc.None; c = p.tree.Next(c) {
		path, err := ParsePath(p.tree.Text(c))
		if err != nil {
			p.problem(at, "%s", messageOf(err))
			continue
		}
		paths = append(paths, path.String())
	}
	return paths
}

func (p *modelParser) path(s, at string) Path {
	path, err := ParsePath(s)
	if err != nil {
		p.problem(at, "%s", messageOf(err))
	}
	return path
}

func (p *modelParser) relation(c *Collection, name string, n jsondoc.Node, at string) {
	r := &Relation{Name: name, Collection: c.Name, full: c.Name + "." + name, OnDelete: Clear}
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

func (p *modelParser) onDelete(r *Relation, policy, at string) {
	switch OnDelete(policy) {
	case Clear, Keep, Unlink, Cascade, Restrict:
		r.OnDelete = OnDelete(policy)
	case "":
	default:
		p.problem(at, "unknown policy %q: use clear, keep, unlink, cascade or restrict", policy)
	}
}

// parsePages reads {by: relation, size: 100}.
func (p *modelParser) parsePages(c *Collection, n jsondoc.Node, at string) {
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
func (p *modelParser) linkPages() {
	for _, pages := range p.pages {
		if pages.by == "" {
			continue
		}
		r := pages.c.Relation(pages.by)
		if r == nil {
			p.problem(pages.at+".by", "unknown relation %q: %s has %s", pages.by, pages.c.Name, relationNames(pages.c.Relations, (*Relation).name))
			continue
		}
		if name := r.Path.String(); slices.Contains([]string{"page", "pages"}, name) || slices.Contains([]string{"page", "pages", name}, r.Collection) {
			p.problem(pages.at, "a page has the members page and pages besides %s and %s: rename one", name, r.Collection)
		}
		r.PageSize = pages.size
	}
}

func (p *modelParser) expr(n jsondoc.Node, at string) string {
	s := p.text(n, at)
	if s == "" {
		return ""
	}
	if _, err := p.exprs.Reads(s); err != nil {
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

func (p *modelParser) number(n jsondoc.Node, at string, most int) int {
	v, err := strconv.Atoi(p.tree.Text(n))
	if p.tree.Kind(n) != jsondoc.Number || err != nil || v < 1 || v > most {
		p.problem(at, "must be a whole number from 1 to %d", most)
		return 1
	}
	return v
}

// link resolves relations and checks that paths do not stand in each other's way.
func (p *modelParser) link() {
	for _, c := range p.model.Collections {
		for _, r := range c.Relations {
			if r.To == "" {
				continue
			}
			if p.model.byName[r.To] == nil {
				p.problem(fmt.Sprintf("collections.%s.relations.%s.to", c.Name, r.Name), "unknown collection %q: declare it, if only as %s: {}", r.To, r.To)
				continue
			}
			p.model.to[r.To] = append(p.model.to[r.To], r)
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

func (p *modelParser) linkRule(pr pendingRule) {
	r, at := pr.rule, pr.at+"."+string(pr.rule.Kind)
	if pr.relation == "" {
		return
	}
	if r.Kind == Copy {
		r.Relation = p.model.byName[r.Collection].Relation(pr.relation)
		if r.Relation == nil {
			p.problem(at, "unknown relation %q: %s has %s", pr.relation, r.Collection, relationNames(p.model.byName[r.Collection].Relations, (*Relation).name))
			return
		}
		p.copyPath(r, pr.at)
		return
	}
	r.Relation = p.model.Relation(pr.relation)
	switch {
	case r.Relation == nil:
		p.problem(at, "unknown relation %q: relations to %s are %s", pr.relation, r.Collection, relationNames(p.model.to[r.Collection], (*Relation).FullName))
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
func (p *modelParser) childPath(child string, path Path, at string) {
	for _, r := range p.model.byName[child].Rules {
		if len(path) > 0 && len(r.Path) > 0 && r.Path.overlaps(path) {
			p.problem(at, "%q is derived in %s: only what is written can be read here", path, child)
		}
	}
}

func (r *Relation) name() string { return r.Name }

func relationNames(rels []*Relation, name func(*Relation) string) string {
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
func (p *modelParser) copyPath(r *Rule, at string) {
	if len(r.Relation.Path) == 0 {
		return
	}
	r.Base = r.Path.sharedArrays(r.Relation.Path)
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
func (p *modelParser) overlaps(c *Collection) {
	at := func(r *Rule) string { return fmt.Sprintf("collections.%s.derive[%q]", c.Name, r.Path.String()) }
	for i, r := range c.Rules {
		for _, o := range c.Rules[:i] {
			for _, a := range r.fields() {
				for _, b := range o.fields() {
					if a.overlaps(b) {
						p.problem(at(r), "stands in the way of %q: two rules cannot own one field", o.Path.String())
					}
				}
			}
		}
		for _, path := range c.Unique {
			if r.Path.overlaps(path) {
				p.problem(at(r), "stands in the way of unique member %s", path)
			}
		}
		for _, rel := range c.Relations {
			if r.Path.overlaps(rel.Path) && len(rel.Path) > 0 {
				p.problem(at(r), "stands in the way of relation %s, whose ids are read at %s", rel.Name, rel.Path)
			}
		}
	}
}

// fields are the paths of all members the rule owns.
func (r *Rule) fields() []Path {
	if r.Kind != IDs {
		return []Path{r.Path}
	}
	flag := slices.Clone(r.Path)
	flag[len(flag)-1].Name = TruncatedField(flag[len(flag)-1].Name)
	return []Path{r.Path, flag}
}

// Paths are the paths of all members the rule owns, as text.
func (r *Rule) Paths() []string {
	var out []string
	for _, f := range r.fields() {
		out = append(out, f.String())
	}
	return out
}

// Reserved keeps the paths of removed rules, by collection, until they are released: a
// document read before the removal must not bring its copies back as data.
type Reserved map[string][]string

// Next is what is reserved once next replaces prev.
func (v Reserved) Next(prev, next *Model) Reserved {
	out := Reserved{}
	keep := func(collection, path string) {
		c := next.Collection(collection)
		if c != nil {
			if slices.Contains(c.Release, path) {
				return
			}
			if slices.ContainsFunc(c.Rules, func(r *Rule) bool { return slices.Contains(r.Paths(), path) }) {
				return
			}
		}
		if !slices.Contains(out[collection], path) {
			out[collection] = append(out[collection], path)
		}
	}
	for collection, paths := range v {
		for _, path := range paths {
			keep(collection, path)
		}
	}
	for _, c := range prev.Collections {
		for _, r := range c.Rules {
			for _, path := range r.Paths() {
				keep(c.Name, path)
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(out)) {
		slices.Sort(out[c])
	}
	return out
}
