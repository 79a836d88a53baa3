package inspect

import (
	"errors"

	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// countKeptValues tells what becomes of values that stay on documents, and notes those that would be lost although nobody
// releases them. The error is the read model's.
func (v *previewer) countKeptValues(s *sqlite.Snapshot) error {
	for _, o := range v.change.KeptValues {
		outcome := o.Outcome()
		if outcome == "" {
			continue
		}
		n, err := s.CountKeptValues(o.Name())
		if err != nil {
			return err
		}
		if n > 0 {
			v.out.Kept = append(v.out.Kept, model.KeptValuesPreview{Rule: o.Name(), Values: n, Kind: o.Kind(), Outcome: outcome})
		}
	}
	lost, err := v.change.LostUnreleased(s)
	v.out.Problems = append(v.out.Problems, lost...)
	return err
}

// checkRetired notes documents that have members of their own where removed rules that come with the model reserve them. The
// error is the read model's.
func (v *previewer) checkRetired(sc *sqlite.Scanner) error {
	for _, k := range v.change.NewlyRetired() {
		err := sc.EachRow([]string{k.Collection}, func(row *sqlite.Row) error {
			p, found := fold.HidesOwn(k, row)
			if !found {
				return nil
			}
			v.out.Problems = append(v.out.Problems, p)
			return errFound
		})
		if err != nil && !errors.Is(err, errFound) {
			return err
		}
	}
	return nil
}

// errFound ends a walk at what it looks for.
var errFound = errors.New("found")
