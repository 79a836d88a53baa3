package consumer

import (
	"encoding/json"
	"fmt"
	"net/http"
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
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if h.Epoch < c.newest[h.Partition] {
		c.Late += len(h.Rows)
		w.WriteHeader(http.StatusConflict)
		return
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
	w.WriteHeader(http.StatusNoContent)
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
