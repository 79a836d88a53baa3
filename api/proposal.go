package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// backgroundFrom is how many documents applying a model may look at and still be done at once, where the
// request does not say: more hold up folding for longer than a write should wait.
const backgroundFrom = 30_000

// underWay refuses a model while another is to come.
func (s *Server) underWay(p *fanfold.Proposal) error {
	return fanfold.Errorf(fanfold.Conflict, "the model of event %d is being prepared: see /v1/_status; wait for it, or withdraw it with DELETE /v1/_model/_pending", p.Seq)
}

// propose announces a model, for which every node makes itself ready while the one before applies.
func (s *Server) propose(c echo.Context, m *fanfold.Model, last uint64, report ModelPreview, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), limit)
	defer cancel()
	seq, err := s.log.Append(ctx, &fanfold.Event{Kind: fanfold.KindPrepare, Body: m.Source}, fanfold.Exactly(fanfold.Revision(last)))
	if err != nil {
		return err
	}
	var applied uint64
	if err = s.reader.Wait(ctx, seq); err == nil {
		applied, err = s.models.Settled(ctx, seq)
	}
	switch {
	case err == nil:
		return s.answerModel(c, applied, report, limit)
	case fanfold.CodeOf(err) == fanfold.Unprocessable:
		return err
	}
	h := c.Response().Header()
	h.Set("Location", "/v1/_status")
	h.Set(headerPosition, fanfold.At(seq, 0).String())
	return c.JSON(http.StatusAccepted, report)
}

// getPending answers the model that is to come.
func (s *Server) getPending(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	p, _ := s.models.Proposal()
	if p == nil {
		return errNoProposal
	}
	c.Response().Header().Set(headerRevision, strconv.FormatUint(p.Seq, 10))
	return c.JSONBlob(http.StatusOK, p.Source)
}

var errNoProposal = fanfold.Errorf(fanfold.NotFound, "no model is being prepared")

// withdraw cancels the model that is to come.
func (s *Server) withdraw(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	limit, err := s.timeout(c)
	if err != nil {
		return err
	}
	p, _ := s.models.Proposal()
	if p == nil {
		return errNoProposal
	}
	ctx := c.Request().Context()
	seq, err := s.cancel(ctx, p, "a request asked for it")
	if fanfold.CodeOf(err) == fanfold.Stale {
		return fanfold.Errorf(fanfold.Conflict, "the model of event %d applies by now, or was withdrawn: see GET /v1/_model", p.Seq)
	}
	if err != nil {
		return err
	}
	c.Response().Header().Set(headerPosition, fanfold.At(seq, 0).String())
	if err := s.wait(ctx, seq, limit); err != nil {
		return c.NoContent(http.StatusAccepted)
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) cancel(ctx context.Context, p *fanfold.Proposal, why string) (seq uint64, err error) {
	body, err := json.Marshal(map[string]string{"reason": why})
	if err != nil {
		return 0, err
	}
	return s.log.Append(ctx, &fanfold.Event{Kind: fanfold.KindCancel, Body: body}, fanfold.Exactly(fanfold.Revision(p.Seq)))
}

// activateAll lets models apply that this node is ready for, until ctx ends. The first node that is
// ready does it for all.
func (s *Server) activateAll(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.models.Ready():
		case <-again:
		}
		again = nil
		p, _ := s.models.Proposal()
		if p == nil {
			continue
		}
		if err := s.activate(ctx, p); err != nil && ctx.Err() == nil {
			s.opt.Logger.Error("a model that is prepared cannot be applied yet", "model", p.Seq, "err", err)
			again = time.After(time.Second)
		}
	}
}

// activate lets a model apply. Where it has new strict relations or unique members, no write of this
// node comes between the last look at the documents and the model's fold.
func (s *Server) activate(ctx context.Context, p *fanfold.Proposal) error {
	if s.opt.BeforeActivate != nil {
		if err := s.opt.BeforeActivate(ctx); err != nil {
			return err
		}
	}
	have, _, _ := s.models.Model()
	guards := p.Model.AddsGuards(have)
	if guards {
		s.remodeling.Lock()
		defer s.remodeling.Unlock()
		if err := s.catchUp(ctx); err != nil {
			return err
		}
	}
	problems, err := s.models.Broken(p.Seq)
	if fanfold.CodeOf(err) == fanfold.Gone { // when it is ready, Ready will say so
		return nil
	}
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		e := &fanfold.Error{Code: fanfold.Unprocessable, Message: "documents that were written meanwhile break it", Problems: problems}
		_, err = s.cancel(ctx, p, e.Error())
	} else {
		_, err = s.storeModel(ctx, p.Source, p.Seq, guards)
	}
	if fanfold.CodeOf(err) == fanfold.Stale { // another node did it, or it was withdrawn
		return nil
	}
	return err
}
