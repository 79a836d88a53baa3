package modelfile

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Documents may be ordered by two times that are no members of theirs: _meta.updatedAt and _meta.createdAt. In the log they
// stand as {"_meta":"updatedAt"}, which older programs refuse. With the plain text they would take it for the path of a
// member, which no document has, and fold something else. A model that was accepted with the text means such a path.

// metaMember is the member of reads that has a document's times.
const metaMember = "_meta"

// The times that documents may be ordered by.
const (
	updatedAt = "updatedAt"
	createdAt = "createdAt"
)

// metaOrder is a rule whose orderBy names a time by a text.
type metaOrder struct {
	rule *model.Rule
	time string
}

// orderBy reads what a recent orders documents by: a path, or a time.
func (p *parser) orderBy(r *model.Rule, n jsondoc.Node, at string) {
	text := p.tree.Text(n)
	switch kind := p.tree.Kind(n); {
	case kind == jsondoc.Object:
		p.members(n, at, func(member string, v jsondoc.Node) {
			if member != metaMember {
				p.problem(at+"."+member, "unknown member; orderBy is the path of a member, or %s.%s", metaMember, updatedAt)
				return
			}
			p.orderByTime(r, p.tree.Text(v), at)
		})
		if p.tree.First(n) == jsondoc.None {
			p.problem(at, "must be the path of a member, or %s.%s", metaMember, updatedAt)
		}
	case kind == jsondoc.String && p.isNew && (text == metaMember || strings.HasPrefix(text, metaMember+".")):
		_, time, _ := strings.Cut(text, ".")
		p.orderByTime(r, time, at)
		p.metaOrders = append(p.metaOrders, metaOrder{r, time})
	default:
		r.OrderBy = p.plainPath(n, at)
	}
}

// orderByTime has documents ordered by one of their times. A recent without orderBy has the order of creation.
func (p *parser) orderByTime(r *model.Rule, time, at string) {
	if !slices.Contains([]string{updatedAt, createdAt}, time) {
		p.problem(at, "must be the path of a member, %[1]s.%[2]s or %[1]s.%[3]s", metaMember, updatedAt, createdAt)
		return
	}
	r.ByUpdate = time == updatedAt
}

// storedText returns the model's text as the log has it.
func (p *parser) storedText(text []byte) []byte {
	for _, o := range p.metaOrders {
		patch := []byte(`{"` + metaMember + `":"` + o.time + `"}`)
		for _, name := range []string{"orderBy", o.rule.Path.String(), "derive", o.rule.Collection, "collections"} {
			patch = append(append(append(append([]byte("{"), jsondoc.Quote(name)...), ':'), patch...), '}')
		}
		text = jsondoc.Merge(text, patch)
	}
	return text
}
