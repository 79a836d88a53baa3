package fanfold

import "encoding/json"

// GivenNumbers is what the Body of a sequence event says.
type GivenNumbers struct {
	Last uint64 `json:"last"` // the last number given
	// Rest is how many events follow that were stored at once with this one. Some of them write the documents that have the numbers.
	Rest int `json:"rest"`
}

// Given returns what a sequence event says. The error is Invalid.
func (ev *Event) Given() (g GivenNumbers, err error) {
	if err := json.Unmarshal(ev.Body, &g); err != nil || g.Rest < 0 {
		return g, Errorf(Invalid, "the event's payload is a sequence without numbers")
	}
	return g, nil
}

// Counter tells the last number that documents of a collection got at a path, for one value of the sequence's per.
type Counter struct {
	Collection string  `json:"collection" ref:"CollectionName"`
	Path       string  `json:"path"`
	Key        string  `json:"-"` // in place of the value
	Per        *string `json:"per,omitempty" doc:"The value of per; absent where the sequence has none, or where no document tells it any more."`
	Last       uint64  `json:"last" doc:"The last number given."`
}
