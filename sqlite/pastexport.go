package sqlite

import (
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// maxPastExportTime bounds how long a page of an export of the past takes, which is less than a snapshot may stay open.
const maxPastExportTime = 500 * time.Millisecond

// createdSQL reads documents that are there or were, in order of creation.
var createdSQL = func() string {
	live, deleted := selectPast(fanfold.Referenced)
	return live + "WHERE d.number > ?1 AND d.number <= ?2 UNION ALL " + deleted + "INDEXED BY past_document_number WHERE p.number > ?1 AND p.number <= ?2 ORDER BY 1"
}()

// CreatedAt returns documents of all collections as written at a position that Resolve has returned, in order of number, later than the number
// after. It returns limit of them at most, and fewer where they are large, or take long. last is the number that it has come to, and more tells
// that others may follow.
func (s *Snapshot) CreatedAt(at fanfold.Position, after int64, limit int) (docs []*fanfold.Document, last int64, more bool, err error) {
	bound, size := s.past().bound(), 0
	bound.most, last = maxPastExportTime, after
	err = s.c.Query(createdSQL, func(r driver.Row) error {
		if more = len(docs) == limit || size > exportBytes || last != after && bound.reached(); more {
			return driver.ErrStop
		}
		doc, err := s.past().listedAt(r, at, fanfold.Referenced)
		if last = r.Int(0); doc != nil {
			docs, size = append(docs, doc), size+len(doc.Body)
		}
		return err
	}, after, int64(at.Seq()), int64(at))
	return docs, last, more, err
}

// StoredModelAt returns the source of the model that applied at a position, nil for none. reserved are the paths that were reserved then, and
// retired the rules that were removed and whose values were still stored.
func (s *Snapshot) StoredModelAt(at fanfold.Position) (source []byte, reserved model.Reserved, retired model.Retired, err error) {
	var m StoredModel
	err = s.readModel(&m, int64(at.Seq()))
	return m.Source, m.Reserved, m.Retired, err
}
