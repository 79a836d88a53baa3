package group

import (
	"time"
)

// member is one of a group's members.
type member struct {
	Name    string    `json:"name"`
	Expires time.Time `json:"expires"`
	Max     int       `json:"max,omitempty"` // the most partitions that it wants; 0 for any number
}

// members are a group's members, in the order in which they came: the value of one key.
type members []member

// join returns the members with one that is here until a time, without those whose time is over. The time of others ends then, too,
// where a clock that was ahead has given them more. changed is false where nothing is to be written.
func (m members) join(name string, most int, now, until time.Time) (out members, changed bool) {
	found := false
	for _, one := range m {
		switch {
		case one.Name == name:
			found = true
			if one.Max != most || mayRenew(one.Expires, now, until) {
				one.Max, one.Expires, changed = most, until, true
			}
		case !now.Before(one.Expires):
			changed = true
			continue
		case isOverlong(one.Expires, now, until.Sub(now)):
			one.Expires, changed = until, true
		}
		out = append(out, one)
	}
	if !found {
		out, changed = append(out, member{name, until, most}), true
	}
	return out, changed
}

// leave returns the members without one. changed is false where it was not there.
func (m members) leave(name string) (out members, changed bool) {
	for _, one := range m {
		if one.Name != name {
			out = append(out, one)
		}
	}
	return out, len(out) < len(m)
}

// mayRenew reports whether a write is worth it that moves an end from expires to until. It is once a quarter of the time is
// over, or if more is left than there can be: a clock was set back.
func mayRenew(expires, now, until time.Time) bool {
	whole := until.Sub(now)
	left := expires.Sub(now)
	return left < whole-whole/4 || left > whole
}

// quota returns how many of n partitions a member may hold. All quotas together are n, or what the members want at most where
// that is less. Nobody has more than its share by more than one, unless others want less: those who came first have the
// one more.
func (m members) quota(name string, n int) int {
	quotas := make(map[string]int, len(m))
	open := append(members(nil), m...)
	for len(open) > 0 {
		share, rest := n/len(open), open[:0:0]
		for _, one := range open {
			if one.Max > 0 && one.Max <= share {
				quotas[one.Name] = one.Max
			} else {
				rest = append(rest, one)
			}
		}
		if len(rest) == len(open) {
			for i, one := range open {
				quotas[one.Name] = share
				if i < n%len(open) {
					quotas[one.Name]++
				}
			}
			break
		}
		for _, one := range open {
			n -= quotas[one.Name]
		}
		open = rest
	}
	return quotas[name]
}
