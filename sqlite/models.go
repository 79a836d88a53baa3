package sqlite

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// SetProposal records the last event about models, and the model that it announces, nil for none, with the fold version
// that comes with it, 0 for none. actor is the event's.
func (tx *Tx) SetProposal(seq uint64, source []byte, version int, actor string) error {
	return tx.c.Exec("INSERT INTO proposal (id, seq, source, fold, actor) VALUES (1, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, source = excluded.source, fold = excluded.fold, actor = excluded.actor",
		int64(seq), driver.Text(source), int64(version), nullableText(actor))
}

// AddModel records the model that applies from the event at seq on, under a version of the fold. It also records the
// paths that stay reserved, and the rules whose kept values stay stored. now is the log's time.
func (tx *Tx) AddModel(seq uint64, now time.Time, m *model.Model, reserved model.Reserved, retired model.Retired) error {
	paths, err := json.Marshal(reserved)
	if err != nil {
		return fmt.Errorf("reserved paths: %w", err)
	}
	rules, err := json.Marshal(retired)
	if err != nil {
		return fmt.Errorf("retired rules: %w", err)
	}
	if err := NameRules(tx, m); err != nil {
		return err
	}
	return tx.c.Exec("INSERT INTO model (seq, time, source, fold, reserved, retired) VALUES (?, ?, ?, ?, ?, ?)",
		int64(seq), now.UnixNano(), driver.Text(m.Source), int64(m.Fold), driver.Text(paths), driver.Text(rules))
}

// NameRules gives the relations and rules of a model their numbers, in order of name.
func NameRules(tx *Tx, m *model.Model) error {
	var names []string
	for _, r := range m.Relations() {
		names = append(names, r.FullName())
	}
	for _, r := range m.Rules {
		names = append(names, r.Name())
	}
	slices.Sort(names)
	for _, name := range names {
		if err := tx.pending.giveNumber(name); err != nil {
			return err
		}
	}
	return nil
}

// StoredModel is the model that applies, and the last event about models.
type StoredModel struct {
	Seq      uint64 // 0: none was applied
	Source   []byte
	Fold     int // the version of the fold; 0 where no model was applied
	Reserved model.Reserved
	Retired  model.Retired
	Last     uint64 // the last event about models; 0 for none
	Next     []byte // the model that Last announces; nil for none
	NextFold int    // the fold version that it announces; 0 for the one in force

	NextActor string // who announces it; "" for nobody in particular
}

// formerMembers returns the members of a collection's documents in which values of removed rules may have been.
func (m *StoredModel) formerMembers(collection string) (names []string) {
	for _, text := range m.Reserved[collection] {
		if path, err := model.ParsePath(text); err == nil {
			names = append(names, path[0].Name)
		}
	}
	return names
}

// FoldedModel is an event that applied a model, and the fold version from it on.
type FoldedModel struct {
	Seq  uint64
	Fold int
}

// FoldedModels returns all events that applied a model, in order.
func (s *Snapshot) FoldedModels() (models []FoldedModel, err error) {
	err = s.c.Query("SELECT seq, fold FROM model ORDER BY seq", func(r driver.Row) error {
		models = append(models, FoldedModel{uint64(r.Int(0)), int(r.Int(1))})
		return nil
	})
	return models, err
}

// Model returns the model that applies and the one that is to come. If no model was ever applied, Seq is 0.
func (s *Snapshot) Model() (m StoredModel, err error) {
	if _, err := s.c.QueryRow("SELECT seq, source, fold, actor FROM proposal WHERE id = 1", func(r driver.Row) {
		m.Last, m.Next, m.NextFold, m.NextActor = uint64(r.Int(0)), r.Bytes(1), int(r.Int(2)), r.Text(3)
	}); err != nil {
		return m, err
	}
	err = s.readModel(&m, math.MaxInt64)
	return m, err
}

// ModelOf returns the model that applied at a position; its Seq is 0 where none did. It has none that is to come.
func ModelOf(s *Snapshot, at fanfold.Position) (m StoredModel, err error) {
	err = s.readModel(&m, int64(at.Seq()))
	return m, err
}

// ModelThen returns the event that applied the model of a position, 0 for none, and how many bytes the model has.
func ModelThen(s *Snapshot, at fanfold.Position) (seq uint64, size int, err error) {
	_, err = s.c.QueryRow("SELECT seq, octet_length(source) FROM model WHERE seq <= ? ORDER BY seq DESC LIMIT 1", func(r driver.Row) {
		seq, size = uint64(r.Int(0)), int(r.Int(1))
	}, int64(at.Seq()))
	return seq, size, err
}

// readModel reads the last model that an event up to seq applied, nothing where there is none.
func (s *Snapshot) readModel(m *StoredModel, seq int64) error {
	var reserved, retired []byte
	found, err := s.c.QueryRow("SELECT seq, source, reserved, fold, retired FROM model WHERE seq <= ? ORDER BY seq DESC LIMIT 1", func(r driver.Row) {
		m.Seq, m.Source, reserved, m.Fold, retired = uint64(r.Int(0)), r.Bytes(1), r.Bytes(2), int(r.Int(3)), r.Bytes(4)
	}, seq)
	if err != nil || !found {
		return err
	}
	if err := json.Unmarshal(reserved, &m.Reserved); err != nil {
		return fmt.Errorf("reserved paths of model %d: %w", m.Seq, err)
	}
	if err := json.Unmarshal(retired, &m.Retired); err != nil {
		return fmt.Errorf("retired rules of model %d: %w", m.Seq, err)
	}
	return nil
}
