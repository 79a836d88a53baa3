// Package ruling says what somebody may do to one document, where the rules of the model's access decide about it.
package ruling

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Sender is who asks for a write: see access.
type Sender interface {
	IsOpen() bool
	Reads(collection string) bool
	Writes(collection string) bool
	Grant(collection, act string) access.Grant
}

// Ruling judges one write of one document. It is for one goroutine.
type Ruling struct {
	key   fanfold.Key
	by    Sender
	read  access.Grant
	act   string
	grant access.Grant // to act

	// Provisional is set while a refusal is judged once more before it is told, so that it is counted once.
	Provisional bool
}

// Of returns the ruling of a write of a document. It is nil where no document needs to be looked at: the sender may read and do everything in the
// collection. A check of a document needs the right to read alone.
func Of(by Sender, key fanfold.Key, check bool) *Ruling {
	if by.IsOpen() || by.Reads(key.Collection) && (check || by.Writes(key.Collection)) {
		return nil
	}
	r := &Ruling{key: key, by: by}
	r.read = r.uncounted(model.ActRead)
	return r
}

// uncounted returns the sender's right to do something in the collection, without the count of refusals.
func (r *Ruling) uncounted(act string) access.Grant {
	g := r.by.Grant(r.key.Collection, act)
	return g.Uncounted()
}

// count counts a refusal by the rule of a right, unless it is judged once more.
func (r *Ruling) count(act string) {
	if !r.Provisional {
		g := r.by.Grant(r.key.Collection, act)
		g.Refused()
	}
}

// Sees tells whether a document may be read whose embedded view this is.
func (r *Ruling) Sees(view []byte) bool {
	sees := r.read.Reads(view)
	if !sees {
		r.count(model.ActRead)
	}
	return sees
}

// Asks sets the action that the write is for its document. The error is the Forbidden of one to which the sender has no right at all.
func (r *Ruling) Asks(act string) error {
	r.act, r.grant = act, r.uncounted(act)
	if r.grant.None() {
		return r.refuse("the right is missing")
	}
	return nil
}

// Taken returns the Forbidden of a write that would create its document, if there were not one that the sender may not read. It says the same whatever is in
// that one.
func (r *Ruling) Taken() error {
	if err := r.Asks(model.ActCreate); err != nil {
		return err
	}
	r.act = model.ActUpdate
	return r.refuse("the rule of " + r.key.Collection + " about it is not true")
}

// Looks tells whether the rule looks at derived members of the document as it is to be, and whether it looks at numbers that the document is still to
// get.
func (r *Ruling) Looks(c *model.Collection, body []byte) (derived, numbers bool) {
	names, whole := r.grant.Looks()
	if c == nil || len(names) == 0 && !whole {
		return false, false
	}
	looks := func(p model.Path) bool { return whole || slices.Contains(names, p[0].Name) }
	derived = slices.ContainsFunc(c.Rules, func(rule *model.Rule) bool { return looks(rule.Path) })
	if len(c.Sequences) == 0 {
		return derived, false
	}
	t := jsondoc.MustParse(body)
	return derived, slices.ContainsFunc(c.Sequences, func(s *model.Sequence) bool {
		return looks(s.Path) && s.Path.Lookup(t, jsondoc.Root) == jsondoc.None
	})
}

// Judge returns the Forbidden of a write that the sender may not make. old is the embedded view of the document as it is, nil for none, and doc as it is to
// be, nil for a document that goes.
func (r *Ruling) Judge(old, doc []byte) error {
	if r.grant.Writes(old, doc) {
		return nil
	}
	r.count(r.act)
	return r.refuse("the rule of " + r.key.Collection + " about it is not true")
}

// refuse returns the Forbidden of the write. It names the right and the document, and nothing that is in it.
func (r *Ruling) refuse(why string) error {
	return &fanfold.Error{Code: fanfold.Forbidden, Message: fmt.Sprintf("you may not %s %s as the request asks for; nothing was written", r.act, r.key),
		Problems: []fanfold.Problem{{Path: r.key.String(), Detail: r.act + ": " + why}}}
}
