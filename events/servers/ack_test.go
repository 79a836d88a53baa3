package servers

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestReadAck: the answers of a stream, as a server of version 2.15 writes them, and what is none.
func TestReadAck(t *testing.T) {
	for text, want := range map[string]Ack{
		`{"stream":"fanfold", "seq":22}`:                              {Seq: 22},
		`{"stream":"fanfold", "seq":22,"duplicate": true}`:            {Seq: 22, Duplicate: true},
		`{"stream":"fanfold", "domain":"d", "seq":7}`:                 {Seq: 7},
		`{"stream":"fanfold", "seq":22,"batch":"x\u00e9","count":12}`: {Seq: 22, Batch: "xé", Count: 12},
	} {
		if got, err := readAck([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	var api *jetstream.APIError
	_, err := readAck([]byte(`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"},"stream":"fanfold","seq":0}`))
	if !errors.As(err, &api) || api.ErrorCode != CodeWrongLastSequence {
		t.Errorf("a refusal is %v", err)
	}
	for _, text := range []string{``, `{`, `[]`, `{}`, `{"seq":-1}`, `{"seq":"x"}`, `{"seq":0}`, `{"error":3}`, `{"seq":1,"batch":"x"}`} {
		if got, err := readAck([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
