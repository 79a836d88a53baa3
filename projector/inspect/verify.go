package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Wrong is one value of the read model that is not what the documents as written give.
type Wrong struct {
	Document string `json:"document"` // collection/id
	Rule     string `json:"rule,omitempty"`
	Detail   string `json:"detail"` // the stored value and the right one, as a JSON Patch, or what else is wrong
}

// Verified is what a verification found.
type Verified struct {
	Position  fanfold.Position `json:"position"` // of the prefix looked at
	Documents int64            `json:"documents"`
	Wrong     []Wrong          `json:"wrong"`
	More      int64            `json:"more,omitempty"` // wrong values beyond those listed
}

// maxListed bounds what a verification lists; the rest is counted.
const maxListed = 1000

// Verify recomputes every derived value and the link index from the documents as written, on
// one snapshot, and lists what differs. It blocks for as long as that takes; reads and folding
// go on.
func Verify(ctx context.Context, store *sqlite.Store) (out *Verified, err error) {
	sc, err := store.Scan()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	pl, err := fold.LoadPlan(func(fn func(*sqlite.Snapshot) error) error { return fn(sc.Snapshot) })
	if err != nil {
		return nil, err
	}
	out = &Verified{Position: sc.Checkpoint.At(), Wrong: []Wrong{}}
	c := newChecker(ctx, sc, pl)
	if err := c.readable(out); err != nil || len(out.Wrong) > 0 {
		return out, err // nothing can be computed from what is not JSON
	}
	if err := c.link(); err != nil {
		return nil, err
	}
	if err := sc.CompareLinks(func(d sqlite.LinkDifference) error { return out.link(sc, d) }); err != nil {
		return nil, err
	}
	if err := c.checkGuards(out); err != nil {
		return nil, err
	}
	err = c.each(func(row *sqlite.Row, right []byte) error {
		out.Documents++
		if !bytes.Equal(row.Body, right) {
			out.body(pl, row, right)
		}
		return nil
	})
	return out, err
}

func (v *Verified) add(w Wrong) {
	if len(v.Wrong) >= maxListed {
		v.More++
		return
	}
	v.Wrong = append(v.Wrong, w)
}

func (v *Verified) link(sc *sqlite.Scanner, d sqlite.LinkDifference) error {
	key, found, err := sc.KeyOf(d.Holder)
	if err != nil {
		return err
	}
	name := key.String()
	if !found {
		name = "document number " + strconv.FormatInt(d.Holder, 10)
	}
	detail := fmt.Sprintf("the link index lacks relation %s to %q", d.Relation, d.Target)
	if d.Stored {
		detail = fmt.Sprintf("the link index has relation %s to %q, which the document does not", d.Relation, d.Target)
	}
	v.add(Wrong{Document: name, Detail: detail})
	return nil
}

func (v *Verified) body(pl *fold.Plan, row *sqlite.Row, right []byte) {
	var stored jsondoc.Tree
	if jsondoc.Check(row.Body, fanfold.DefaultMaxDepth*4) != nil || stored.Parse(row.Body) != nil {
		v.add(Wrong{Document: row.Key.String(), Detail: "the embedded view is not JSON"})
		return
	}
	d := fold.Diff(row.Key.Collection, pl.Collection(row.Key.Collection).Shape, &stored, jsondoc.MustParse(right))
	if d.Empty() {
		v.add(Wrong{Document: row.Key.String(), Detail: "the embedded view is not the canonical form of the referenced one: " + clipBytes(row.Body)})
		return
	}
	for i, rule := range d.Rules {
		detail := "see the first rule of this document"
		if i == 0 {
			detail = "from stored (old) to right: " + clipBytes(d.Patch())
		}
		v.add(Wrong{Document: row.Key.String(), Rule: rule, Detail: detail})
	}
}

func clipBytes(b []byte) string {
	if len(b) > 2000 {
		return string(b[:2000]) + "…"
	}
	return string(b)
}

// constraints lists strict references without a target, and unique values that are not their
// holders', or several documents'.
func (c *checker) checkGuards(out *Verified) error {
	for _, r := range c.plan.Model.Relations() {
		if !r.Strict {
			continue
		}
		if err := c.sc.Dangling(r.FullName(), r.To, maxListed, func(holder int64, target string) error {
			key, _, err := c.sc.KeyOf(holder)
			out.add(Wrong{Document: key.String(), Detail: fmt.Sprintf("refers to %s/%s by %s, which is strict, and it is not there", r.To, target, r.FullName())})
			return err
		}); err != nil {
			return err
		}
	}
	for _, col := range c.plan.Model.Collections {
		for _, path := range col.Unique {
			index := "unique " + col.Name + "." + path.String()
			if err := c.values(col.Name, path, index, func(*sqlite.Row, error) {}); err != nil {
				return err
			}
			if err := c.sc.CompareClaims(col.Name, path.String(), index, func(value, holder string, stored bool) error {
				detail := fmt.Sprintf("has %s %q, which is claimed by another document or by none", path, value[1:])
				if stored {
					detail = fmt.Sprintf("claims %s %q, which it does not have", path, value[1:])
				}
				out.add(Wrong{Document: col.Name + "/" + holder, Detail: detail})
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// readable lists documents whose referenced view is not JSON.
func (c *checker) readable(out *Verified) error {
	return c.scan(func(row *sqlite.Row) error {
		if err := jsondoc.Check(row.Source(), 10*fanfold.DefaultMaxDepth); err != nil {
			out.add(Wrong{Document: row.Key.String(), Detail: "the referenced view is not JSON: " + err.Error()})
		}
		return nil
	})
}
