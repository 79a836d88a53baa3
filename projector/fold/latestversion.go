//go:build !nextfold

package fold

// LatestVersion is the last version of the fold that this program knows.
const LatestVersion = decimals

// differs reports whether a rule may give another value under one version of the fold than under another.
func differs(r *Rule, from, to int) bool { return differsByNumbers(r, from, to) }

// copied returns the value that a copy shows, where raw is what its expression gave.
func (r *Rule) copied(raw []byte) []byte { return raw }
