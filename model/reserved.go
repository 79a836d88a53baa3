package model

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
)

// Reserved lists the paths of removed rules, by collection, until a model releases them or another rule takes them. A client
// may have read a document before its rule was removed. It must not be able to write the copies back as data of its own. A
// reserved path also keeps the stored values of a rule that is Retired.
type Reserved map[string][]string

// Reserved returns the paths that are reserved under Next, where v are those that are under Prev.
func (c *Comparison) Reserved(v Reserved) Reserved {
	out := Reserved{}
	reserve := func(collection string, p *CollectionPair, paths ...string) {
		for _, path := range paths {
			if !p.releases(path) && p.owner(path) == nil {
				out[collection] = append(out[collection], path)
			}
		}
	}
	for collection, paths := range v {
		reserve(collection, c.Collection(collection), paths...)
	}
	for _, p := range c.Collections {
		for _, r := range p.Rules {
			if r.Prev != nil {
				reserve(p.Name, p, r.Prev.Paths()...)
			}
		}
	}
	for _, k := range c.Next.Retired {
		reserve(k.Collection, c.Collection(k.Collection), k.Path)
	}
	for name, paths := range out {
		slices.Sort(paths)
		out[name] = slices.Compact(paths)
	}
	return out
}

// DefaultsAt returns a problem for each default that stands at a reserved path: a client that sends the document back as it was read
// would lose the member.
func (m *Model) DefaultsAt(reserved Reserved) (problems []fanfold.Problem) {
	for _, c := range m.Collections {
		for _, text := range reserved[c.Name] {
			path, err := ParsePath(text)
			if err != nil {
				continue
			}
			for _, d := range c.Defaults {
				if d.Hinders(path) {
					problems = append(problems, fanfold.Problem{Path: "collections." + c.Name + ".defaults." + d.Path.String(),
						Detail: fmt.Sprintf("%s is reserved, because a rule there was removed: release it with release: [%q]", text, text)})
				}
			}
		}
	}
	return problems
}
