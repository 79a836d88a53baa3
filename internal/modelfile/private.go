package modelfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// maxPrivate bounds the private members of one collection. Each document is searched for them.
const maxPrivate = 32

// readPrivate reads which members of a collection's documents not everybody sees, such as {revenue: [staff]}.
func readPrivate(p *parser, c *model.Collection, n jsondoc.Node, at string) {
	p.members(n, at, func(text string, v jsondoc.Node) {
		at := fmt.Sprintf("%s[%q]", at, text)
		if p.isNew && len(c.Private) == maxPrivate {
			p.problem(at, "a collection has at most %d private members", maxPrivate)
			return
		}
		path := p.path(text, at)
		switch roles := p.roles(v, at); {
		case path == nil: // told by path
		case path[len(path)-1].Each():
			p.problem(at, "leads to elements of an array: a member is private, such as the array, or one of each element")
		case path[0].Name == "id" || strings.HasPrefix(path[0].Name, "_"):
			p.problem(at, "%q is not private: id and names that begin with _ are the store's", path[0].Name)
		case slices.ContainsFunc(c.Private, func(o model.Private) bool { return o.Path.Overlaps(path) }):
			p.problem(at, "stands in another private member, or around it")
		default:
			c.Private = append(c.Private, model.Private{Path: path, Roles: roles})
		}
	})
	slices.SortFunc(c.Private, func(a, b model.Private) int { return strings.Compare(a.Path.String(), b.Path.String()) })
}
