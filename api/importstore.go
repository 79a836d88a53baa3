package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
)

// store appends a batch, tells what was refused and how far the import is.
func (im *importRun) store(ctx context.Context, item *importItem) error {
	if item.line <= im.at.Line { // nothing new
		return nil
	}
	item.after(im.at.Line) // another request may have stored some of it
	if err := im.bound(ctx, item); err != nil {
		return err
	}
	if im.last > importAhead { // the fold must not be left far behind
		if err := im.wait(ctx, im.last-importAhead); err != nil {
			return err
		}
	}
	p := importProgress{Line: item.line, Written: im.at.Written + len(item.writes), Refused: im.at.Refused + len(item.refusals)}
	if item.model != nil {
		if err := im.model(ctx, item.model); err != nil {
			var e *fanfold.Error
			if !errors.As(err, &e) || statusOf[e.Code] >= http.StatusInternalServerError || statusOf[e.Code] == 0 {
				return err
			}
			item.refusals = append(item.refusals, refusalOf(item.line, err))
			p.Refused++
			item.model = nil
		}
	}
	writes := slices.Clip(item.writes)
	if im.id != "" {
		body, err := json.Marshal(p)
		if err != nil {
			return err
		}
		writes = append(writes, fanfold.Write{Expect: fanfold.Exactly(im.stored),
			Event: &fanfold.Event{Kind: fanfold.KindImport, Key: fanfold.Key{ID: im.id}, Body: body}})
	}
	if len(writes) > 0 {
		last, err := im.append(ctx, writes)
		if im.refused(item, err) {
			return im.store(ctx, item)
		}
		if half := len(item.writes) / 2; errors.Is(err, errMessages) && half > 0 {
			rest := item.split(half)
			if err := im.store(ctx, item); err != nil {
				return err
			}
			return im.store(ctx, rest)
		}
		switch fanfold.CodeOf(err) {
		case "":
		case fanfold.Stale:
			if err := im.overtaken(ctx); err != nil {
				return err
			}
			return im.store(ctx, item)
		default:
			return err
		}
		im.last = last
		im.stored = fanfold.Revision(im.last)
	}
	im.at = p
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, r := range item.refusals {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	if err := enc.Encode(map[string]any{"progress": im.at, "position": fanfold.At(im.last, 0)}); err != nil {
		return err
	}
	return im.send(b.Bytes())
}

// append appends a batch and returns its last sequence. Its lines were bounded one by one.
func (im *importRun) append(ctx context.Context, writes []fanfold.Write) (last uint64, err error) {
	im.s.remodeling.RLock()
	defer im.s.remodeling.RUnlock()
	if !im.s.constrained(writes) {
		first, err := im.s.log.AppendAll(ctx, "", writes)
		return first + uint64(len(writes)) - 1, err
	}
	if err := im.wait(ctx, im.last); err != nil { // the lines may refer to those before
		return 0, err
	}
	_, last, err = im.s.appendConstrained(context.WithValue(ctx, intentKey{}, intent{allow: true}), "", writes)
	return last, err
}

// refused takes the line that an error is about out of the batch.
func (im *importRun) refused(item *importItem, err error) bool {
	var e *fanfold.Error
	if errors.Is(err, errMessages) && len(item.writes) == 1 {
		err = fanfold.AtOperation(err, 0)
	}
	if !errors.As(err, &e) || e.Operation == nil || *e.Operation >= len(item.writes) || e.Code != fanfold.Unprocessable && e.Code != fanfold.Conflict {
		return false
	}
	i := *e.Operation
	own := *e
	own.Message = strings.TrimPrefix(e.Message, fmt.Sprintf("operation %d: ", i))
	r := refusalOf(item.shown[i], &own)
	r.number = item.lines[i]
	item.refusals = append(item.refusals, r)
	item.writes, item.lines, item.shown = slices.Delete(item.writes, i, i+1), slices.Delete(item.lines, i, i+1), slices.Delete(item.shown, i, i+1)
	return true
}

// split leaves the first n writes, and returns the rest with what the item tells at its end.
func (item *importItem) split(n int) (rest *importItem) {
	rest = &importItem{writes: item.writes[n:], lines: item.lines[n:], shown: item.shown[n:], line: item.line}
	item.writes, item.lines, item.shown, item.line = item.writes[:n:n], item.lines[:n:n], item.shown[:n:n], item.lines[n-1]
	for _, r := range item.refusals {
		if r.number > item.line {
			rest.refusals = append(rest.refusals, r)
		}
	}
	item.refusals = slices.DeleteFunc(item.refusals, func(r refusal) bool { return r.number > item.line })
	return rest
}

// bound refuses the lines that would cause more than the model allows.
func (im *importRun) bound(ctx context.Context, item *importItem) error {
	if im.allow {
		ctx = context.WithValue(ctx, intentKey{}, intent{allow: true})
	}
	kept := 0
	for i, w := range item.writes {
		err := im.s.bounded(ctx, []fanfold.Write{w})
		switch fanfold.CodeOf(err) {
		case "":
			item.writes[kept], item.lines[kept], item.shown[kept] = w, item.lines[i], item.shown[i]
			kept++
		case fanfold.FanoutLimit:
			r := refusalOf(item.shown[i], err)
			r.number = item.lines[i]
			item.refusals = append(item.refusals, r)
		default:
			return err
		}
	}
	item.writes, item.lines, item.shown = item.writes[:kept], item.lines[:kept], item.shown[:kept]
	return nil
}

// overtaken takes over what another request of this import has stored meanwhile: one that was cut
// off may have had a batch on its way.
func (im *importRun) overtaken(ctx context.Context) error {
	p, rev, err := im.s.importAt(ctx, im.id)
	if err != nil {
		return err
	}
	if !im.resume || p.Line < im.at.Line {
		return fanfold.Errorf(fanfold.Conflict, "the import %q was begun anew by another request", im.id)
	}
	im.at, im.stored, im.last = p, rev, uint64(rev)
	return nil
}

// after drops what the item has of lines up to one.
func (item *importItem) after(line int) {
	done := 0
	for done < len(item.lines) && item.lines[done] <= line {
		done++
	}
	item.writes, item.lines, item.shown = item.writes[done:], item.lines[done:], item.shown[done:]
	item.refusals = slices.DeleteFunc(item.refusals, func(r refusal) bool { return r.number <= line })
}
