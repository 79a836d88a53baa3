//go:build nextfold

package fold

import (
	"bytes"

	"github.com/fanfold/fanfold/model"
)

// LatestVersion is the last version of the fold that this program knows. Version 10 is there for tests of the change from one
// version to the next: a text that a copy shows ends without the spaces at its end.
const LatestVersion = trimmed

// trimmed is the version from which on copies are without spaces at their end.
const trimmed = 10

// differs reports whether a rule may give another value under one version of the fold than under another.
func differs(r *Rule, from, to int) bool {
	return differsByNumbers(r, from, to) || (from < trimmed) != (to < trimmed) && r.Kind == model.Copy
}

// copied returns the value that a copy shows, where raw is what its expression gave.
func (r *Rule) copied(raw []byte) []byte {
	if r.version < trimmed || len(raw) < 2 || raw[0] != '"' {
		return raw
	}
	text := bytes.TrimRight(raw[:len(raw)-1], " ")
	if len(text) == len(raw)-1 {
		return raw
	}
	return append(bytes.Clone(text), '"')
}
