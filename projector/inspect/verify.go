package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// verification is what a verification has found so far.
type verification struct{ Verified }

// maxListed is how many wrong values a verification lists; the rest is counted.
const maxListed = 1000

// Verify recomputes every derived value, the link index, the claims, the indexes and how many documents there are, and looks at the numbers of sequences, on one snapshot. It
// lists what differs from what the documents as written give, documents in order of creation. It tells progress, which may be nil, how far it is, and blocks
// for as long as that takes; reads and folding go on. The error is the read model's, or ctx's.
func Verify(ctx context.Context, store *sqlite.Store, progress fanfold.Progress) (found *Verified, err error) {
	sc, err := store.Scan()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sc.Close()) }()
	sc.EndWith(ctx)
	pl, err := fold.PlanOf(sc.Snapshot)
	if err == nil {
		err = pl.Known()
	}
	if err != nil {
		return nil, err
	}
	out := &verification{Verified{Position: fanfold.Bookmark{Position: sc.Checkpoint.At()}, Wrong: []Wrong{}}}
	c := newChecker(ctx, sc, pl, progress)
	documents, err := sc.Count(nil)
	if err != nil {
		return nil, err
	}
	c.work.begin("reading", documents)
	if err := c.listUnreadable(out); err != nil || len(out.Wrong) > 0 {
		return &out.Verified, err // nothing can be computed from what is not JSON
	}
	c.work.begin("linking", documents)
	if err := c.indexLinks(); err != nil {
		return nil, err
	}
	if err := sc.CompareLinks(func(d sqlite.LinkDifference) error { return out.addLink(sc, d) }); err != nil {
		return nil, err
	}
	if err := errors.Join(c.listBrokenGuards(out), c.listNumbers(out)); err != nil {
		return nil, err
	}
	indexes, err := out.verifyIndexes(sc, pl.Model)
	if err != nil {
		return nil, err
	}
	c.work.begin("comparing", documents)
	left := map[string]sqlite.Omission{}
	if err := c.eachRow(nil, func(row *sqlite.Row) error {
		want, omitted, err := c.expected(row, pl.Levels)
		if err != nil {
			return err
		}
		out.compare(pl, row, want, omitted)
		return errors.Join(addOmissions(left, omitted), indexes.enter(sc, row, want))
	}); err != nil {
		return nil, err
	}
	if err := errors.Join(out.compareOmissions(sc, left), out.compareIndexes(sc, indexes)); err != nil {
		return nil, err
	}
	return &out.Verified, sc.CompareCounts(func(name string, stored, counted int64) {
		out.add(Wrong{Document: name, Detail: fmt.Sprintf("the collection holds %d documents, where the read model has counted %d", counted, stored)})
	})
}

// compare lists how a document is stored otherwise than it should be.
func (v *verification) compare(pl *fold.Plan, row *sqlite.Row, want, omitted []byte) {
	v.Documents++
	if !bytes.Equal(row.Body, want) {
		v.addBody(pl, row, want)
	} else if source := jsondoc.MustParse(row.ReferencedText()); !row.Referenced.InFull() && !pl.Collection(row.Key.Collection).StoreSource(want, source).Equal(row.Referenced) {
		v.add(Wrong{Document: row.Key.String(), Detail: "the referenced view is not stored as it should be: " + clipBytes(row.ReferencedText())})
	}
	if !bytes.Equal(row.Omitted, omitted) {
		v.add(Wrong{Document: row.Key.String(), Detail: fmt.Sprintf("says that there is no room for %s, where it is for %s", orNothing(row.Omitted), orNothing(omitted))})
	}
}

// orNothing returns what a view leaves out, for a message.
func orNothing(omitted []byte) string {
	if omitted == nil {
		return "nothing"
	}
	return string(omitted)
}

// addOmissions adds what a view leaves out to the totals by rule.
func addOmissions(totals map[string]sqlite.Omission, omitted []byte) error {
	if omitted == nil {
		return nil
	}
	var byRule map[string]int64
	err := json.Unmarshal(omitted, &byRule)
	for rule, n := range byRule {
		totals[rule] = sqlite.Omission{Rule: rule, Documents: totals[rule].Documents + 1, Values: totals[rule].Values + n}
	}
	return err
}

// compareOmissions lists rules for which the read model has other totals of values without room.
func (v *verification) compareOmissions(sc *sqlite.Scanner, want map[string]sqlite.Omission) error {
	stored, err := sc.Omissions()
	for _, o := range stored {
		if want[o.Rule] != o {
			v.add(Wrong{Rule: o.Rule, Detail: fmt.Sprintf("there is no room for %d of its values in %d documents, where the read model has %d in %d",
				want[o.Rule].Values, want[o.Rule].Documents, o.Values, o.Documents)})
		}
		delete(want, o.Rule)
	}
	for _, o := range want {
		v.add(Wrong{Rule: o.Rule, Detail: fmt.Sprintf("there is no room for %d of its values in %d documents, which the read model does not have", o.Values, o.Documents)})
	}
	return err
}

// add lists a wrong value, or counts it where the list is full.
func (v *verification) add(w Wrong) {
	if len(v.Wrong) >= maxListed {
		v.More++
		return
	}
	v.Wrong = append(v.Wrong, w)
}

// addLink lists a difference of the link index.
func (v *verification) addLink(sc *sqlite.Scanner, d sqlite.LinkDifference) error {
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

// addBody lists how the embedded view of a document differs from the one that it should have, by rule.
func (v *verification) addBody(pl *fold.Plan, row *sqlite.Row, want []byte) {
	var stored jsondoc.Tree
	if jsondoc.Check(row.Body, fanfold.DefaultMaxDepth*4) != nil || stored.Parse(row.Body) != nil {
		v.add(Wrong{Document: row.Key.String(), Detail: "the embedded view is not JSON"})
		return
	}
	d := fold.Diff(row.Key.Collection, pl.Collection(row.Key.Collection).Shape, &stored, jsondoc.MustParse(want))
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

// clipBytes returns a text of at most 2000 bytes, and a mark where it was longer.
func clipBytes(b []byte) string {
	if len(b) > 2000 {
		return string(b[:2000]) + "…"
	}
	return string(b)
}

// listBrokenGuards lists strict references without a target, and claims of unique values that the documents do not
// have.
func (c *checker) listBrokenGuards(out *verification) error {
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
		for _, u := range col.Unique {
			if err := c.indexUnique(col.Name, []*model.Unique{u}, func(*sqlite.Row, error) {}); err != nil {
				return err
			}
			if err := c.sc.CompareClaims(col.Name, u.Name(), uniqueIndex(col.Name, u.Name()), func(value, holder string, stored bool) error {
				detail := fmt.Sprintf("has %s, which is claimed by another document or by none", u.Has(value))
				if stored {
					detail = fmt.Sprintf("claims %s, which it does not have", u.Has(value))
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

// listUnreadable lists documents whose referenced view is not JSON.
func (c *checker) listUnreadable(out *verification) error {
	return c.eachRow(nil, func(row *sqlite.Row) error {
		if err := jsondoc.Check(row.ReferencedText(), 10*fanfold.DefaultMaxDepth); err != nil {
			out.add(Wrong{Document: row.Key.String(), Detail: "the referenced view is not JSON: " + err.Error()})
		}
		return nil
	})
}
