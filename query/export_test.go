package query

import (
	"testing"
	"time"
)

// Wait blocks for longer than Run reads a snapshot.
func Wait(t *testing.T) {
	t.Helper()
	time.Sleep(shortTime + 10*time.Millisecond)
}

// Forge returns a cursor with another place. ok is false for a text that is no cursor.
func Forge(text string, key []byte, tie int64) (forged string, ok bool) {
	c, ok := decodeCursor(text)
	if !ok {
		return "", false
	}
	c.key, c.tie = key, tie
	return c.encode(), true
}
