package client

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// positionRE is what a position looks like.
var positionRE = regexp.MustCompile(`^[0-9]{1,13}-[0-9]{1,7}(-[a-z2-7]{8}(-[0-9]{1,10})?)?$`)

// latestPosition is the newest position that a client has seen.
type latestPosition struct {
	mu sync.Mutex
	at string
}

// get returns the position, "" for none.
func (n *latestPosition) get() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.at
}

// see records a position of an answer. Answers to concurrent requests come in any order.
func (n *latestPosition) see(at string) {
	if at == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !before(at, n.at) {
		n.at = at
	}
}

// resume drops the position, which is another store's or was lost by a restore. A restored store says where its own begins.
func (n *latestPosition) resume(failure *Error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.at = ""
	at := failure.Oldest()
	if seq, _, store := parts(at); seq > 0 && store != "" {
		n.at = at
	}
}

// before tells whether position a is before position b of the same store. It is false where they cannot be compared.
func before(a, b string) bool {
	aSeq, aN, aStore := parts(a)
	bSeq, bN, bStore := parts(b)
	if b == "" || aStore != bStore {
		return false
	}
	return aSeq < bSeq || aSeq == bSeq && aN < bN
}

// parts returns what a position is made of.
func parts(position string) (seq, n uint64, store string) {
	s := strings.SplitN(position, "-", 4)
	seq, _ = strconv.ParseUint(s[0], 10, 64)
	if len(s) > 1 {
		n, _ = strconv.ParseUint(s[1], 10, 64)
	}
	if len(s) > 2 {
		store = s[2]
	}
	return seq, n, store
}
