package writer

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// guardedParts holds what guards are made of in one document. The document itself is not held: a transaction may write many
// large ones, and a parsed one takes many times its size.
type guardedParts struct {
	strict []strictReference // the distinct ones
	unique []uniqueValue     // of what is unique in the document's collection, in the model's order
}

// strictReference is a reference by a strict relation.
type strictReference struct {
	relation *model.Relation
	target   fanfold.Key
}

// uniqueValue is what a document has where something is unique: "" for nothing, or why it cannot be compared.
type uniqueValue struct {
	of     *model.Unique
	value  string
	err    error
	unlike error // it is neither a text nor a number, which documents of before the model may have
}

// guardedPartsOf returns the guarded parts of a document of a collection, which is nil where the model does not declare it.
func guardedPartsOf(c *model.Collection, body []byte) *guardedParts {
	p := &guardedParts{}
	if c == nil || len(c.Unique) == 0 && !slices.ContainsFunc(c.Relations, func(r *model.Relation) bool { return r.Strict }) {
		return p
	}
	t := jsondoc.MustParse(body)
	p.strict = strictReferences(c, t)
	for _, u := range c.Unique {
		value, err := u.Value(t)
		p.unique = append(p.unique, uniqueValue{u, value, err, u.Unlike(t)})
	}
	return p
}

// strictReferences returns the strict references of a document.
func strictReferences(c *model.Collection, t *jsondoc.Tree) (all []strictReference) {
	for _, r := range c.Relations {
		if !r.Strict {
			continue
		}
		for _, id := range r.Targets(t) {
			all = append(all, strictReference{r, fanfold.Key{Collection: r.To, ID: id}})
		}
	}
	return all
}

// refersBy tells whether the document refers to target by a strict relation. A nil document refers to nothing.
func (p *guardedParts) refersBy(r *model.Relation, target fanfold.Key) bool {
	return p != nil && slices.Contains(p.strict, strictReference{r, target})
}

// targets returns the distinct documents to which the document refers strictly. A nil document refers to none.
func (p *guardedParts) targets() (targets []fanfold.Key) {
	if p == nil {
		return nil
	}
	for _, s := range p.strict {
		if !slices.Contains(targets, s.target) {
			targets = append(targets, s.target)
		}
	}
	return targets
}

// unlike returns why what the document has where something is unique is not of a type that is compared. A nil document has nothing.
func (p *guardedParts) unlike(u *model.Unique) error {
	if p == nil {
		return nil
	}
	for _, v := range p.unique {
		if v.of == u {
			return v.unlike
		}
	}
	return nil
}

// value returns what the document has where something is unique. A nil document has nothing.
func (p *guardedParts) value(u *model.Unique) (value string, err error) {
	if p == nil {
		return "", nil
	}
	for _, v := range p.unique {
		if v.of == u {
			return v.value, v.err
		}
	}
	return "", nil
}
