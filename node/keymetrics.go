package node

import "strings"

// keyMetrics registers what is about keys, and about whoever sends them.
func (n *Node) keyMetrics(m *instruments) {
	if n.keys == nil { // a rescue has one key, and no store of keys
		return
	}
	for result := range n.keys.Results() {
		m.counter("fanfold_auth_requests_total", "Requests to a closed house, by what became of their credentials.",
			func() uint64 { return n.keys.Results()[result] }, "result", result)
	}
	m.gauge("fanfold_keys", "Keys that there are, revoked ones included.", func() float64 { return float64(n.keys.Len()) })
	m.gauge("fanfold_keys_age_seconds", "Time since this node last read the keys. A closed house lets nobody in beyond --max-auth-age.",
		func() float64 { return n.keys.Age().Seconds() })
}

// countDenied makes the series of denied requests, one for each path of some routes, so that their first request is counted as a
// step from 0.
func (m *instruments) countDenied(routes []string) {
	for _, route := range routes {
		_, path, _ := strings.Cut(route, " ")
		m.denied.WithLabelValues(path)
	}
}

// deniedOn counts a request whose sender lacks a right.
func (m *instruments) deniedOn(route string) { m.denied.WithLabelValues(route).Inc() }
