package sqlite

import "github.com/fanfold/fanfold/sqlite/driver"

// Omission says for how many values of a rule there is no room, and in how many documents.
type Omission struct {
	Rule      string `json:"rule"`
	Documents int64  `json:"documents"`
	Values    int64  `json:"values"`
}

// CountOmission adds the differences in o to what is recorded for its rule. A record of no documents
// is removed.
func (tx *Tx) CountOmission(o Omission) error {
	if err := tx.pending.writeUnread("INSERT INTO omission (rule, documents, fields) VALUES (?, ?, ?) ON CONFLICT (rule) DO UPDATE SET documents = documents + excluded.documents, fields = fields + excluded.fields",
		o.Rule, o.Documents, o.Values); err != nil {
		return err
	}
	return tx.pending.writeUnread("DELETE FROM omission WHERE rule = ? AND documents = 0", o.Rule)
}

// Omissions returns for which rules there are documents without room, by rule.
func (s *Snapshot) Omissions() (all []Omission, err error) {
	err = s.c.Query("SELECT rule, documents, fields FROM omission ORDER BY rule", func(r driver.Row) error {
		all = append(all, Omission{Rule: r.Text(0), Documents: r.Int(1), Values: r.Int(2)})
		return nil
	})
	return all, err
}
