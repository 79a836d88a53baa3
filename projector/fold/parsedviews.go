package fold

import "github.com/fanfold/fanfold/internal/jsondoc"

// parsedViews keeps the last views that rules were evaluated on, because several rules look at one view. The texts must not change.
type parsedViews struct {
	views [8]parsedView
	next  int // that is parsed anew
}

// parsedView is a text with its tree.
type parsedView struct {
	body []byte
	tree jsondoc.Tree
}

// maxParsedView is how many bytes a view has at most that stays in memory.
const maxParsedView = 64 << 10

// tree returns the parsed view, which is valid until seven others were asked for.
func (p *parsedViews) tree(body []byte) *jsondoc.Tree {
	if len(body) > maxParsedView {
		return jsondoc.MustParse(body)
	}
	for i := range p.views {
		v := &p.views[i]
		if len(body) > 0 && len(v.body) == len(body) && &v.body[0] == &body[0] {
			return &v.tree
		}
	}
	v := &p.views[p.next]
	p.next = (p.next + 1) % len(p.views)
	v.body = body
	v.tree.Reset(body)
	return &v.tree
}
