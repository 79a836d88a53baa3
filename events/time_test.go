package events

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
)

// TestTimes: a header has the time of a restored event, in one form alone.
func TestTimes(t *testing.T) {
	server := time.Unix(7, 7)
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(0, 1), time.Unix(1764115078, 123456789), time.Unix(0, 1<<63-1)} {
		if got, err := timeOf(server, nats.Header{headerTime: {formatTime(at)}}); err != nil || !got.Equal(at) {
			t.Errorf("%v came back as %v, %v", at, got, err)
		}
	}
	if got, err := timeOf(server, nats.Header{}); err != nil || got != server {
		t.Errorf("without a header the time is %v, %v", got, err)
	}
	for _, bad := range [][]string{{""}, {"x"}, {"-1"}, {"+1"}, {"01"}, {"1.5"}, {" 1"}, {"9223372036854775808"}, {"1", "1"}} {
		if got, err := timeOf(server, nats.Header{headerTime: bad}); fanfold.CodeOf(err) != fanfold.Invalid || got != server {
			t.Errorf("%q is read as %v, %v", bad, got, err)
		}
	}
	with, _ := digest(nil, 1, server, "s", nats.Header{headerTime: {"5"}, headerKey: {"k"}}, []byte("p"))
	without, _ := digest(nil, 1, server, "s", nats.Header{headerKey: {"k"}}, []byte("p"))
	if with != without {
		t.Error("the header is a part of the digest")
	}
}
