package inspect

import (
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// standingNumber is a number of a sequence that stands in a document.
type standingNumber struct {
	sequence *model.Sequence
	row      *sqlite.Row
	tree     *jsondoc.Tree // of the row's document
	number   uint64
	per, key string // of its counter
	last     uint64 // the last number that the counter gave; 0 for none
}

// given tells whether the sequence gave the number. Others are from before it was declared as it is.
func (n *standingNumber) given() bool { return n.number >= n.sequence.Start }

// eachNumber calls fn for each number of sequences that stands in a document of their collection.
func (c *checker) eachNumber(collection string, all []*model.Sequence, fn func(n standingNumber) error) error {
	if len(all) == 0 {
		return nil
	}
	return c.eachRow([]string{collection}, func(row *sqlite.Row) error {
		t := jsondoc.MustParse(row.ReferencedText())
		for _, s := range all {
			number, per, ok := s.NumberIn(t)
			if !ok {
				continue
			}
			n := standingNumber{sequence: s, row: row, tree: t, number: number, per: per, key: s.Key(per)}
			var err error
			if n.last, _, err = c.sc.Sequence(collection, n.key); err == nil {
				err = fn(n)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// standingNumbers returns a problem for each sequence of a collection whose start is not above a number that stands in a document and was not
// given by it. For a sequence that is declared again it names only what its counter could give.
func (c *checker) standingNumbers(collection string, pairs []model.SequencePair) (problems []fanfold.Problem, err error) {
	all, before := make([]*model.Sequence, len(pairs)), map[*model.Sequence]model.SequencePair{}
	for i, p := range pairs {
		all[i], before[p.Next] = p.Next, p
	}
	greatest := map[*model.Sequence]standingNumber{}
	if err := c.eachNumber(collection, all, func(n standingNumber) error {
		p := before[n.sequence]
		foreign := n.number > n.last || p.Prev != nil && !p.Gave(n.tree, n.number, n.per)
		if n.given() && foreign && n.number > greatest[n.sequence].number {
			greatest[n.sequence] = n
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for _, s := range all {
		if n, stands := greatest[s]; stands {
			problems = append(problems, fanfold.Problem{Path: model.SequencePath(collection, s) + ".start",
				Detail: fmt.Sprintf("is %d, and %s has %d, the greatest number that stands there: begin above it", s.Start, n.row.Key, n.number)})
		}
	}
	return problems, nil
}

// listNumbers lists numbers that stand in two documents, or are greater than the last one that their counter gave.
func (c *checker) listNumbers(out *verification) error {
	for _, col := range c.plan.Model.Collections {
		if err := c.eachNumber(col.Name, col.Sequences, func(n standingNumber) error {
			if !n.given() {
				return nil
			}
			if n.number > n.last {
				out.add(Wrong{Document: n.row.Key.String(), Detail: fmt.Sprintf("has number %d at %s, where the last one that was given is %d", n.number, n.sequence.Path, n.last)})
			}
			return c.sc.AddLink(numberIndex(col.Name, n.sequence), n.key+strconv.FormatUint(n.number, 10), n.row.Number)
		}); err != nil {
			return err
		}
		for _, s := range col.Sequences {
			if err := c.sc.Shared(numberIndex(col.Name, s), maxListed, func(_ string, first, second int64) error {
				a, _, err := c.sc.KeyOf(first)
				if err != nil {
					return err
				}
				b, _, err := c.sc.KeyOf(second)
				out.add(Wrong{Document: b.String(), Detail: fmt.Sprintf("has the number at %s that %s has", s.Path, a)})
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// numberIndex names the private index of a sequence's numbers.
func numberIndex(collection string, s *model.Sequence) string {
	return fold.UniquePath(collection) + " number " + s.Path.String()
}
