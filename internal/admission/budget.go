// Package admission says what a process has for requests, and who gets it when: memory for bodies and answers, places for
// what takes long, and the time that clients have. It knows no HTTP.
package admission

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sending"
)

// Options are the sizes of a Budget.
type Options struct {
	Bodies     int64         // how many bytes of writes' bodies are in memory at a time, a quarter of them for small ones
	Sending    int64         // the size of Budget.Sending, in bytes; 0 for sending.DefaultBudget
	MaxWaiting int64         // how many writes wait for room, of small and of large ones each
	Patience   time.Duration // how long a request waits for room or for a place
	Grace      time.Duration // how long a body may pause, also before its first byte
}

// Budget is what a process has for requests. Its methods may be called from many goroutines.
type Budget struct {
	Sending *sending.Budget // for what is being sent; feeds take of it, too
	Turns   chan struct{}   // has an element for each large query that has its turn; a processor is left for everything else

	opt    Options
	rooms  [2]*room
	places [kinds]*slots
}

// readingRoom bounds the bodies of queries that are in memory, in bytes.
const readingRoom = 16 << 20

// NewBudget returns a budget that nobody has taken anything of.
func NewBudget(opt Options) *Budget {
	b := &Budget{opt: opt, Sending: sending.NewBudget(opt.Sending), Turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		rooms: [2]*room{Writes: newRoom(opt.Bodies), Reads: newRoom(readingRoom)}}
	for of := range b.places {
		b.places[of] = newSlots(placesOf[of], opt.Patience)
	}
	return b
}

// Kind is one of requests that take long.
type Kind int

// The kinds.
const (
	Imports Kind = iota
	Exports      // and whatever else reads much
	Previews
	Verifications
	Searches
	ReplicaChanges
	LargeQueries // those that look at many documents
	Updates      // of all documents that a filter matches
	Suggestions  // of models
	kinds
)

// Bounds of how many requests of a kind run at a time.
const (
	maxImports       = 4
	maxExports       = 4
	maxPreviews      = 4
	maxVerifications = 1
	maxSearches      = 1
	maxLargeQueries  = 4
	maxUpdates       = 2
	maxSuggestions   = 1
)

// placesOf has the bounds by kind.
var placesOf = [kinds]int{Imports: maxImports, Exports: maxExports, Previews: maxPreviews, Verifications: maxVerifications, Searches: maxSearches,
	ReplicaChanges: 1, LargeQueries: maxLargeQueries, Updates: maxUpdates, Suggestions: maxSuggestions}

// Applicant is who asks for a place.
type Applicant struct {
	Who  string
	Cut  func() // ends the request; nil for one that is not to be cut
	Body *Body  // holds the place while it comes, and is cut; nil for none
}

// Enter waits for a place of a kind. Senders that come too slowly make room meanwhile. After half of the wait a principal with more than
// half of the places makes room, too: its newest request is cut then. Call leave when done. The error is ctx's, or Busy where
// none came free in time.
func (b *Budget) Enter(ctx context.Context, of Kind, a Applicant) (leave func(), err error) {
	places := b.places[of]
	if a.Body == nil {
		return places.enter(ctx, a.Who, a.Cut)
	}
	free, err := places.enter(ctx, a.Who, func() { a.Body.Cut(ErrShare) })
	if err != nil {
		return nil, err
	}
	places.senders.add(a.Body, 1)
	return func() {
		places.senders.remove(a.Body)
		free()
	}, nil
}

// TryEnter returns what leaves the place that a principal takes, nil where none is free.
func (b *Budget) TryEnter(of Kind, who string) (leave func()) { return b.places[of].tryEnter(who) }

// EnterSoon waits a moment for a place of a kind, while the caller keeps what it has read. It returns what leaves the place, nil where none comes free. At
// most as many wait so as there are places.
func (b *Budget) EnterSoon(ctx context.Context, of Kind, who string) (leave func()) {
	return b.places[of].enterSoon(ctx, who)
}

// Supported returns err unless it says that a connection has no deadlines.
func Supported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// ErrShare ends what has more than its share. It is a Busy.
var ErrShare = fanfold.Errorf(fanfold.Busy, "others wait for a place, and your key has more than half of those there are: send fewer of these at once, and this one again")
