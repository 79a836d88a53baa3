package model

// The limits of models, and of what documents hold by them.
const (
	MaxUniqueLen         = 1025      // of a unique value and the letter for its kind, in bytes
	MaxRelationIDs       = 1000      // that one document holds by one relation
	MaxDerivedIDs        = 100       // the same if rules give the ids: one write may change the ids of very many documents
	DefaultIDsLimit      = 1000      // of a field of kind IDs, where the model does not say
	DefaultEmbeddedLimit = 16 << 20  // bytes of an embedded view, where the model does not say
	MaxEmbeddedLimit     = 64 << 20  // that a model can set
	DefaultFanoutLimit   = 1_000_000 // of the derived changes that one write causes, where the model does not say
)
