package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// Bounds of an import.
const (
	importBatch  = 999              // documents stored at once, besides how far the import has come
	importBytes  = 4 << 20          // of such a batch
	importAhead  = 20_000           // events that an import may be ahead of the fold
	importPause  = 30 * time.Second // how long a client may take to send or to read a piece
	maxLine      = 16 << 20         // of a line, in bytes
	importSettle = time.Minute      // for the fold, at the end
)

const ndjsonType = "application/x-ndjson"

// importProgress is how far an import has come: what its last event in the log says.
type importProgress struct {
	Line    int `json:"line"` // everything up to it is stored or was refused
	Written int `json:"written"`
	Refused int `json:"refused"`
}

// getImport answers how far an import has come.
func (s *Server) getImport(c echo.Context) error {
	if err := parameters(c, "id"); err != nil {
		return err
	}
	id := c.QueryParam("id")
	if err := fanfold.CheckID(id); err != nil {
		return err
	}
	p, rev, err := s.importAt(c.Request().Context(), id)
	if err != nil {
		return err
	}
	if rev == 0 {
		return fanfold.Errorf(fanfold.NotFound, "there is no import %q", id)
	}
	return c.JSON(http.StatusOK, p)
}

// importAt reads an import's last event; its revision is 0 where there is none.
func (s *Server) importAt(ctx context.Context, id string) (p importProgress, rev fanfold.Revision, err error) {
	body, rev, err := s.log.Progress(ctx, id)
	if err == nil && rev != 0 {
		err = json.Unmarshal(body, &p)
	}
	return p, rev, err
}

// importLines answers POST /v1/_import. What is wrong with the request as a whole is a problem;
// afterwards lines of NDJSON tell of refused lines, of progress and of the end.
func (s *Server) importLines(c echo.Context) error {
	im, err := s.newImport(c)
	if err != nil {
		return err
	}
	if err := supported(im.control.EnableFullDuplex()); err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", ndjsonType)
	h.Set("Connection", "close")                // an import that ends early leaves the connection with a deadline that has passed
	if c.Request().Header.Get("Expect") != "" { // net/http does it at the first read only, which comes after the header
		c.Response().Writer.WriteHeader(http.StatusContinue)
	}
	c.Response().WriteHeader(http.StatusOK)
	im.finish(im.run(c.Request().Context()))
	return nil
}

func (s *Server) newImport(c echo.Context) (*importRun, error) {
	if err := parameters(c, "collection", "id", "resume", "first", "allowFanout"); err != nil {
		return nil, err
	}
	if _, err := mediaType(c, ndjsonType, "application/jsonl"); err != nil {
		return nil, err
	}
	if c.Request().Header.Get(headerOnce) != "" {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s does not go with an import: give it an id and resume it", headerOnce)
	}
	im := &importRun{s: s, id: c.QueryParam("id"), collection: c.QueryParam("collection"), next: 1, out: c.Response(), control: http.NewResponseController(c.Response())}
	if im.collection != "" {
		if err := fanfold.CheckCollection(im.collection); err != nil {
			return nil, err
		}
	}
	resume, err := boolParam(c, "resume")
	if err != nil {
		return nil, err
	}
	if im.allow, err = boolParam(c, "allowFanout"); err != nil {
		return nil, err
	}
	if first := c.QueryParam("first"); first != "" {
		if im.next, err = strconv.Atoi(first); err != nil || im.next < 1 {
			return nil, fanfold.Errorf(fanfold.Invalid, "first=%s is not the number of a line", first)
		}
	}
	if im.id == "" {
		if resume {
			return nil, fanfold.Errorf(fanfold.Invalid, "only an import with an id can be resumed")
		}
	} else {
		if err := fanfold.CheckID(im.id); err != nil {
			return nil, err
		}
		p, rev, err := s.importAt(c.Request().Context(), im.id)
		if err != nil {
			return nil, err
		}
		if im.stored, im.resume = rev, resume; resume {
			im.at, im.skip, im.last = p, p.Line, uint64(rev)
		}
	}
	if im.next > im.at.Line+1 {
		return nil, fanfold.Errorf(fanfold.Conflict, "the import is at line %d; line %d does not follow", im.at.Line, im.next)
	}
	im.in = bufio.NewReaderSize(&pacedReader{r: c.Request().Body, control: im.control}, 64<<10)
	return im, nil
}

// pacedReader gives the client time for each piece, not for the whole.
type pacedReader struct {
	r       io.Reader
	control *http.ResponseController
}

func (p *pacedReader) Read(b []byte) (int, error) {
	if err := supported(p.control.SetReadDeadline(time.Now().Add(importPause))); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}

// importRun is one import on its way. Lines are read and checked while the batch before them is
// being stored.
type importRun struct {
	s          *Server
	id         string
	resume     bool
	allow      bool // past the model's fanout limit
	collection string
	in         *bufio.Reader
	next       int // the number of the next line read
	skip       int // lines that were stored when the import began
	out        io.Writer
	control    *http.ResponseController

	at     importProgress   // stored
	stored fanfold.Revision // the event that says so
	last   uint64           // the last event stored
	line   []byte
}

// importItem is what is stored at once: documents, or a model.
type importItem struct {
	writes   []fanfold.Write
	lines    []int // of the writes
	shown    []int // the lines that refusals tell
	model    []byte
	bytes    int
	keys     map[fanfold.Key]struct{}
	line     int // the last one it covers
	refusals []refusal
	err      error // reading ended with it
}

// run stores everything and returns nil once all of it is.
func (im *importRun) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	items := make(chan *importItem, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(items)
		im.read(ctx, items)
	}()
	defer func() {
		cancel()
		select {
		case <-done:
		default:
			_ = im.control.SetReadDeadline(time.Now()) // a client that sends no more must not hold up the end
			<-done
		}
	}()
	for item := range items {
		if err := im.store(ctx, item); err != nil {
			return err
		}
		if item.err != nil {
			return item.err
		}
	}
	return ctx.Err()
}

// read makes batches of the lines.
func (im *importRun) read(ctx context.Context, items chan<- *importItem) {
	item := &importItem{keys: map[fanfold.Key]struct{}{}}
	send := func() bool {
		select {
		case items <- item:
			item = &importItem{keys: map[fanfold.Key]struct{}{}, line: item.line}
			return true
		case <-ctx.Done():
			return false
		}
	}
	for {
		line, err := im.readLine()
		if err != nil && !errors.Is(err, errLongLine) {
			if errors.Is(err, io.EOF) {
				err = im.control.SetReadDeadline(time.Time{}) // net/http would take it for the client's end
			}
			if err != nil && !errors.Is(err, http.ErrNotSupported) {
				item.err = bodyError(err, 0)
			}
			send()
			return
		}
		number := im.next
		im.next++
		if number <= im.skip || err == nil && len(line) == 0 {
			item.line = max(item.line, number)
			continue
		}
		var ev *fanfold.Event
		shown := number
		if err == nil {
			ev, shown, err = im.parse(line, number)
		}
		if err != nil {
			item.line = number
			r := refusalOf(shown, err)
			r.number = number
			item.refusals = append(item.refusals, r)
			if len(item.refusals) >= importBatch && !send() {
				return
			}
			continue
		}
		if ev.Kind == fanfold.KindModel {
			if !send() {
				return
			}
			item.model, item.line = ev.Body, number
			if !send() || !im.settled(ctx, items) { // what follows is checked against it
				return
			}
			continue
		}
		if _, twice := item.keys[ev.Key]; twice || len(item.writes) == importBatch || item.bytes+len(ev.Body)+len(ev.Kept) > importBytes && len(item.writes) > 0 {
			if !send() {
				return
			}
		}
		item.keys[ev.Key] = struct{}{}
		item.writes, item.lines = append(item.writes, fanfold.Write{Event: ev}), append(item.lines, number)
		item.shown = append(item.shown, shown)
		item.bytes += len(ev.Body) + len(ev.Kept)
		item.line = number
	}
}

// settled waits until everything sent is stored: an empty batch is taken after them.
func (im *importRun) settled(ctx context.Context, items chan<- *importItem) bool {
	for range 2 { // one waits in the channel, one is taken when that one is done
		select {
		case items <- &importItem{}:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// send writes a piece of the answer.
func (im *importRun) send(b []byte) error {
	if err := supported(im.control.SetWriteDeadline(time.Now().Add(importPause))); err != nil {
		return err
	}
	if _, err := im.out.Write(b); err != nil {
		return err
	}
	return im.control.Flush()
}

func (im *importRun) wait(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, importSettle)
	defer cancel()
	err := im.s.reader.Wait(ctx, seq)
	if errors.Is(err, context.DeadlineExceeded) {
		return fanfold.Errorf(fanfold.Timeout, "this node stands at event %d and did not reach %d within %v", im.s.reader.Applied(), seq, importSettle)
	}
	return err
}

// model applies a model, unless it is the one that applies, and waits for its fold.
func (im *importRun) model(ctx context.Context, src []byte) error {
	if im.last > 0 {
		if err := im.wait(ctx, im.last); err != nil {
			return err
		}
	}
	have, seq, _ := im.s.models.Model()
	proposal, last := im.s.models.Proposal()
	m, _, err := im.s.models.Preview(ctx, src, true, true)
	if err != nil || seq > 0 && bytes.Equal(m.Source, have.Source) {
		return err
	}
	if proposal != nil {
		return im.s.underWay(proposal)
	}
	if im.last, err = im.s.applyModel(ctx, m, last, true); err != nil {
		return err
	}
	return im.wait(ctx, im.last)
}

// finish waits for the fold and writes the last line, which says whether everything was read.
func (im *importRun) finish(err error) {
	if err == nil && im.last > 0 {
		err = im.wait(context.Background(), im.last)
	}
	end := map[string]any{"done": err == nil, "line": im.at.Line, "written": im.at.Written, "refused": im.at.Refused, "position": fanfold.At(im.last, 0)}
	if err != nil {
		r := refusalOf(im.at.Line+1, err)
		end["status"], end["type"], end["detail"] = r.Status, r.Type, r.Detail
		if r.Status >= http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
			im.s.opt.Logger.Error("an import ended early", "line", im.at.Line, "err", err)
		}
	}
	b, merr := json.Marshal(end)
	if merr == nil {
		merr = im.send(append(b, '\n'))
	}
	if merr != nil {
		panic(http.ErrAbortHandler) // a cut answer must not look whole
	}
}
