package servers

import (
	"testing"
	"time"
)

// TestReconnectDelay: the pause grows to a bound, and is different each time.
func TestReconnectDelay(t *testing.T) {
	different := map[time.Duration]bool{}
	for attempt := range 200 {
		d := reconnectDelay(attempt)
		if d < firstReconnect/2 || d > lastReconnect {
			t.Fatalf("the pause before attempt %d is %v", attempt, d)
		}
		if attempt > 10 && d < lastReconnect/2 {
			t.Fatalf("the pause before attempt %d is %v, less than half of %v", attempt, d, lastReconnect)
		}
		different[d] = true
	}
	if len(different) < 100 {
		t.Fatalf("200 pauses were of %d lengths", len(different))
	}
}

// TestShownURLs: of a URL nothing is shown that could be a secret.
func TestShownURLs(t *testing.T) {
	const got = "nats://a:4222, tls://b:4222, (a URL that cannot be read)"
	if shown := ShownURLs("nats://user:pass@a:4222, tls://token@b:4222?x=y#z,nats://u:p@%zz"); shown != got {
		t.Fatalf("shown as %s", shown)
	}
}
