package wire

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/fanfold/fanfold"
)

// Need tells of something that somebody should see to.
type Need struct {
	What   string `json:"what"`
	Detail string `json:"detail" doc:"Why, or how far it is."`
	Place  string `json:"place,omitempty" doc:"The path after /v1 where it shows, such as /_status or /_groups/mail."`
	Role   string `json:"-"` // that a reader needs to be told of it; "" for every reader of a status
}

// MaxNeeds is how many needs a status lists.
const MaxNeeds = 100

// Bounds from which queries of a shape need an index.
const (
	inVain = 1000 // documents that they have looked at in vain
	often  = 3    // queries, without those that somebody typed into the console
)

// Places where needs show.
const (
	statusPlace = "/_status"
	modelPlace  = "/_model"
)

// NeedsOf returns what a status has that needs attention, the most important first, and at most MaxNeeds. A node that is not ready
// has stopped, with the reason. Consumer groups have needs of their own. Whatever a reader may not know is to be out of all before.
func NeedsOf(s *Status, stopped error, groups []Need) []Need {
	var list []Need
	add := func(place, what, detail string) {
		list = append(list, Need{What: what, Detail: detail, Place: place})
	}
	if stopped != nil {
		add(statusPlace, "This node is not ready", fanfold.MessageOf(stopped))
	}
	if s.LogError != "" {
		add(statusPlace, "The log", s.LogError)
	}
	if e := s.Stopped; e != nil {
		add(statusPlace, fmt.Sprintf("The projector has stopped at event %d", e.Seq), e.Reason)
	}
	for _, n := range s.Nodes {
		switch {
		case n.Self || !n.Live:
		case n.Error != "":
			add(statusPlace, fmt.Sprintf("Node %s at %s", n.ID, n.Address), n.Error)
		case !n.Ready:
			add(statusPlace, fmt.Sprintf("Node %s at %s", n.ID, n.Address), "is not ready")
		}
	}
	if s.Preparing != nil {
		add(modelPlace, "A model is being prepared", s.Preparing.text())
	}
	list = append(list, groups...)
	for _, e := range s.RuleErrors {
		add(placeOf(e.Document), "Rule "+e.Rule, strings.TrimSuffix(fmt.Sprintf("failed %s: %s", Counted(e.Count, "time", "times"), e.Error), ": "))
	}
	for _, q := range s.Queries {
		if q.Suggest != nil && q.Wasted() >= inVain && q.Often() {
			add(statusPlace, fmt.Sprintf("Queries of %s need an index", q.Collection), q.text())
		}
	}
	if more := len(list) - MaxNeeds; more > 0 {
		list = append(list[:MaxNeeds-1:MaxNeeds-1], Need{What: fmt.Sprintf("%d more", more+1), Detail: "They are not listed.", Place: statusPlace})
	}
	return list
}

// placeOf returns the place of a document by its key, such as books/b1, "" for a text that is none.
func placeOf(key string) string {
	collection, id, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return "/" + url.PathEscape(collection) + "/" + url.PathEscape(id)
}

// Counted returns a number with what is counted.
func Counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
