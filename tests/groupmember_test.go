package tests

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

// groupMemberEnv makes the test binary a member of a consumer group: it has the member's name, where it reports what it handles,
// and the URLs of the nodes, with spaces between them.
const groupMemberEnv = "FANFOLD_TEST_GROUP_MEMBER"

// The group of TestGroupUnderChaos.
const (
	chaosGroup      = "/v1/_groups/chaos"
	chaosPartitions = 16
	chaosLease      = 2 * time.Second
)

// handled is what a member has handled: rows of one partition, under a lease with the number Epoch.
type handled struct {
	Member    string
	Partition int
	Epoch     uint64
	Rows      []handledRow
}

type handledRow struct{ Seq, ID string }

// groupMember is a member that asks any node at random.
type groupMember struct {
	name, report string
	nodes        []string
	http         http.Client
	leases       []groupLease
	asked        time.Time // when it asked for leases

	mu   sync.Mutex
	last map[string]string // what it was answered last to each kind of request
}

// runGroupMember runs a member until the process is killed.
func runGroupMember(setting string) int {
	parts := strings.Fields(setting)
	m := groupMember{name: parts[0], report: parts[1], nodes: parts[2:], http: http.Client{Timeout: 10 * time.Second}}
	for {
		if os.Getppid() == 1 { // the test has ended
			return 0
		}
		if time.Since(m.asked) > chaosLease/4 || len(m.leases) == 0 {
			m.lease()
		}
		idle := true
		for _, l := range m.leases {
			idle = !m.handle(l, "&limit=50") && idle
		}
		if idle && len(m.leases) > 0 {
			m.handle(m.leases[rand.IntN(len(m.leases))], "&limit=50&feed=longpoll&timeout=100")
		}
	}
}

// send sends a request and decodes the answer into out, if that is not nil. It returns the answer's status, 0 for none.
func (m *groupMember) send(method, url string, body, out any) int {
	text, err := json.Marshal(body)
	if err != nil {
		return 0
	}
	req, err := http.NewRequest(method, url, bytes.NewReader(text)) //nolint:noctx // the process is killed
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.http.Do(req)
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
func (m *groupMember) note(kind, answer string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		m.last = map[string]string{}
	}
	m.last[kind] = answer
}

// answers returns what was answered last to each kind of request.
func (m *groupMember) answers() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Values(m.last)), "\n")
}

// node returns a node's URL with a path of the group.
func (m *groupMember) node(path string) string {
	return m.nodes[rand.IntN(len(m.nodes))] + chaosGroup + "/" + path
}

// lease asks for leases, and releases those that are not among them any more.
func (m *groupMember) lease() {
	m.asked = time.Now()
	var out struct{ Leases []groupLease }
	if m.send("POST", m.node("_lease"), map[string]any{"member": m.name}, &out) != http.StatusOK {
		return
	}
	kept := map[string]bool{}
	for _, l := range out.Leases {
		kept[l.Token] = true
	}
	for _, l := range m.leases {
		if !kept[l.Token] {
			m.send("POST", m.node("_release"), map[string]any{"partition": l.Partition, "token": l.Token}, nil)
		}
	}
	m.leases = out.Leases
}

// handle reads a batch, reports it and acknowledges it. It returns false where there was none.
func (m *groupMember) handle(l groupLease, query string) bool {
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
	h := handled{Member: m.name, Partition: l.Partition, Epoch: epoch}
	for _, row := range batch.Results {
		h.Rows = append(h.Rows, handledRow{row.Seq, row.ID})
	}
	if m.send("POST", m.report, h, nil) == http.StatusNoContent {
		m.send("POST", m.node("_ack"), map[string]any{"partition": l.Partition, "token": l.Token, "position": batch.LastSeq}, nil)
	}
	return true
}
