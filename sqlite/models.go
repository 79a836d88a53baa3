package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/fanfold/fanfold"
)

// SetProposal records the last event about models, and the model that it announces, nil for none.
func (tx *Tx) SetProposal(seq uint64, source []byte) error {
	return tx.c.exec("INSERT INTO proposal (id, seq, source) VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, source = excluded.source", int64(seq), textValue(source))
}

// AddModel records the model that applies from the event at seq on, with the paths that stay
// reserved.
func (tx *Tx) AddModel(seq uint64, source []byte, reserved fanfold.Reserved) error {
	r, err := json.Marshal(reserved)
	if err != nil {
		return fmt.Errorf("reserved paths: %w", err)
	}
	return tx.c.exec("INSERT INTO model (seq, source, reserved) VALUES (?, ?, ?)", int64(seq), textValue(source), textValue(r))
}

// StoredModel is the model that applies, and the last event about models.
type StoredModel struct {
	Seq      uint64 // 0: none was applied
	Source   []byte
	Reserved fanfold.Reserved
	Last     uint64 // the last event about models; 0 for none
	Next     []byte // the model that Last announces; nil for none
}

// Model returns the model that applies and the one that is to come. Where no model was ever
// applied, Seq is 0.
func (s *Snapshot) Model() (m StoredModel, err error) {
	if _, err := s.c.queryRow("SELECT seq, source FROM proposal WHERE id = 1", func(r []sqlValue) {
		m.Last, m.Next = uint64(intOf(r[0])), bytesOf(r[1])
	}); err != nil {
		return m, err
	}
	var reserved string
	found, err := s.c.queryRow("SELECT seq, source, reserved FROM model ORDER BY seq DESC LIMIT 1", func(r []sqlValue) {
		m.Seq, m.Source, reserved = uint64(intOf(r[0])), bytesOf(r[1]), textOf(r[2])
	})
	if err != nil || !found {
		return m, err
	}
	if err := json.Unmarshal([]byte(reserved), &m.Reserved); err != nil {
		return m, fmt.Errorf("reserved paths of model %d: %w", m.Seq, err)
	}
	return m, nil
}
