package inspect

import "github.com/fanfold/fanfold/internal/reports"

type (
	// Lineage says where the derived values of a document come from and go.
	Lineage = reports.Lineage
	// DerivedValue says where one of them comes from.
	DerivedValue = reports.DerivedValue
	// ValueSource names a document that a value is made of.
	ValueSource = reports.ValueSource
	// Origin names the change that gave a value.
	Origin = reports.Origin
	// Copies names the documents that carry something of this one.
	Copies = reports.Copies
	// Unguarded names a unique declaration without effect on a document.
	Unguarded = reports.Unguarded
	// Verified says what a verification found.
	Verified = reports.Verified
	// Wrong names one wrong value.
	Wrong = reports.Wrong
)
