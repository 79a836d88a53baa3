package fold_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
)

// TestExpressionsOfAVersion: what expressions give does not change without a new version of the fold, which goes on giving
// for events of earlier versions what these gave.
func TestExpressionsOfAVersion(t *testing.T) {
	of := map[int]string{8: "cel-go v0.32.0, cost 2", 9: "cel-go v0.32.0, cost 2, decimals 1"}
	if of[9] != expr.Version || !strings.HasPrefix(of[9], of[8]) {
		t.Errorf("expressions are %q, and those of the versions of the fold %v", expr.Version, of)
	}
}

// TestPlansOfVersions: a plan keeps the version of the one before it unless its model names another, and there is none of a
// version that the program does not know.
func TestPlansOfVersions(t *testing.T) {
	first, err := fold.NewPlan(model.Empty(), 0, nil)
	if err != nil || first.Version != fold.OldestVersion || first.Model.Fold != fold.OldestVersion {
		t.Fatalf("the first plan is %+v, %v", first, err)
	}
	m := model.Empty()
	m.Fold = fold.LatestVersion
	newest, err := first.Follow(m, 1)
	if err != nil || newest.Next.Version != fold.LatestVersion {
		t.Fatalf("the newest plan is %+v, %v", newest, err)
	}
	if next, err := newest.Next.Follow(model.Empty(), 2); err != nil || next.Next.Version != fold.LatestVersion || next.Next.Seq != 2 {
		t.Errorf("the plan behind it is %+v, %v", next, err)
	}
	for _, version := range []int{fold.OldestVersion - 1, fold.LatestVersion + 1, -1} {
		m := model.Empty()
		m.Fold = version
		if _, err := first.Follow(m, 1); fanfold.CodeOf(err) != fanfold.Unavailable {
			t.Errorf("version %d: %v", version, err)
		}
	}
}
