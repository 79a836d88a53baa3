package events

import "testing"

// TestNewStoreID checks that ids of new stores are valid, and that two are not the same.
func TestNewStoreID(t *testing.T) {
	if a, b := newStoreID(), newStoreID(); !a.Valid() || !b.Valid() || a == b {
		t.Errorf("new stores are %s and %s", a, b)
	}
}
