package access

import (
	"strings"

	"github.com/fanfold/fanfold/internal/mask"
	"github.com/fanfold/fanfold/model"
)

// unseenIn returns the paths of those private members that the principal does not see.
func (p *Principal) unseenIn(private []model.Private) (paths []model.Path) {
	for _, m := range private {
		if !p.hasOneOf(m.Roles) {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// mask returns what hides the private members of a collection that the principal does not see; nil where it sees all of them.
func (p *Principal) mask(m *model.Model, collection string) *mask.Mask {
	return mask.Of(p.unseenIn(m.PrivateOf(collection)))
}

// seesWhole tells whether the principal sees all members of a collection's documents.
func (p *Principal) seesWhole(m *model.Model, collection string) bool {
	return p.unseenIn(m.PrivateOf(collection)) == nil
}

// unseen says in words which private members of a collection the principal does not see, "" for none.
func (p *Principal) unseen(m *model.Model, collection string) string {
	var texts []string
	for _, path := range p.unseenIn(m.PrivateOf(collection)) {
		texts = append(texts, path.String())
	}
	if texts == nil {
		return ""
	}
	return ", without the private " + strings.Join(texts, ", ")
}

// Mask returns what hides the private members of the collection's documents that the principal does not see; nil for none.
func (g *Grant) Mask() *mask.Mask { return g.mask }

// Every tells whether it is a right to every document, if not to all its members.
func (g *Grant) Every() bool { return g.every }
