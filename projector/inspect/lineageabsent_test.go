package inspect

import (
	"testing"
	"time"
)

// TestLineageExplainsBriefly: a lineage that has looked for long at why there is no value looks at no other document.
func TestLineageExplainsBriefly(t *testing.T) {
	t.Parallel()
	l := &lineage{}
	if l.late() || !l.until.After(time.Now()) {
		t.Errorf("it ends at %v", l.until)
	}
	l.until = time.Now().Add(-1)
	if why, err := l.whyNot(nil, ValueSource{Revision: 1}); why != notExplained || err != nil {
		t.Errorf("%q, %v", why, err)
	}
}
