package events

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestReadAck: the answers of a stream, as a server of version 2.15 writes them, and what is none.
func TestReadAck(t *testing.T) {
	for text, want := range map[string]pubAck{
		`{"stream":"fanfold", "seq":22}`:                              {seq: 22},
		`{"stream":"fanfold", "seq":22,"duplicate": true}`:            {seq: 22, duplicate: true},
		`{"stream":"fanfold", "domain":"d", "seq":7}`:                 {seq: 7},
		`{"stream":"fanfold", "seq":22,"batch":"x\u00e9","count":12}`: {seq: 22, batch: "xé", count: 12},
	} {
		if got, err := readAck([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	var api *jetstream.APIError
	_, err := readAck([]byte(`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"},"stream":"fanfold","seq":0}`))
	if !errors.As(err, &api) || api.ErrorCode != codeWrongLastSequence {
		t.Errorf("a refusal is %v", err)
	}
	for _, text := range []string{``, `{`, `[]`, `{}`, `{"seq":-1}`, `{"seq":"x"}`, `{"seq":0}`, `{"error":3}`, `{"seq":1,"batch":"x"}`} {
		if got, err := readAck([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
