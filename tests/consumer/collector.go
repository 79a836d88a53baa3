package consumer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
)

// Collector is what the members write to. It refuses a lease older than the newest that it has seen of a partition, as
// whoever must not be written to by a member that was frozen does.
type Collector struct {
	Mu      sync.Mutex
	newest  [Partitions]uint64
	Last    map[string]fanfold.Position // of each document: the newest change that was handled
	Times   map[string]int              // how often each change was handled
	Late    int                         // changes refused because their lease was old
	Wrong   []string
	Members map[string]bool // that have handled something
}

// ServeHTTP takes what a member has handled.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var h Handled
	if err := json.NewDecoder(r.Body).Decode(&h); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(c.take(h))
}

// Pushed is the name under which the nodes handle changes, by posts to TakePost.
const Pushed = "nodes"

// TakePost takes a batch that a node posts. One in ten is handled and has no answer, and one in ten fails.
func (c *Collector) TakePost(w http.ResponseWriter, r *http.Request) {
	var batch struct{ Results []handledRow }
	h := Handled{Member: Pushed}
	var err error
	if h.Partition, err = strconv.Atoi(r.Header.Get("Fanfold-Partition")); err == nil {
		h.Epoch, err = strconv.ParseUint(r.Header.Get("Fanfold-Epoch"), 10, 64)
	}
	if err = errors.Join(err, json.NewDecoder(r.Body).Decode(&batch)); err != nil {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		c.Wrong = append(c.Wrong, "a post: "+err.Error())
		return
	}
	h.Rows = batch.Results
	chance := rand.IntN(10)
	if chance == 0 {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	status := c.take(h)
	if chance == 1 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
}

// take records what was handled, and returns the answer's status: 409 for what came under an old lease.
func (c *Collector) take(h Handled) (status int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if h.Epoch < c.newest[h.Partition] {
		c.Late += len(h.Rows)
		return http.StatusConflict
	}
	c.newest[h.Partition] = h.Epoch
	c.Members[h.Member] = true
	for _, row := range h.Rows {
		at, err := fanfold.ParsePosition(row.Seq)
		if err != nil {
			c.Wrong = append(c.Wrong, err.Error())
		}
		if c.Times[row.Seq]++; c.Times[row.Seq] == 1 && at < c.Last[row.ID] {
			c.Wrong = append(c.Wrong, fmt.Sprintf("change %s of %s is handled first behind %s", row.Seq, row.ID, c.Last[row.ID]))
		}
		c.Last[row.ID] = max(c.Last[row.ID], at)
	}
	return http.StatusNoContent
}

// Handles tells whether a member has handled something.
func (c *Collector) Handles(member string) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Members[member]
}

// Count returns how many of the changes were never handled, and how many more than once. It is called with c.Mu held.
func (c *Collector) Count(rows []harness.Change) (missing, twice int) {
	for _, row := range rows {
		switch n := c.Times[row.Seq]; {
		case n == 0:
			missing++
		case n > 1:
			twice++
		}
	}
	return missing, twice
}
