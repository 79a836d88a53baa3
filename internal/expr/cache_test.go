package expr

import (
	"fmt"
	"strings"
	"testing"
)

// TestProgramsAreKept: what was checked is not compiled again when the model is folded, and what is kept is bounded.
func TestProgramsAreKept(t *testing.T) {
	const source = `doc.a + "kept"`
	if _, err := Check(source); err != nil {
		t.Fatal(err)
	}
	first, err := Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Compile(source); again != first || err != nil {
		t.Errorf("it was compiled again: %v", err)
	}
	for i := range 100 {
		if _, err := Compile(fmt.Sprintf(`"%d%s"`, i, strings.Repeat("a", 3000))); err != nil {
			t.Fatal(err)
		}
	}
	compiled.mu.Lock()
	defer compiled.mu.Unlock()
	size := 0
	for source := range compiled.programs {
		size += len(source)
	}
	if size != compiled.size || size > maxCached {
		t.Errorf("%d bytes are kept, %d counted", size, compiled.size)
	}
}
