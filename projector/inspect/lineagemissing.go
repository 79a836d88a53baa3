package inspect

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// NoValue is the state of a derived value that is not there.
const NoValue = "no value"

// maxExplaining bounds the time in which a lineage looks for the reason that there is no value. It reads other documents
// and evaluates conditions on a snapshot.
const maxExplaining = 300 * time.Millisecond

// notExplained is the reason of a value for which that was not enough.
const notExplained = "the expressions take too long to say why"

// missingValue is a place of the document at which a rule has no value.
type missingValue struct {
	rule    *fold.Rule
	anchor  jsondoc.Node
	pointer string
}

// noteMissing notes the rules that have no value in the object n, or in objects of it that are there for values only. n may
// be None.
func (l *lineage) noteMissing(n, anchor jsondoc.Node, shape *model.Shape, at string) {
	for _, m := range shape.Members {
		if n != jsondoc.None && l.t.Member(n, m.Name) != jsondoc.None {
			continue
		}
		pointer := at + "/" + jsondoc.PointerEscape(m.Name)
		switch {
		case !m.Owned && m.Elem == nil:
			l.noteMissing(jsondoc.None, anchor, m, pointer)
		case m.Rule == nil || m.Flag:
		case len(l.missing) >= maxValues:
			l.out.More++
		default:
			l.missing = append(l.missing, missingValue{l.plan.Rules[m.Rule.Index], anchor, pointer})
		}
	}
}

// withoutValue lists the values that the document does not have, and why, also of rules for which it has no place.
func (l *lineage) withoutValue() error {
	seen := map[string]bool{}
	for _, v := range l.out.Derived {
		seen[v.Rule] = true
	}
	for _, a := range l.missing {
		seen[a.rule.FullName] = true
	}
	if l.out.More == 0 {
		for _, r := range l.plan.Collection(l.row.Key.Collection).Rules {
			if !seen[r.FullName] {
				l.missing = append(l.missing, missingValue{rule: r, anchor: jsondoc.None})
			}
		}
	}
	for _, a := range l.missing {
		if len(l.out.Derived) == maxValues {
			l.out.More++
			continue
		}
		v, err := l.explainMissing(a)
		if err != nil {
			return err
		}
		l.out.Derived = append(l.out.Derived, v)
	}
	return nil
}

// explainMissing returns the entry of a value that is not there.
func (l *lineage) explainMissing(a missingValue) (v DerivedValue, err error) {
	v = DerivedValue{Path: a.pointer, Rule: a.rule.FullName, Kind: string(a.rule.Shows()), From: sourceOf(a.rule), Sources: []ValueSource{}}
	switch {
	case a.anchor == jsondoc.None:
		v.Reason = fmt.Sprintf("the document has no place for it at %s", a.rule.Path)
	case a.rule.Kind == model.Copy:
		if err := l.copySources(a.rule, a.anchor, &v); err != nil {
			return v, err
		}
		v.Reason, err = l.whyNoCopy(a.rule, &v)
	case a.rule.Kind == model.Computed:
		v.Documents, v.Sources = 1, l.itself()
		l.elements(a.rule, &v)
		switch v.Reason = notExplained; {
		case l.late():
		case a.rule.Each():
			v.Reason = a.rule.ExplainAt(l.t, fold.MetaOf(l.row), a.anchor)
		default:
			_, v.Reason = partWithoutValue(a.rule, l.row)
		}
	default:
		v.Reason, err = l.whyNothingGathered(a.rule, &v)
	}
	v.State = NoValue
	noRoom := false
	if err == nil {
		noRoom, err = l.hasNoRoom(a, &v)
	}
	if noRoom {
		v.Reason = "the embedded document has no room for it"
	}
	return v, err
}

// hasNoRoom tells whether there is a value for which the document has no room. v says why there would be none.
func (l *lineage) hasNoRoom(a missingValue, v *DerivedValue) (bool, error) {
	if l.room == nil || a.anchor == jsondoc.None {
		return l.room == nil && l.isOmitted(a.rule), nil
	}
	switch is, sure, err := l.hasValue(a.rule, v); {
	case err != nil:
		return false, err
	case !sure:
		l.room.unsure = true
		return l.isOmitted(a.rule), nil
	case is:
		l.room.left[a.rule.FullName]++
		return true, nil
	}
	return false, nil
}

// hasValue tells whether a rule gives a value that the document does not show, as far as that follows from the other documents, and whether it does.
func (l *lineage) hasValue(r *fold.Rule, v *DerivedValue) (is, sure bool, err error) {
	switch r.Kind {
	case model.Copy:
		keeps := r.KeepsGone() && len(v.Sources) > 0 && v.Sources[0].Revision == 0
		return v.Reason == "", v.Reason != notExplained && !r.Frozen && !r.List() && !keeps, nil
	case model.Computed:
		return v.Reason == "", v.Reason != notExplained && r.Total == "", nil
	case model.Count, model.Sum, model.IDs, model.Recent: // of nothing, too
		return true, true, nil
	}
	docs, total, err := l.holders(r)
	for _, doc := range docs {
		if err != nil || l.late() {
			return false, false, err
		}
		var row *sqlite.Row
		if row, err = l.state.Row(doc.Key); err == nil && row != nil {
			if is = enters(r, row); is {
				return true, true, nil
			}
		}
	}
	return false, total <= int64(len(docs)), err
}

// enters tells whether a document takes part in what a rule gathers.
func enters(r *fold.Rule, row *sqlite.Row) bool {
	d := &examined{key: row.Key, row: row, body: row.Body, source: row.ReferencedText}
	return r.EntryOf(d.view(r), fold.EntrantOf(row), nil).Included
}

// isOmitted tells whether the document has no room for some value of a rule.
func (l *lineage) isOmitted(r *fold.Rule) bool {
	var byRule map[string]int64
	return l.row.Omitted != nil && json.Unmarshal(l.row.Omitted, &byRule) == nil && byRule[r.FullName] > 0
}

// whyNoCopy returns why a copy has no value, from the targets that v names.
func (l *lineage) whyNoCopy(r *fold.Rule, v *DerivedValue) (string, error) {
	if l.crowds.Crowded(r, l.t) {
		return fmt.Sprintf("the document holds more than %d ids by %s, so it refers to nothing by it", model.MaxDerivedIDs, r.RelationName), nil
	}
	if len(v.Sources) == 0 {
		return fmt.Sprintf("the document refers to nothing here by %s", r.RelationName), nil
	}
	s := v.Sources[0]
	why, err := l.whyNot(r, s)
	if why == "" && err == nil && r.Frozen {
		why = fmt.Sprintf("%s/%s had no value when the document was last written; one is taken when it is written again", s.Collection, s.ID)
	}
	return why, err
}

// explainList says of the list of copies at a node why it has no value of one of the targets that v names.
func (l *lineage) explainList(r *fold.Rule, list jsondoc.Node, v *DerivedValue) error {
	i := 0
	for c := l.t.First(list); c != jsondoc.None && i < len(v.Sources) && v.Reason == ""; c = l.t.Next(c) {
		if l.t.Kind(c) == jsondoc.Null {
			why, err := l.whyNot(r, v.Sources[i])
			if err != nil {
				return err
			}
			v.Reason = why
		}
		i++
	}
	return nil
}

// whyNot returns why a target gives a copy no value, "" where it gives one.
func (l *lineage) whyNot(r *fold.Rule, s ValueSource) (string, error) {
	name := s.Collection + "/" + s.ID
	switch {
	case s.Revision == 0:
		return "there is no document " + name, nil
	case l.late():
		return notExplained, nil
	}
	row, err := l.state.Row(fanfold.Key{Collection: s.Collection, ID: s.ID})
	if err != nil || row == nil {
		return "", err
	}
	part, why := partWithoutValue(r, row)
	if part == "" {
		return "", nil
	}
	return name + ": " + why, nil
}

// late tells whether no more is to be explained.
func (l *lineage) late() bool { return isLate(&l.until) }

// isLate tells whether it is later than until, which is set where it is zero.
func isLate(until *time.Time) bool {
	if until.IsZero() {
		*until = time.Now().Add(maxExplaining)
	}
	return time.Now().After(*until)
}

// partWithoutValue has a rule look at a document, and returns the part that finds no value in it, and why; "" where all find one.
func partWithoutValue(r *fold.Rule, row *sqlite.Row) (part, why string) {
	d := &examined{key: row.Key, row: row, body: row.Body, source: row.ReferencedText}
	r.Examine(d.view(r), d.meta(), func(i int, found bool) {
		if !found {
			part = r.Parts()[i]
			why = r.Explain(part, d.view(r), d.meta())
		}
	})
	return part, why
}

// whyNothingGathered returns why a rule about the documents that refer to this one has no value, and names them in v.
func (l *lineage) whyNothingGathered(r *fold.Rule, v *DerivedValue) (string, error) {
	docs, total, err := l.holders(r)
	if err != nil {
		return "", err
	}
	v.Documents = total
	if total == 0 {
		return "no document refers to this one by " + r.RelationName, nil
	}
	v.Sources = l.sourcesOf(docs)
	for _, doc := range docs {
		if l.late() {
			return notExplained, nil
		}
		row, err := l.state.Row(doc.Key)
		if err != nil || row == nil {
			return "", err
		}
		if part, why := partWithoutValue(r, row); part != "" {
			return fmt.Sprintf("%s: %s: %s", row.Key, part, why), nil
		}
	}
	return fmt.Sprintf("none of the documents that refer to this one by %s takes part", r.RelationName), nil
}

// itself returns the document as the source of a value.
func (l *lineage) itself() []ValueSource {
	return []ValueSource{{Collection: l.row.Key.Collection, ID: l.row.Key.ID, Revision: l.row.Revision, Position: l.issuer.Mark(l.row.Position)}}
}

// sourcesOf returns documents as sources of a value.
func (l *lineage) sourcesOf(docs []*fanfold.Document) []ValueSource {
	sources := make([]ValueSource, 0, len(docs))
	for _, doc := range docs {
		sources = append(sources, ValueSource{Collection: doc.Key.Collection, ID: doc.Key.ID, Revision: doc.Revision, Position: l.issuer.Mark(doc.Position)})
	}
	return sources
}
