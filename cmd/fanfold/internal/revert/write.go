package revert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

// Bounds of one transaction. The server's are greater; what it finds too large is halved.
const (
	maxOperations = 500
	maxBytes      = 8 << 20
)

// Left is a document that does not go back, and why.
type Left struct {
	Collection string      `json:"collection"`
	ID         string      `json:"id"`
	Code       client.Code `json:"code"`   // of the refusal; stale where the document was written after the later state
	Reason     string      `json:"reason"` // for people
	retry      int         // the step, which may do better once others are through; -1 for none
}

// Result says what came of a plan.
type Result struct {
	At       string  `json:"at"`
	Until    string  `json:"until"`
	Counts   []Count `json:"collections"`
	Done     int     `json:"done"` // documents that are as they were at At; 0 of a dry run
	Left     []Left  `json:"left,omitempty"`
	Position string  `json:"position,omitempty"` // from which on reads show all of it
}

// writing is a plan that is carried out.
type writing struct {
	*Plan
	dry      bool
	left     []Left
	done     int
	position string
	apart    []holder // that an earlier run has taken references from, and not put them back
}

// Write carries the plan out. It blocks until all transactions are made, or one fails for a reason that is not the documents'. The result
// tells what is done also then. The error is the client's.
func (p *Plan) Write(ctx context.Context) (*Result, error) { return p.run(ctx, false) }

// DryRun writes nothing, and finds what would be refused as the store is now.
func (p *Plan) DryRun(ctx context.Context) (*Result, error) { return p.run(ctx, true) }

func (p *Plan) run(ctx context.Context, dry bool) (*Result, error) {
	w := &writing{Plan: p, dry: dry}
	err := w.passOver(ctx)
	if err == nil && !dry {
		err = w.putBack(ctx, w.apart)
	}
	puts, deletes := p.order()
	for _, steps := range [][]int{puts, deletes} {
		if err == nil {
			err = w.write(ctx, steps)
		}
	}
	for before := -1; err == nil && !dry && before != w.done; {
		before = w.done
		err = w.writeAgain(ctx)
	}
	return &Result{At: p.At, Until: p.Until, Counts: p.Counts(), Done: w.done, Left: w.left, Position: w.position}, err
}

// passOver finds the documents that were written after the later state.
func (w *writing) passOver(ctx context.Context) error {
	_, now, err := w.eachDifference(ctx, w.Until, "", w.pass)
	if err != nil || now == w.Until {
		return err
	}
	return w.passOverDeleted(ctx)
}

// pass passes over a document that was written after the later state.
func (w *writing) pass(d *client.DocumentDifference) error {
	i, ok := w.byKey[fanfold.Key{Collection: d.Collection, ID: d.ID}]
	if !ok {
		return w.noteApart(d)
	}
	if d.After == nil {
		return w.leaveWritten(i, nil)
	}
	return w.leaveWritten(i, withoutMeta(d.After))
}

// leaveWritten leaves a document that was written after the later state. It may be as the plan would write it: then an earlier
// run has done so.
func (w *writing) leaveWritten(i int, now json.RawMessage) error {
	s := &w.steps[i]
	s.done = true
	body, err := w.body(s)
	if err != nil {
		return err
	}
	if isThere := now != nil; w.opt.Resume && isThere == (s.op != "create") && (!isThere || bytes.Equal(now, body)) {
		w.through(1)
		return nil
	}
	if w.opt.Resume && now != nil && s.op != "create" && bytes.Equal(now, w.withoutReferences(s.key, body, w.created)) {
		w.apart = append(w.apart, holder{key: s.key, body: body})
		w.through(1)
		return nil
	}
	w.left = append(w.left, Left{s.key.Collection, s.key.ID, client.Stale, "it was written after " + w.Until, -1})
	return nil
}

// passOverDeleted finds the documents that were created after the later state and are deleted again: a condition cannot tell.
func (w *writing) passOverDeleted(ctx context.Context) error {
	until, err := fanfold.ParseBookmark(w.Until)
	if err != nil {
		return err
	}
	for i := range w.steps {
		s := &w.steps[i]
		if s.op != "delete" || s.done {
			continue
		}
		docs := client.Collection[json.RawMessage](w.c, s.key.Collection)
		page, err := docs.HistoryPage(ctx, s.key.ID, "", client.HistoryOptions{NoDerived: true, NoDocs: true, Limit: 1})
		if err != nil {
			return err
		}
		for _, version := range page.Versions {
			at, err := fanfold.ParseBookmark(version.Seq)
			if err != nil {
				return err
			}
			if at.Position > until.Position {
				if err := w.leaveWritten(i, nil); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// through notes that so many documents are as they were.
func (w *writing) through(n int) {
	w.done += n
	if w.opt.Progress != nil {
		w.opt.Progress(w.done+len(w.left), len(w.steps))
	}
}

// write makes the transactions of some steps, in order.
func (w *writing) write(ctx context.Context, steps []int) error {
	for len(steps) > 0 {
		n, size := 0, 0
		for n < len(steps) && n < maxOperations && (n == 0 || size+w.steps[steps[n]].size <= maxBytes) {
			size += w.steps[steps[n]].size
			n++
		}
		batch := slices.DeleteFunc(slices.Clone(steps[:n]), func(i int) bool { return w.steps[i].done })
		if err := w.writeBatch(ctx, batch); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// writeAgain tries what was refused once more, now that other documents are through.
func (w *writing) writeAgain(ctx context.Context) error {
	var steps []int
	w.left = slices.DeleteFunc(w.left, func(l Left) bool {
		if l.retry >= 0 {
			steps = append(steps, l.retry)
		}
		return l.retry >= 0
	})
	return w.write(ctx, steps)
}

// writeBatch makes one transaction. A document that is refused is left, and the others go on without it. A batch that is too much for
// one transaction is halved.
func (w *writing) writeBatch(ctx context.Context, batch []int) error {
	for len(batch) > 0 {
		err := w.transact(ctx, batch)
		if err == nil {
			return w.finish(batch)
		}
		var refused *client.Error
		if !errors.As(err, &refused) || !isRefusal(refused.Code) {
			return err
		}
		at := 0
		if refused.Operation != nil {
			at = *refused.Operation
		} else if len(batch) > 1 {
			half := len(batch) / 2
			if err := w.writeBatch(ctx, batch[:half]); err != nil {
				return err
			}
			batch = batch[half:]
			continue
		}
		if err := w.leave(ctx, batch, at, refused); err != nil {
			return err
		}
		batch = slices.Delete(slices.Clone(batch), at, at+1)
	}
	return nil
}

// finish notes that the documents of a batch are through.
func (w *writing) finish(batch []int) error {
	if w.dry {
		return nil
	}
	for _, i := range batch {
		w.steps[i].done = true
	}
	w.through(len(batch))
	return nil
}

// isRefusal tells whether an error is about the documents of a transaction, so that others may go on.
func isRefusal(code client.Code) bool {
	switch code {
	case client.Stale, client.Exists, client.NotFound, client.Conflict, client.Restricted, client.FanoutLimit, client.Unprocessable, client.TooLarge, client.Forbidden:
		return true
	}
	return false
}

// leave leaves the document of a batch that is refused.
func (w *writing) leave(ctx context.Context, batch []int, at int, refused *client.Error) error {
	i := batch[at]
	s := &w.steps[i]
	reason := strings.TrimPrefix(refused.Detail, fmt.Sprintf("operation %d: ", at))
	switch refused.Code {
	case client.Stale, client.Exists, client.NotFound:
		doc, err := client.Collection[json.RawMessage](w.c, s.key.Collection).Get(ctx, s.key.ID, client.View("referenced"))
		switch {
		case errors.Is(err, client.NotFound):
			return w.leaveWritten(i, nil)
		case err != nil:
			return err
		}
		return w.leaveWritten(i, doc.Value)
	}
	if w.dry && w.mayFit(s, refused, reason) {
		return nil
	}
	if s.op == "create" && refused.Code == client.Restricted {
		apart, why, err := w.deleteApart(ctx, s, refused)
		if err != nil {
			return err
		}
		if apart {
			return w.finish([]int{i})
		}
		if why != "" {
			w.left = append(w.left, Left{s.key.Collection, s.key.ID, refused.Code, why, i})
			return nil
		}
	}
	for _, p := range refused.Problems[:min(len(refused.Problems), 3)] {
		reason += "; " + strings.TrimPrefix(p.Path+": ", ": ") + p.Detail
	}
	w.left = append(w.left, Left{s.key.Collection, s.key.ID, refused.Code, reason, i})
	return nil
}

// mayFit tells whether a document that a dry run refuses may be written once others are through.
func (w *writing) mayFit(s *step, refused *client.Error, reason string) bool {
	if holder, _, _ := strings.Cut(reason, " has "); refused.Code == client.Conflict && w.goesBack(holder) { // a unique value
		return true
	}
	if s.op != "create" {
		return slices.ContainsFunc(s.targets, func(target int) bool { return !w.steps[target].done && w.steps[target].op == "delete" })
	}
	if refused.Code != client.Restricted || len(refused.Problems) == 0 {
		return false
	}
	return w.allGoBack(refused)
}

// goesBack tells whether the document of a path, COLLECTION/ID, is one of the plan.
func (w *writing) goesBack(path string) bool {
	collection, id, _ := strings.Cut(path, "/")
	i, ok := w.byKey[fanfold.Key{Collection: collection, ID: id}]
	return ok && !w.steps[i].done
}

// transact makes one transaction. A delete that would bring writes of other documents with it is refused: what refers to a document that
// was created was written after the later state.
func (w *writing) transact(ctx context.Context, batch []int) error {
	operations, among := make([]client.Operation, len(batch)), map[fanfold.Key]bool{}
	deletes := false
	for at, i := range batch {
		s := &w.steps[i]
		among[s.key] = true
		if s.op == "create" {
			deletes = true
			operations[at] = client.Delete(s.key.Collection, s.key.ID).IfMatch(s.tag)
			continue
		}
		body, err := w.body(s)
		if err != nil {
			return err
		}
		operations[at] = client.Put(s.key.Collection, s.key.ID, json.RawMessage(body))
		if s.tag != "" {
			operations[at] = operations[at].IfMatch(s.tag)
		} else {
			operations[at] = operations[at].IfAbsent()
		}
	}
	opts := w.options()
	if w.dry || deletes {
		result, err := w.c.Transact(ctx, operations, append(slices.Clone(opts), client.DryRun())...)
		if err == nil && deletes {
			err = w.checkBrought(among, result.Report)
		}
		if err != nil || w.dry {
			return err
		}
	}
	result, err := w.c.Transact(ctx, operations, opts...)
	if err == nil {
		w.position = result.Position
	}
	return err
}

// checkBrought returns a Restricted where deletes would bring writes of documents with them that do not go back.
func (w *writing) checkBrought(among map[fanfold.Key]bool, report json.RawMessage) error {
	var would struct {
		Writes []struct{ Op, Collection, ID string }
	}
	if err := json.Unmarshal(report, &would); err != nil {
		return err
	}
	var holders []client.Problem
	for _, write := range would.Writes {
		key := fanfold.Key{Collection: write.Collection, ID: write.ID}
		_, planned := w.byKey[key]
		switch {
		case planned && w.dry, among[key]:
		case write.Op == string(fanfold.KindPut), write.Op == string(fanfold.KindPatch), write.Op == string(fanfold.KindDelete):
			holders = append(holders, client.Problem{Path: key.String(), Detail: map[bool]string{true: "would be deleted", false: "would be changed"}[write.Op == string(fanfold.KindDelete)]})
		}
	}
	if len(holders) > 0 {
		return &client.Error{Code: client.Restricted, Detail: wouldBring + holders[0].Path, Problems: holders}
	}
	return nil
}

// options returns the options of all writes of the plan.
func (w *writing) options() (opts []client.WriteOption) {
	if w.opt.AllowFanout {
		opts = append(opts, client.AllowFanout())
	}
	return opts
}
