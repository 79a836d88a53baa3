package model

import "github.com/fanfold/fanfold"

// Fanout counts the derived changes that writes cause: in all, by rule and by collection. Clients see what a write would
// cost before they send it, and a model limits it (FanoutLimit). A change that several rules cause counts once in Derived
// and once for each of these rules.
type Fanout struct {
	Position    fanfold.Bookmark `json:"position"` // of the prefix of the log that it was computed on
	Derived     int64            `json:"derived"`
	Rules       map[string]int64 `json:"rules"`
	Collections map[string]int64 `json:"collections"`
}
