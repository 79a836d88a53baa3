package writer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// Nodes knows the nodes of the store.
type Nodes interface {
	// Folds returns which versions of the fold the programs of the live nodes know, this node included. The error is
	// Unavailable where that cannot be found out.
	Folds(ctx context.Context) ([]NodeFolds, error)
}

// NodeFolds says which versions of the fold the program of a node knows.
type NodeFolds struct {
	ID, Address    string
	Oldest, Newest int
}

// UpgradeRequest asks for another version of the fold.
type UpgradeRequest struct {
	Version    int
	Background *bool          // it is prepared while the version before is in force; nil where it concerns many documents
	By         *access.Rights // of who asks for it: see Intent
}

// Upgrade sets the version of the fold for all nodes, with the event of the model that applies. It does so at once, or announces it to be
// prepared in the background; WaitForModel waits for it then. If the version is in force already, it changes nothing, and Preview is nil. It
// blocks for as long as looking at the documents takes that it concerns. Conflict says that a live node does not know the version (Problems
// names it), or that a model is being prepared or came meanwhile. It returns Unprocessable for a version before the one in force, and the
// errors of PutModel. It needs the role admin.
func (w *Writer) Upgrade(ctx context.Context, req UpgradeRequest) (ModelResult, error) {
	if err := checkAdmin(req.By); err != nil {
		return ModelResult{}, err
	}
	ctx = w.observe(ctx)
	proposal, last := w.Models.Proposal()
	have, seq, _ := w.Models.Model()
	switch {
	case req.Version == have.Fold:
		return ModelResult{Applied: seq}, nil
	case req.Version < have.Fold:
		return ModelResult{}, fanfold.Errorf(fanfold.Unprocessable, "version %d of the fold is in force, and the log does not go back to version %d: events are folded by the version that was in force when they came", have.Fold, req.Version)
	case proposal != nil:
		return ModelResult{}, beingPrepared(proposal)
	}
	if err := w.knownByAll(ctx, req.Version); err != nil {
		return ModelResult{}, err
	}
	m := *have
	m.Fold = req.Version
	objection := func(p *model.Preview) error { return inTheWay(p.Problems) }
	preview, err := w.inspectModel(ctx, &m, ModelRequest{}, objection)
	if err == nil {
		err = objection(preview)
	}
	if err != nil {
		return ModelResult{}, err
	}
	if err := checkAdmin(req.By); err != nil {
		return ModelResult{}, err
	}
	result, err := w.decideModel(ctx, modelWrite{&m, last, actorOf(req.By), true}, preview, req.Background)
	return result, overtaken(err)
}

// newestFold returns the newest version that the program of each live node knows, and at least the one in force.
func newestFold(ctx context.Context, live Nodes, have int) (int, error) {
	nodes, err := live.Folds(ctx)
	if err != nil || len(nodes) == 0 {
		return have, err
	}
	newest := nodes[0].Newest
	for _, n := range nodes {
		newest = min(newest, n.Newest)
	}
	return max(have, newest), nil
}

// checkFold returns an Unprocessable where a model has something that the version of the fold in force does not know.
func checkFold(m, have *model.Model) error {
	in, names := max(m.Fold, have.Fold), m.Capitals()
	publishes := slices.ContainsFunc(m.Rules, func(r *model.Rule) bool { return r.Publish })
	if in >= model.ChecksFrom || !m.HasChecks() && !m.HasFunctions() && !m.HasRules() && !publishes && len(names) == 0 {
		return nil
	}
	has := "checks"
	switch {
	case publishes:
		has = "publish"
	case m.HasRules():
		has = "access with where, or with create, update or delete, or a private member"
	case m.HasFunctions():
		has = "functions"
	case len(names) > 0:
		has = "capitals in the name " + names[0]
	}
	return fanfold.Errorf(fanfold.Unprocessable, "the model has %s, which version %d of the fold does not know; nothing was changed: set version %d first (fanfold upgrade, docs/run/upgrade.md)", has, in, model.ChecksFrom)
}

// lossVersion is the first version whose programs know the events by which the log loses something.
const lossVersion = 9

// MayLose returns a Conflict while an earlier version is in force: its programs would stop at such an event. Before the first model the version is the
// one that it would bring. The other error is Unavailable.
func MayLose(ctx context.Context, w *Writer) error {
	m, seq, _ := w.Models.Model()
	version := m.Fold
	if seq == 0 {
		var err error
		if version, err = newestFold(ctx, w.Nodes, 0); err != nil {
			return err
		}
	}
	if version >= lossVersion {
		return nil
	}
	return fanfold.Errorf(fanfold.Conflict, "version %d of the fold is in force, and nothing goes from the log before version %d is: replace all programs, and change the version with fanfold upgrade (docs/run/upgrade.md)", version, lossVersion)
}

// maxNodesNamed is how many nodes a refusal names.
const maxNodesNamed = 100

// knownByAll returns a Conflict where the program of a live node does not know a version of the fold, which Problems names.
func (w *Writer) knownByAll(ctx context.Context, version int) error {
	nodes, err := w.Nodes.Folds(ctx)
	if err != nil {
		return err
	}
	var problems []fanfold.Problem
	for _, n := range nodes {
		if (version < n.Oldest || version > n.Newest) && len(problems) < maxNodesNamed {
			problems = append(problems, fanfold.Problem{Path: "nodes/" + n.ID, Detail: fmt.Sprintf("the node at %s knows the versions %d to %d", n.Address, n.Oldest, n.Newest)})
		}
	}
	if problems == nil {
		return nil
	}
	return &fanfold.Error{Code: fanfold.Conflict, Problems: problems,
		Message: fmt.Sprintf("version %d of the fold is not known to every live node, and nothing was changed: replace the programs of these first (docs/run/upgrade.md)", version)}
}

// activateAgain is the time after which Run tries again to apply a model.
const activateAgain = time.Second

// Run applies models whose preparation this node has finished. The first node that has finished does it for all. Run
// blocks until ctx ends, and then returns nil.
func (w *Writer) Run(ctx context.Context) error {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.Models.Ready():
		case <-again:
		}
		again = nil
		ctx := w.observe(ctx)
		p, _ := w.Models.Proposal()
		if p == nil {
			continue
		}
		if err := w.activate(ctx, p); err != nil && ctx.Err() == nil {
			w.opt.Logger.Error("a model that is prepared cannot be applied yet", "model", p.Seq, "err", err)
			again = time.After(activateAgain)
		}
	}
}

// activate appends the event that applies a prepared model, or the event that withdraws it where documents stand in its
// way. It returns nil where another node was faster.
func (w *Writer) activate(ctx context.Context, p *model.Proposal) error {
	if w.opt.BeforeActivate != nil {
		if err := w.opt.BeforeActivate(ctx); err != nil {
			return err
		}
	}
	if version := p.Model.Fold; version != 0 { // an older program may have been started since
		if err := w.knownByAll(ctx, version); fanfold.CodeOf(err) == fanfold.Conflict {
			_, err = w.withdrawModel(ctx, p, err.Error(), "")
			return settled(err)
		} else if err != nil {
			return err
		}
	}
	m := *p.Model
	m.Source = p.Source
	have, _, _ := w.Models.Model()
	change := model.Compare(have, p.Model)
	err := w.withoutWrites(ctx, change.AddsGuards() || change.LosesUnreleased(), func(guards bool, stored func()) error {
		problems, err := w.Models.Objections(p.Seq)
		if err == nil && (len(change.NewSequences()) > 0 || change.ChangesCapitals()) { // numbers or documents were written meanwhile, perhaps
			var standing []fanfold.Problem
			standing, err = w.Inspector.Guards(ctx, p.Model, true)
			problems = append(problems, standing...)
		}
		switch {
		case fanfold.CodeOf(err) == fanfold.NotFound: // Ready receives when the preparation has finished
			return nil
		case err != nil:
			return err
		case len(problems) > 0:
			e := &fanfold.Error{Code: fanfold.Unprocessable, Message: "documents that were written meanwhile break it", Problems: problems}
			_, err = w.withdrawModel(ctx, p, e.Error(), "")
			return err
		}
		_, err = w.storeModel(ctx, modelWrite{&m, p.Seq, p.Actor, true}, guards, stored)
		return err
	})
	return settled(err)
}

// settled returns err, or nil where it says that another node has applied the model, or withdrawn it.
func settled(err error) error {
	if staleError(err) != nil {
		return nil //nolint:nilerr // what was to be done is done
	}
	return err
}
