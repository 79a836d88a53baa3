package writer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/flows"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// backgroundFrom bounds the documents that applying a model at once may look at, where the request does not say how it
// is to be applied. More of them would hold up folding for longer than a write should wait.
const backgroundFrom = 30_000

// ModelRequest asks for a model to be applied.
type ModelRequest struct {
	Source []byte // YAML or JSON
	// Part says that Source is a part, which is put into the model that applies; nil where it is the whole model.
	Part         *ModelPart
	Conditions                    // on the event that applied the model that applies
	AllowRemoval bool             // the model may take rules and guards away; conditions on a revision say so, too
	DryRun       bool             // the model is checked and previewed, and not applied
	AllowMisfits bool             // the model is applied although stored documents do not fit a new schema, or break a new check
	Background   *bool            // the model is prepared while the one before applies; nil where it concerns many documents
	PreviewTime  time.Duration    // bounds how long the documents are looked at; 0 for any time
	Progress     fanfold.Progress // is told how far that is; nil for nobody
	By           *access.Rights   // of who asks for it: see Intent
}

// ModelResult says what came of a ModelRequest.
type ModelResult struct {
	Preview *model.Preview
	// Applied is the event that applied the model, 0 where it does not apply yet. Proposed is the event that announced it,
	// 0 where it is not prepared in the background.
	Applied, Proposed uint64
}

// PutModel checks and previews a model. Unless the request is a dry run it then applies the model, or announces it where it is to be prepared
// in the background; WaitForModel waits for it then. A model that applies already, or is being prepared, is not stored again, whatever the
// conditions: the request was sent again after a lost answer. Without conditions it is looked at again, modelTries times, where another model
// came meanwhile. It blocks for as long as looking at the documents takes that it concerns. Invalid lists every mistake, ModelRemoves lists the
// rules that would go, and Unprocessable lists the obstacles. Stale says that a condition does not hold. Conflict says that another model is
// being prepared, or that others keep coming. It returns TakesLong after PreviewTime, and TooLarge. Forbidden comes without the role admin.
func (w *Writer) PutModel(ctx context.Context, req ModelRequest) (result ModelResult, err error) {
	if err := checkAdmin(req.By); err != nil {
		return ModelResult{}, err
	}
	if err := w.awaitModel(ctx); err != nil {
		return ModelResult{}, err
	}
	_, err = w.decide(ctx, plan{tries: modelTries, await: w.ReadModel.Wait, try: func(ctx context.Context, _ bool) (uint64, error) {
		result, err = w.putModel(ctx, req)
		if !req.Any() {
			err = again(err)
		}
		return result.Applied, err
	}})
	if !req.Any() {
		err = overtaken(err)
	}
	return result, err
}

// modelTries is how often a model without conditions is looked at, at most, while other models come.
const modelTries = 4

// overtaken returns the Conflict of a change of the model, without conditions, that another change of it came before; any
// other error as it is.
func overtaken(err error) error {
	if staleError(err) == nil {
		return err
	}
	return fanfold.Errorf(fanfold.Conflict, "another model was applied, announced or withdrawn meanwhile; nothing was changed: send the request again")
}

// putModel is one try of PutModel. It returns a Stale, too, where another model came while it looked at the documents.
func (w *Writer) putModel(ctx context.Context, req ModelRequest) (ModelResult, error) {
	if !req.DryRun {
		if err := w.mayBegin(ctx); err != nil {
			return ModelResult{}, err
		}
	}
	proposal, last := w.Models.Proposal()
	have, seq, _ := w.Models.Model()
	src, err := req.whole(have)
	if err != nil {
		return ModelResult{}, err
	}
	m, err := w.readModel(ctx, src, nil)
	if err == nil && seq == 0 && !w.opt.KeepFold { // nothing is there that it could change
		m.Fold, err = newestFold(ctx, w.Nodes, have.Fold)
	}
	if err == nil {
		err = checkFold(m, have)
	}
	if err != nil {
		return ModelResult{}, err
	}
	if !req.DryRun {
		pending := proposal != nil && bytes.Equal(proposal.Source, m.Source)
		known := ModelResult{}
		switch {
		case seq > 0 && bytes.Equal(have.Source, m.Source) && (proposal == nil || pending):
			known.Applied = seq
		case pending:
			known.Proposed = proposal.Seq
		case proposal != nil:
			return ModelResult{}, beingPrepared(proposal)
		}
		if known != (ModelResult{}) {
			known.Preview, err = w.inspectModel(ctx, m, req, nil)
			return known, err
		}
	}
	if err := req.hold(seq); err != nil {
		return ModelResult{}, err
	}
	if err := mayNumber(m, have.Fold); err != nil {
		return ModelResult{}, err
	}
	preview, err := w.preview(ctx, m, req)
	if err != nil {
		return ModelResult{}, err
	}
	if req.DryRun {
		return ModelResult{Preview: preview}, req.showMerged(preview, m)
	}
	if err := checkAdmin(req.By); err != nil {
		return ModelResult{}, err
	}
	return w.decideModel(ctx, modelWrite{m, last, actorOf(req.By), req.AllowMisfits}, preview, req.Background)
}

// mayNumber returns a Conflict where a model has sequences and comes under a fold that does not know them.
func mayNumber(m *model.Model, inForce int) error {
	if !m.HasSequences() || max(m.Fold, inForce) >= model.SequenceFold {
		return nil
	}
	return fanfold.Errorf(fanfold.Conflict, "the model has sequences, which come with fold %d; fold %d is in force, and nothing was changed: run fanfold upgrade first (docs/run/upgrade.md)", model.SequenceFold, inForce)
}

// checkAdmin returns nil where whoever has these rights may change the model now: to look at the documents may have taken hours
// since they were given. Errors are Forbidden and Unauthenticated.
func checkAdmin(by *access.Rights) error {
	if err := by.CheckRole(model.RoleAdmin); err != nil {
		return err
	}
	if by.Renewed() == nil {
		return errRightsEnded
	}
	return nil
}

// errRightsEnded says that a principal has lost its rights while its request was under way. It is an Unauthenticated.
var errRightsEnded = fanfold.Errorf(fanfold.Unauthenticated, "the key does not work any more, or has other roles: send the request again with one that works")

// hold returns the Stale of conditions that do not hold for the model that event seq applied.
func (r *ModelRequest) hold(seq uint64) error {
	if r.Absent && seq > 0 || r.Exists && seq == 0 || len(r.Revisions) > 0 && !slices.Contains(r.Revisions, fanfold.Revision(seq)) || slices.Contains(r.Not, fanfold.Revision(seq)) {
		return &fanfold.Error{Code: fanfold.Stale, Current: fanfold.Revision(seq), Message: fmt.Sprintf("the model that applies is the one of event %d", seq)}
	}
	return nil
}

// modelWrite is a model that was previewed and is to be stored.
type modelWrite struct {
	*model.Model
	last  uint64 // the last event about models when it was previewed
	actor string

	misfits bool // documents may break its new checks
}

// expect returns the condition that nothing about models was stored since.
func (m modelWrite) expect() fanfold.Expect { return fanfold.Exactly(fanfold.Revision(m.last)) }

// decideModel applies a model that was previewed, or announces it: as asked says or, where that is nil, announces one that
// concerns many documents. Errors are TooLarge, Unprocessable where the model cannot be
// prepared and is to be, and Stale.
func (w *Writer) decideModel(ctx context.Context, m modelWrite, preview *model.Preview, asked *bool) (result ModelResult, err error) {
	if len(m.Source) > w.opt.MaxEvent-envelopeRoom {
		return ModelResult{}, fanfold.Errorf(fanfold.TooLarge, "the model is larger than the log takes")
	}
	prepare := preview.Work > backgroundFrom && len(preview.AtOnce) == 0
	if asked != nil {
		if prepare = *asked; prepare && len(preview.AtOnce) > 0 {
			return ModelResult{}, onlyAtOnce(preview)
		}
	}
	result.Preview = preview
	if prepare {
		result.Proposed, err = w.Log.Append(ctx, &fanfold.Event{Kind: fanfold.KindPrepare, Body: m.Source, Fold: m.Fold, Actor: m.actor}, m.expect())
	} else {
		result.Applied, err = w.applyModel(ctx, m)
	}
	return result, err
}

// onlyAtOnce returns the Unprocessable of a model that cannot be prepared.
func onlyAtOnce(preview *model.Preview) error {
	return fanfold.Errorf(fanfold.Unprocessable, "the model cannot be prepared in the background, because of %s: new checks, or values that stay on their holders, or places in pages, that come from documents which it changes; send it with background=false", strings.Join(preview.AtOnce, ", "))
}

// beingPrepared returns the Conflict of a model that comes while p is being prepared.
func beingPrepared(p *model.Proposal) error {
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
// announced, Conflict where it was applied or withdrawn meanwhile, and Forbidden without the role admin.
func (w *Writer) CancelModel(ctx context.Context, by *access.Rights) (seq uint64, err error) {
	if err := checkAdmin(by); err != nil {
		return 0, err
	}
	if err := w.mayBegin(ctx); err != nil {
		return 0, err
	}
	ctx = w.observe(ctx)
	p, _ := w.Models.Proposal()
	if p == nil {
		return 0, ErrNoProposal
	}
	seq, err = w.withdrawModel(ctx, p, "a request asked for it", actorOf(by))
	if staleError(err) != nil {
		return 0, fanfold.Errorf(fanfold.Conflict, "the model of event %d applies by now, or was withdrawn: see GET /v1/_model", p.Seq)
	}
	return seq, err
}

// ErrNoProposal says that no model is being prepared. It is a NotFound.
var ErrNoProposal = fanfold.Errorf(fanfold.NotFound, "no model is being prepared")

// withdrawModel appends the event that withdraws an announced model, which an actor may have asked for, and returns its sequence. The error is Stale where
// the model was applied or withdrawn meanwhile.
func (w *Writer) withdrawModel(ctx context.Context, p *model.Proposal, why, actor string) (seq uint64, err error) {
	body, err := json.Marshal(map[string]string{"reason": why})
	if err != nil {
		return 0, err
	}
	return w.Log.Append(ctx, &fanfold.Event{Kind: fanfold.KindCancel, Body: body, Actor: actor}, fanfold.Exactly(fanfold.Revision(p.Seq)))
}

// maxReserved is how many paths of removed rules a model may leave reserved.
const maxReserved = 2000

// readModel reads and checks a model, with JSON of the removed rules that it brings, nil for none, one at a time: it may take a processor for a while. Errors are Invalid, TooLarge,
// ctx's, and Unprocessable where too many paths of removed rules would stay reserved.
func (w *Writer) readModel(ctx context.Context, src, retired []byte) (*model.Model, error) {
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
	if retired != nil {
		if err := json.Unmarshal(retired, &m.Retired); err != nil {
			return nil, fanfold.Wrap(err, fanfold.Invalid, "the removed rules that come with the model cannot be read")
		}
	}
	have, _, reserved := w.Models.Model()
	if !bytes.Equal(have.Source, m.Source) { // the one that applies was accepted, perhaps before copies had to say that they publish
		if err := flows.Check(m); err != nil {
			return nil, err
		}
		if err := checkFunctions(ctx, w, m); err != nil {
			return nil, err
		}
	}
	before, after := 0, 0
	for _, paths := range reserved {
		before += len(paths)
	}
	for _, paths := range model.Compare(have, m).Reserved(reserved) {
		after += len(paths)
	}
	if after > max(maxReserved, before) {
		return nil, fanfold.Errorf(fanfold.Unprocessable, "with this model %d paths of removed rules would be reserved; at most %d may be: release some that no client writes any more, with release: [path] in their collections", after, maxReserved)
	}
	return m, nil
}

// checkFunctions returns an Unprocessable that lists the mistakes in the sources of a model's functions.
func checkFunctions(ctx context.Context, w *Writer, m *model.Model) error {
	switch {
	case len(m.Functions) == 0:
		return nil
	case w.Functions == nil:
		return errNoFunctions
	}
	return w.Functions.Check(ctx, m)
}

// applyModel appends the event of a model that was previewed, and returns its sequence. The guards that are new in it are
// looked at again while no write is under way, and so are values that it would lose unreleased. The error is Stale where
// another event about models came meanwhile.
func (w *Writer) applyModel(ctx context.Context, m modelWrite) (applied uint64, err error) {
	have, _, _ := w.Models.Model()
	change := model.Compare(have, m.Model)
	err = w.withoutWrites(ctx, change.AddsGuards() || change.LosesUnreleased(), func(guards bool, stored func()) error {
		if guards {
			problems, err := w.Inspector.Guards(ctx, m.Model, m.misfits)
			if err == nil {
				err = inTheWay(problems)
			}
			if err != nil {
				return err
			}
		}
		applied, err = w.storeModel(ctx, m, guards, stored)
		return err
	})
	return applied, err
}

// withoutWrites calls fn. If the model has new guards, it first waits until no write is under way on any node and every
// acknowledged write is folded here. So no write comes between the last look at the documents and the model. fn calls
// stored once the log has decided about the model, after which the other nodes go on: they fold it first. Errors are fn's,
// and Unavailable.
func (w *Writer) withoutWrites(ctx context.Context, guards bool, fn func(guards bool, stored func()) error) error {
	if !guards {
		return fn(false, func() {})
	}
	release := func() {}
	if w.Members != nil {
		asking, cancel := context.WithTimeout(ctx, maxHoldWait)
		defer cancel()
		end, err := w.Members.RequestHold(asking)
		if err != nil {
			return err
		}
		release = sync.OnceFunc(end)
		defer release()
	}
	w.modelMu.Lock()
	defer w.modelMu.Unlock()
	if w.Members != nil {
		if err := w.Members.ConfirmHold(ctx); err != nil {
			return err
		}
	}
	if err := w.catchUp(ctx); err != nil {
		return err
	}
	return fn(guards, release)
}

// maxHoldWait bounds how long a model with new guards waits for the other nodes at a time.
const maxHoldWait = time.Minute

// storeModel appends the event of a model, and returns its sequence. It calls stored then. With guards it waits until the
// model is folded here, for guardFoldTime at most; writes of this node wait for that in any case. The error is Stale where
// another event about models came meanwhile.
func (w *Writer) storeModel(ctx context.Context, m modelWrite, guards bool, stored func()) (applied uint64, err error) {
	if guards && w.Members != nil { // looking at the documents may have taken long
		if err := w.Members.ConfirmHold(ctx); err != nil {
			return 0, err
		}
	}
	ev := &fanfold.Event{Kind: fanfold.KindModel, Body: m.Source, Fold: m.Fold, Actor: m.actor}
	if len(m.Retired) > 0 {
		if ev.Kept, err = json.Marshal(m.Retired); err != nil {
			return 0, err
		}
	}
	applied, err = w.Log.Append(ctx, ev, m.expect())
	w.counts.add("model", err)
	if fanfold.CodeOf(err) == fanfold.OutcomeUnknown && guards { // it may be stored yet, before this fence
		_ = w.catchUp(ctx)
	}
	if err != nil || !guards {
		return applied, err
	}
	w.hold.mustFold.Store(applied)
	stored()
	if err := w.wait(context.WithoutCancel(ctx), applied, guardFoldTime); err != nil {
		w.opt.Logger.Error("a model with new strict relations or unique members is stored and not folded: until it is, this node takes no writes", "seq", applied, "err", err)
	}
	return applied, nil
}

// guardFoldTime bounds how long who applies a model with new guards waits for its fold.
const guardFoldTime = time.Minute

// importModel applies a model that an import brings, and returns its event. It returns 0 where that model applies already,
// and no removed rule comes with it whose path is not reserved yet. It returns the errors of PutModel.
func (w *Writer) importModel(ctx context.Context, b *importBatch, opt ImportOptions) (applied uint64, err error) {
	if err := checkAdmin(opt.By); err != nil {
		return 0, err
	}
	have, seq, reserved := w.Models.Model()
	proposal, last := w.Models.Proposal()
	m, err := w.readModel(ctx, b.model, b.retired)
	if err == nil && seq == 0 && !w.opt.KeepFold { // as for a model that is put
		m.Fold, err = newestFold(ctx, w.Nodes, have.Fold)
	}
	if err == nil {
		err = mayNumber(m, have.Fold)
	}
	if err != nil {
		return 0, err
	}
	if err := checkFold(m, have); err != nil {
		return 0, err
	}
	if seq > 0 && bytes.Equal(m.Source, have.Source) && maps.EqualFunc(reserved, model.Compare(have, m).Reserved(reserved), slices.Equal) {
		return 0, nil
	}
	if len(m.Source)+len(b.retired) > w.opt.MaxEvent-envelopeRoom {
		return 0, fanfold.Errorf(fanfold.TooLarge, "the model and the removed rules that come with it are larger than the log takes")
	}
	if _, err = w.preview(ctx, m, ModelRequest{AllowMisfits: true, AllowRemoval: opt.AllowRemoval}); err != nil {
		return 0, err
	}
	if proposal != nil {
		return 0, beingPrepared(proposal)
	}
	return w.applyModel(ctx, modelWrite{m, last, actorOf(opt.By), true})
}
