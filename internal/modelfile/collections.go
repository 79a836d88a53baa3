package modelfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
	"github.com/fanfold/fanfold/model"
)

// collection reads one collection and adds it to the model.
func (p *parser) collection(name string, n jsondoc.Node) {
	at := "collections." + name
	if !p.counted(&p.sizes.collections, maxCollections, "collections", at) {
		return
	}
	if err := fanfold.CheckCollection(name); err != nil {
		p.problem(at, "cannot name a collection: use [a-zA-Z][a-zA-Z0-9_-]*, at most %d bytes", fanfold.MaxCollectionLen)
	}
	c := &model.Collection{Name: name}
	p.model.Collections = append(p.model.Collections, c)
	aCollection.read(p, n, at, func(member, at string, v jsondoc.Node) {
		switch member {
		case "relations":
			p.members(v, at, func(name string, v jsondoc.Node) { p.relation(c, name, v, at+"."+name) })
		case "derive":
			p.members(v, at, func(path string, v jsondoc.Node) { p.rule(c, path, v, fmt.Sprintf("%s[%q]", at, path)) })
		case "release":
			c.Release = p.release(v, at)
		case "pages":
			p.readPages(c, v, at)
		case "schema":
			c.Schema = p.schema(v, at)
		case "unique":
			c.Unique = p.unique(v, at)
		case "indexes":
			p.members(v, at, func(name string, v jsondoc.Node) { p.index(c, name, v, at+"."+name) })
		case "checks":
			p.members(v, at, func(name string, v jsondoc.Node) { readCheck(p, c, name, v, at+"."+name) })
		case "defaults":
			readDefaults(p, c, v, at)
		case "trigger":
			c.Trigger = p.text(v, at)
		case "access":
			c.Access = p.access(v, at)
		case "private":
			readPrivate(p, c, v, at)
		case "sequences":
			p.members(v, at, func(path string, v jsondoc.Node) {
				sequenceParser{p}.sequence(c, path, v, fmt.Sprintf("%s[%q]", at, path))
			})
		}
	})
}

// checkNames reports collections whose names differ by case alone.
func checkNames(p *parser) {
	names := map[string]string{}
	for _, c := range p.model.Collections {
		small := strings.ToLower(c.Name)
		if other, taken := names[small]; taken && other != c.Name {
			p.problem("collections."+c.Name, "differs from %q by case alone: names of collections are unique without case", other)
		}
		names[small] = c.Name
	}
}

// schema reads a JSON Schema, and compiles it unless it was accepted before.
func (p *parser) schema(n jsondoc.Node, at string) []byte {
	source := p.tree.Raw(n)
	if !p.isNew {
		return source
	}
	if p.sizes.schemas += len(source); p.sizes.schemas > maxSchemas {
		p.problem(at, "with this one the model's schemas have more than %d bytes", maxSchemas)
		return source
	}
	if err := schema.CheckNew(source); err != nil {
		p.problem(at, "%v", err)
	}
	return source
}

// release reads a list of paths whose rules were removed.
func (p *parser) release(n jsondoc.Node, at string) []string {
	var paths []string
	for c := range p.list(n, at, "paths") {
		if !p.counted(&p.sizes.release, maxRelease, "released paths", at) {
			return paths
		}
		path, err := model.ParsePath(p.tree.Text(c)) // of a rule of an earlier model, so that no bound holds
		if err != nil {
			p.problem(at, "%s", fanfold.MessageOf(err))
			continue
		}
		paths = append(paths, path.String())
	}
	return paths
}

// relation reads one relation and adds it to its collection.
func (p *parser) relation(c *model.Collection, name string, n jsondoc.Node, at string) {
	if !p.counted(&p.sizes.relations, maxRelations, "relations", at) {
		return
	}
	reportName(p, "relation", name, at)
	r := &model.Relation{Name: name, Collection: c.Name, OnDelete: model.Clear}
	c.Relations = append(c.Relations, r)
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping with path and to")
		return
	}
	aRelation.read(p, n, at, func(member, at string, v jsondoc.Node) {
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
		}
	})
	if len(r.Path) > 0 && (r.Path.String() == "id" || strings.HasPrefix(r.Path[0].Name, "_")) {
		p.problem(at+".path", "%q cannot hold a relation's ids", r.Path)
	}
}

// reportName reports a name of a relation or a check, which kind says, that it cannot have.
func reportName(p *parser, kind, name, at string) {
	if p.isNew && len(name) > maxName {
		p.problem(at, "a %s's name has at most %d bytes", kind, maxName)
	}
	if name == "" || strings.ContainsAny(name, ".,[] ") {
		p.problem(at, "a %s's name must not be empty nor hold '.', ',', '[', ']' or spaces", kind)
	}
}

// policies are what a relation's onDelete takes.
var policies = []model.OnDelete{model.Clear, model.Keep, model.Unlink, model.Cascade, model.Restrict}

// onDelete sets the delete policy.
func (p *parser) onDelete(r *model.Relation, policy, at string) {
	switch {
	case slices.Contains(policies, model.OnDelete(policy)):
		r.OnDelete = model.OnDelete(policy)
	case policy != "":
		p.problem(at, "unknown policy %q: use clear, keep, unlink, cascade or restrict", policy)
	}
}

// readPages reads what pages a collection is kept in, such as {by: post, size: 100}.
func (p *parser) readPages(c *model.Collection, n jsondoc.Node, at string) {
	pages := pendingPages{c: c, at: at}
	somePages.read(p, n, at, func(member, at string, v jsondoc.Node) {
		switch member {
		case "by":
			pages.by = p.text(v, at)
		case "size":
			pages.size = p.number(v, at, maxPageSize)
		}
	})
	p.pages = append(p.pages, pages)
}
