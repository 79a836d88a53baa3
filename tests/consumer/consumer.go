// Package consumer has a member of a consumer group that is a process of its own, and what it reports to.
package consumer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// Env makes the test binary a member of a consumer group. It has the member's name, where it reports what it handles, and the URLs of the
// nodes, with spaces between them.
const Env = "FANFOLD_TEST_GROUP_MEMBER"

// The group of TestGroupUnderChaos.
const (
	Group      = "/v1/_groups/chaos"
	Partitions = 16
	Lease      = 2 * time.Second
)

// Member is a member that asks any node at random.
type Member struct {
	Name, Report string
	Nodes        []string
	HTTP         http.Client
	Leases       []harness.GroupLease
	Asked        time.Time // when it asked for leases

	mu   sync.Mutex
	last map[string]string // what it was answered last to each kind of request
}

// send sends a request and decodes the answer into out, if that is not nil. It returns the answer's status, 0 for none.
func (m *Member) send(method, url string, body, out any) int {
	text, err := json.Marshal(body)
	if err != nil {
		return 0
	}
	req, err := http.NewRequest(method, url, bytes.NewReader(text)) //nolint:noctx // the process is killed
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.HTTP.Do(req)
	if err != nil {
		m.note(method+" "+path.Base(req.URL.Path), fmt.Sprintf("%v %s: %v", time.Now().Format(time.TimeOnly), req.URL, err))
		return 0
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	m.note(method+" "+path.Base(req.URL.Path), fmt.Sprintf("%v %s: %d %.300s, %v", time.Now().Format(time.TimeOnly), req.URL, resp.StatusCode, answer, err))
	if err != nil || out != nil && resp.StatusCode == http.StatusOK && json.Unmarshal(answer, out) != nil {
		return 0
	}
	return resp.StatusCode
}

// note keeps an answer to a kind of request.
func (m *Member) note(kind, answer string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		m.last = map[string]string{}
	}
	m.last[kind] = answer
}

// Answers returns what was answered last to each kind of request.
func (m *Member) Answers() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Values(m.last)), "\n")
}

// node returns a node's URL with a path of the group.
func (m *Member) node(path string) string {
	return m.Nodes[rand.IntN(len(m.Nodes))] + Group + "/" + path
}

// Lease asks for leases, and releases those that are not among them any more.
func (m *Member) Lease() {
	m.Asked = time.Now()
	var out struct{ Leases []harness.GroupLease }
	if m.send("POST", m.node("_lease"), map[string]any{"member": m.Name}, &out) != http.StatusOK {
		return
	}
	kept := map[string]bool{}
	for _, l := range out.Leases {
		kept[l.Token] = true
	}
	for _, l := range m.Leases {
		if !kept[l.Token] {
			m.send("POST", m.node("_release"), map[string]any{"partition": l.Partition, "token": l.Token}, nil)
		}
	}
	m.Leases = out.Leases
}

// Handle reads a batch, reports it and acknowledges it. It returns false where there was none.
func (m *Member) Handle(l harness.GroupLease, query string) bool {
	var batch struct {
		Results []harness.Change
		LastSeq string `json:"last_seq"`
	}
	if m.send("GET", m.node(fmt.Sprintf("_changes?partition=%d&token=%s%s", l.Partition, l.Token, query)), nil, &batch) != http.StatusOK || len(batch.Results) == 0 {
		return false
	}
	number, _, _ := strings.Cut(l.Token, "-")
	epoch, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return false
	}
	h := Handled{Member: m.Name, Partition: l.Partition, Epoch: epoch}
	for _, row := range batch.Results {
		h.Rows = append(h.Rows, handledRow{row.Seq, row.ID})
	}
	if m.send("POST", m.Report, h, nil) == http.StatusNoContent {
		m.send("POST", m.node("_ack"), map[string]any{"partition": l.Partition, "token": l.Token, "position": batch.LastSeq}, nil)
	}
	return true
}

// Run runs a member until the process is killed.
func Run(setting string) int {
	parts := strings.Fields(setting)
	m := Member{Name: parts[0], Report: parts[1], Nodes: parts[2:], HTTP: http.Client{Timeout: 10 * time.Second}}
	for {
		if os.Getppid() == 1 { // the test has ended
			return 0
		}
		if time.Since(m.Asked) > Lease/4 || len(m.Leases) == 0 {
			m.Lease()
		}
		idle := true
		for _, l := range m.Leases {
			idle = !m.Handle(l, "&limit=50") && idle
		}
		if idle && len(m.Leases) > 0 {
			m.Handle(m.Leases[rand.IntN(len(m.Leases))], "&limit=50&feed=longpoll&timeout=100")
		}
	}
}

// Handled is what a member has handled: rows of one partition, under a lease with the number Epoch.
type Handled struct {
	Member    string
	Partition int
	Epoch     uint64
	Rows      []handledRow
}

type handledRow struct{ Seq, ID string }
