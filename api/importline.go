package api

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// refusal is a line that was not stored.
type refusal struct {
	Line   int    `json:"line"`
	Status int    `json:"status"`
	Type   string `json:"type"`
	Detail string `json:"detail"`

	number int // of the line in the stream, where Line is another file's
}

func refusalOf(line int, err error) refusal {
	var e *fanfold.Error
	if !errors.As(err, &e) {
		e = fanfold.Errorf(fanfold.Internal, "the server made a mistake")
	}
	status := statusOf[e.Code]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	detail := e.Message
	for _, p := range e.Problems {
		detail += "; " + p.Path + ": " + p.Detail
	}
	return refusal{Line: line, Status: status, Type: ProblemType(e.Code), Detail: detail}
}

var errLongLine = fanfold.Errorf(fanfold.TooLarge, "the line has more than %d bytes", maxLine)

// readLine returns the next line without its end, trimmed; errLongLine for one that is not kept.
func (im *importRun) readLine() ([]byte, error) {
	im.line = im.line[:0]
	long := false
	for {
		piece, err := im.in.ReadSlice('\n')
		if long = long || len(im.line)+len(piece) > maxLine; !long {
			im.line = append(im.line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(im.line) > 0 || long), err == nil:
			if long {
				return nil, errLongLine
			}
			line := im.line
			if im.next == 1 {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // a byte order mark
			}
			return bytes.Trim(line, " \t\r\n"), nil
		default:
			return nil, err
		}
	}
}

// parse makes an event of a line: a document of the collection that the request names, or an
// object that says more. shown is the number that a refusal is told under.
func (im *importRun) parse(line []byte, number int) (ev *fanfold.Event, shown int, err error) {
	s := im.s
	ev = &fanfold.Event{Kind: fanfold.KindPut}
	if im.collection != "" {
		if int64(len(line)) > s.opt.MaxBody {
			return nil, number, fanfold.Errorf(fanfold.TooLarge, "the document has %d bytes; at most %d are taken", len(line), s.opt.MaxBody)
		}
		ev.Key.Collection = im.collection
		ev.Body, _, err = s.written(bytes.Clone(line), &ev.Key, false)
		return ev, number, err
	}
	if err := s.checkDepth(line, s.opt.MaxDepth+3); err != nil {
		return nil, number, err
	}
	t := jsondoc.MustParse(line)
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, number, errEnvelope
	}
	var body []byte
	contents, exact, guardsLast := 0, false, false
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		switch t.Key(n) {
		case "line":
			if at, bad := strconv.Atoi(t.Text(n)); bad == nil {
				number = at
			} else {
				err = errEnvelope
			}
		case "collection":
			ev.Key.Collection = t.Text(n)
			err = fanfold.CheckCollection(ev.Key.Collection)
		case "doc":
			body, contents = bytes.Clone(t.Raw(n)), contents+1
		case "text":
			body, contents, exact = []byte(t.Text(n)), contents+1, true
			if t.Kind(n) != jsondoc.String {
				err = fanfold.Errorf(fanfold.Invalid, `"text" must be a string`)
			}
		case "kept":
			ev.Kept = bytes.Clone(t.Raw(n))
		case "refused": // by whoever made the line, to be told with the others
			err = fanfold.Errorf(fanfold.Invalid, "%s", t.Text(n))
		case "model":
			ev.Kind, ev.Body = fanfold.KindModel, bytes.Clone(t.Raw(n))
		case "guards":
			if guardsLast = t.Text(n) == "last"; !guardsLast {
				err = errEnvelope
			}
		default:
			err = errEnvelope
		}
		if err != nil {
			return nil, number, err
		}
	}
	switch {
	case contents > 1, guardsLast && ev.Kind != fanfold.KindModel, ev.Kind == fanfold.KindModel && (body != nil || ev.Key.Collection != "" || ev.Kept != nil), ev.Kind == fanfold.KindPut && (body == nil || ev.Key.Collection == ""):
		return nil, number, errEnvelope
	case ev.Kind == fanfold.KindModel && guardsLast:
		ev.Body, err = im.unguarded(ev.Body)
		return ev, number, err
	case ev.Kind == fanfold.KindModel:
		return ev, number, nil
	case int64(len(body)) > s.opt.MaxBody:
		return nil, number, fanfold.Errorf(fanfold.TooLarge, "the document has %d bytes; at most %d are taken", len(body), s.opt.MaxBody)
	}
	if err := checkKept(ev.Kept); err != nil {
		return nil, number, err
	}
	if most := s.log.MaxPayload() - envelopeRoom; len(body)+len(ev.Kept) > most {
		return nil, number, fanfold.Errorf(fanfold.TooLarge, "the document and what it has kept have %d bytes; the log takes at most %d", len(body)+len(ev.Kept), most)
	}
	if exact {
		ev.Body, err = s.exact(body, &ev.Key)
	} else {
		ev.Body, _, err = s.written(body, &ev.Key, false)
	}
	return ev, number, err
}

// unguarded is a model without strict relations and unique members, which a later line brings: until
// then documents may refer to those behind them. The model that applies stays as it is.
func (im *importRun) unguarded(src []byte) ([]byte, error) {
	m, err := im.s.models.Parse(src)
	if err != nil {
		return nil, err
	}
	have, _, _ := im.s.models.Model()
	if without := m.Unguarded(); without != nil && !bytes.Equal(have.Source, m.Source) {
		return without, nil
	}
	return src, nil
}

var errEnvelope = fanfold.Errorf(fanfold.Invalid, `a line is {"collection":"...","doc":{...}}, as _export writes it; with ?collection= it is the document itself`)

// checkKept checks kept values: an object by rule of objects by id.
func checkKept(kept []byte) error {
	if kept == nil {
		return nil
	}
	t := jsondoc.MustParse(kept)
	ok := t.Kind(jsondoc.Root) == jsondoc.Object
	for n := t.First(jsondoc.Root); ok && n != jsondoc.None; n = t.Next(n) {
		ok = t.Kind(n) == jsondoc.Object
	}
	if !ok {
		return fanfold.Errorf(fanfold.Invalid, `"kept" is an object of objects: by rule, then by id`)
	}
	return nil
}
