package writer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
)

// backgroundFrom bounds the documents that applying a model at once may look at, where the request does not say how it
// is to be applied. More of them would hold up folding for longer than a write should wait.
const backgroundFrom = 30_000

// ModelRequest asks for a model to be applied.
type ModelRequest struct {
	Source       []byte // YAML or JSON
	Conditions          // on the event that applied the model that applies
	DryRun       bool   // the model is checked and previewed, and not applied
	AllowMisfits bool   // the model is applied although stored documents do not fit a new schema
	Background   *bool  // the model is prepared while the one before applies; nil where it concerns many documents
}

// ModelResult says what came of a ModelRequest.
type ModelResult struct {
	Preview *fanfold.ModelPreview
	// Applied is the event that applied the model, 0 where it does not apply yet. Proposed is the event that announced it,
	// 0 where it is not prepared in the background.
	Applied, Proposed uint64
}

// PutModel checks and previews a model. Unless the request is a dry run it then applies the model, or announces it where
// it is to be prepared in the background; WaitForModel waits for it then. It blocks for as long as looking at all
// documents takes. Errors are Invalid, with every mistake; Stale; Conflict while another model is being prepared;
// Unprocessable, with what stands in the model's way; and TooLarge.
func (w *Writer) PutModel(ctx context.Context, req ModelRequest) (ModelResult, error) {
	proposal, last := w.Models.Proposal()
	if proposal != nil && !req.DryRun {
		return ModelResult{}, beingPrepared(proposal)
	}
	_, seq, _ := w.Models.Model()
	if req.Absent && seq > 0 || req.Exists && seq == 0 || len(req.Revisions) > 0 && !slices.Contains(req.Revisions, fanfold.Revision(seq)) {
		return ModelResult{}, &fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(seq), Message: fmt.Sprintf("the model that applies is the one of event %d", seq)}
	}
	m, preview, err := w.preview(ctx, req.Source, !req.DryRun, req.AllowMisfits)
	if err != nil || req.DryRun {
		return ModelResult{Preview: preview}, err
	}
	if len(m.Source) > w.opt.MaxEvent-envelopeRoom {
		return ModelResult{}, fanfold.Errorf(fanfold.TooLarge, "the model is larger than the log takes")
	}
	background := preview.Work > backgroundFrom && len(preview.AtOnce) == 0
	if req.Background != nil {
		if background = *req.Background; background && len(preview.AtOnce) > 0 {
			return ModelResult{}, fanfold.Errorf(fanfold.Unprocessable, "the model cannot be prepared in the background, because values that stay on their holders by %s come from documents that it changes; send it with background=false", strings.Join(preview.AtOnce, ", "))
		}
	}
	result := ModelResult{Preview: preview}
	if background {
		result.Proposed, err = w.Log.Append(ctx, &fanfold.Event{Kind: fanfold.KindPrepare, Body: m.Source}, fanfold.Exactly(fanfold.Revision(last)))
	} else {
		result.Applied, err = w.applyModel(ctx, m, last)
	}
	return result, err
}

// beingPrepared returns the Conflict of a model that comes while p is being prepared.
func beingPrepared(p *fanfold.Proposal) error {
	return fanfold.Errorf(fanfold.Conflict, "the model of event %d is being prepared: see /v1/_status; wait for it, or withdraw it with DELETE /v1/_model/_pending", p.Seq)
}

// WaitForModel waits until the model that an event announced applies, and returns the event that applied it. The error
// is ctx's, or an Unprocessable that says why the model was withdrawn.
func (w *Writer) WaitForModel(ctx context.Context, proposed uint64) (applied uint64, err error) {
	if err := w.ReadModel.Wait(ctx, proposed); err != nil {
		return 0, err
	}
	return w.Models.Settled(ctx, proposed)
}

// CancelModel withdraws the announced model, and returns the event that says so. Errors are NotFound where none is
// announced, and Conflict where it was applied or withdrawn meanwhile.
func (w *Writer) CancelModel(ctx context.Context) (seq uint64, err error) {
	p, _ := w.Models.Proposal()
	if p == nil {
		return 0, ErrNoProposal
	}
	seq, err = w.withdrawModel(ctx, p, "a request asked for it")
	if staleError(err) != nil {
		return 0, fanfold.Errorf(fanfold.Conflict, "the model of event %d applies by now, or was withdrawn: see GET /v1/_model", p.Seq)
	}
	return seq, err
}

// ErrNoProposal says that no model is being prepared. It is a NotFound.
var ErrNoProposal = fanfold.Errorf(fanfold.NotFound, "no model is being prepared")

// withdrawModel appends the event that withdraws an announced model, and returns its sequence. The error is Stale where
// the model was applied or withdrawn meanwhile.
func (w *Writer) withdrawModel(ctx context.Context, p *fanfold.Proposal, why string) (seq uint64, err error) {
	body, err := json.Marshal(map[string]string{"reason": why})
	if err != nil {
		return 0, err
	}
	return w.Log.Append(ctx, &fanfold.Event{Kind: fanfold.KindCancel, Body: body}, fanfold.Exactly(fanfold.Revision(p.Seq)))
}

// preview reads, checks and previews a model. With apply, what stands in the way of applying it is an Unprocessable:
// without allowMisfits that includes documents that do not fit a new schema. Other errors are Invalid.
func (w *Writer) preview(ctx context.Context, src []byte, apply, allowMisfits bool) (*fanfold.Model, *fanfold.ModelPreview, error) {
	m, err := w.readModel(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	p, err := w.Inspector.Preview(ctx, m)
	if err != nil || !apply {
		return m, p, err
	}
	if err := inTheWay(p.Problems); err != nil {
		return nil, nil, err
	}
	if allowMisfits || len(p.Misfits) == 0 {
		return m, p, nil
	}
	e := fanfold.Errorf(fanfold.Unprocessable, "stored documents do not fit the new schema; nothing was changed: mend them first, or send the model with allowMisfits=true, after which each has to fit when it is next written")
	for _, m := range p.Misfits {
		for _, d := range m.First {
			e.Problems = append(e.Problems, fanfold.Problem{Path: d.Document + d.Problems[0].Path, Detail: d.Problems[0].Detail})
		}
	}
	return nil, nil, e
}

// inTheWay returns the Unprocessable of problems that stand in the way of a model, nil where there are none.
func inTheWay(problems []fanfold.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &fanfold.Error{Code: fanfold.Unprocessable, Message: "the model cannot be applied to the documents as they are; nothing was changed", Problems: problems}
}

// maxReserved is how many paths of removed rules a model may leave reserved.
const maxReserved = 2000

// readModel reads and checks a model, one at a time: it may take a processor for a while. Errors are Invalid, TooLarge,
// ctx's, and Unprocessable where too many paths of removed rules would stay reserved.
func (w *Writer) readModel(ctx context.Context, src []byte) (*fanfold.Model, error) {
	select {
	case w.checking <- struct{}{}:
		defer func() { <-w.checking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m, err := modelfile.Parse(src)
	if err != nil {
		return nil, err
	}
	have, _, reserved := w.Models.Model()
	before, after := 0, 0
	for _, paths := range reserved {
		before += len(paths)
	}
	for _, paths := range reserved.Next(have, m) {
		after += len(paths)
	}
	if after > max(maxReserved, before) {
		return nil, fanfold.Errorf(fanfold.Unprocessable, "with this model %d paths of removed rules would be reserved; at most %d may be: release some that no client writes any more, with release: [path] in their collections", after, maxReserved)
	}
	return m, nil
}

// applyModel appends the event of a model that was previewed, and returns its sequence. The guards that are new in it are
// looked at again while no write is under way. The error is Stale where last is not the last event about models any
// more.
func (w *Writer) applyModel(ctx context.Context, m *fanfold.Model, last uint64) (applied uint64, err error) {
	have, _, _ := w.Models.Model()
	err = w.withoutWrites(ctx, m.AddsGuards(have), func(guards bool) error {
		if guards {
			problems, err := w.Inspector.Guards(ctx, m)
			if err == nil {
				err = inTheWay(problems)
			}
			if err != nil {
				return err
			}
		}
		applied, err = w.storeModel(ctx, m.Source, last, guards)
		return err
	})
	return applied, err
}

// withoutWrites calls fn. With guards it does so while no write of this node is under way, and once everything
// acknowledged is folded here, so that no write comes between the last look at the documents and the fold of a model
// with new guards. Errors are fn's, and Unavailable.
func (w *Writer) withoutWrites(ctx context.Context, guards bool, fn func(guards bool) error) error {
	if guards {
		w.modelMu.Lock()
		defer w.modelMu.Unlock()
		if err := w.catchUp(ctx); err != nil {
			return err
		}
	}
	return fn(guards)
}

// storeModel appends the event of a model, and returns its sequence. With guards it waits until the model is folded here,
// for guardFoldTime at most. The error is Stale where last is not the last event about models any more.
func (w *Writer) storeModel(ctx context.Context, source []byte, last uint64, guards bool) (applied uint64, err error) {
	applied, err = w.Log.Append(ctx, &fanfold.Event{Kind: fanfold.KindModel, Body: source}, fanfold.Exactly(fanfold.Revision(last)))
	if err != nil || !guards {
		return applied, err
	}
	if err := w.wait(context.WithoutCancel(ctx), applied, guardFoldTime); err != nil {
		w.opt.Logger.Error("a model with new strict relations or unique members is stored and not folded: until it is, writes of this node are not guarded", "seq", applied, "err", err)
	}
	return applied, nil
}

// guardFoldTime bounds how long writes wait for the fold of a model with new guards.
const guardFoldTime = time.Minute

// importModel applies a model that an import brings, and returns its event. It returns 0 where that model applies already.
func (w *Writer) importModel(ctx context.Context, src []byte) (applied uint64, err error) {
	have, seq, _ := w.Models.Model()
	proposal, last := w.Models.Proposal()
	m, _, err := w.preview(ctx, src, true, true)
	if err != nil || seq > 0 && bytes.Equal(m.Source, have.Source) {
		return 0, err
	}
	if proposal != nil {
		return 0, beingPrepared(proposal)
	}
	return w.applyModel(ctx, m, last)
}
