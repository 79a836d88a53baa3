package inspect

import "github.com/fanfold/fanfold/internal/wire"

type (
	// Lineage says where the derived values of a document come from and go.
	Lineage = wire.Lineage
	// DerivedValue says where one of them comes from.
	DerivedValue = wire.DerivedValue
	// ValueSource names a document that a value is made of.
	ValueSource = wire.ValueSource
	// Origin names the change that gave a value.
	Origin = wire.Origin
	// Copies names the documents that carry something of this one.
	Copies = wire.Copies
	// Unguarded names a unique declaration without effect on a document.
	Unguarded = wire.Unguarded
	// Verified says what a verification found.
	Verified = wire.Verified
	// Wrong names one wrong value.
	Wrong = wire.Wrong
)
