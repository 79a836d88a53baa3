package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// watchedReader reads a connection that must not be silent for long. Between two Reads, while the loop's body runs, nothing
// is watched.
type watchedReader struct {
	r     io.Reader
	alive func() // starts to watch
	pause func() // ends it
}

// Read implements io.Reader.
func (w *watchedReader) Read(p []byte) (int, error) {
	w.alive()
	defer w.pause()
	return w.r.Read(p)
}

// event is one server-sent event (WHATWG HTML, 9.2).
type event struct {
	id, name string
	data     []byte
}

// eventReader reads server-sent events, each of limit bytes at most.
type eventReader struct {
	in    *bufio.Reader
	limit int
	line  []byte // reused
}

// newEventReader returns a reader of the events in r.
func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next returns the next event that has data. The error is the reader's, or an *Error
// for an event that is too long.
func (e *eventReader) next() (ev event, err error) {
	size := 0
	for {
		line, err := e.readLine()
		if err != nil {
			return ev, err
		}
		if size += len(line); size > e.limit {
			return ev, tooLong(e.limit)
		}
		if len(line) == 0 {
			if ev.data != nil {
				return ev, nil
			}
			ev, size = event{}, 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			ev.id = string(value)
		case "event":
			ev.name = string(value)
		case "data":
			if ev.data != nil {
				ev.data = append(ev.data, '\n')
			}
			ev.data = append(ev.data, value...)
		}
	}
}

// readLine returns a line without its end, valid until the next call. The error is the reader's, or an *Error for a line
// that is too long.
func (e *eventReader) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.in.ReadSlice('\n')
		e.line = append(e.line, part...)
		if len(e.line) > e.limit {
			return nil, tooLong(e.limit)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(e.line[:len(e.line)-1], []byte("\r")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// readEvents yields the changes of a stream of server-sent events until it ends. The error is nil then, errStop, or an
// *Error.
func (f *follower) readEvents(body io.Reader) error {
	in := newEventReader(body, f.c.opt.MaxAnswer)
	for {
		ev, err := in.next()
		var own *Error
		switch {
		case errors.As(err, &own):
			return own
		case err != nil:
			return nil //nolint:nilerr // the connection broke; run resumes
		}
		switch ev.name {
		case "change":
			if err := f.row(ev.data); err != nil {
				return err
			}
		case "error": // what the server could tell only once the answer had begun
			if failure, ok := parseProblem(ev.data); ok {
				failure.Status = statusIn(ev.data)
				return failure
			}
		case "heartbeat":
			if ev.id != "" {
				f.at(ev.id)
			}
		case "end": // the client may read other collections by now; the next answer shows them
			if ev.id != "" {
				f.at(ev.id)
			}
			return nil
		}
	}
}

// statusIn returns the status that a problem document names, 0 for none.
func statusIn(problem []byte) int {
	var p struct{ Status int }
	_ = json.Unmarshal(problem, &p) // without a status the failure is one that passes
	return p.Status
}

// readAnswer yields the changes of an answer that is one JSON object, and then ends the loop. The error is errStop, an
// *Error, or nil where the connection broke before the answer's end.
func (f *follower) readAnswer(body io.Reader) error {
	in := json.NewDecoder(&boundedLines{r: body, limit: f.c.opt.MaxAnswer})
	for { // what comes before the elements of results
		t, err := in.Token()
		if err != nil {
			return f.cut(err)
		}
		if t == json.Delim('[') {
			break
		}
	}
	for in.More() {
		var text json.RawMessage
		if err := in.Decode(&text); err != nil {
			return f.cut(err)
		}
		if err := f.row(text); err != nil {
			return err
		}
	}
	rest, err := readRest(in)
	if err != nil {
		return f.cut(err)
	}
	if rest.noValue > 0 && f.opt.OnNoValue != nil {
		f.opt.OnNoValue(rest.noValue)
	}
	if rest.last != "" {
		f.at(rest.last)
	}
	if rest.ended {
		return nil
	}
	return errStop
}

// answerRest is what an answer says after its changes.
type answerRest struct {
	last    string
	noValue int64
	ended   bool // before the newest change: the client may read other collections by now
}

// readRest reads what comes after the elements of results, up to the end of the object.
func readRest(in *json.Decoder) (rest answerRest, err error) {
	if _, err := in.Token(); err != nil { // the end of results
		return rest, err
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return rest, err
		}
		var value json.RawMessage
		into := any(&value)
		switch name {
		case "last_seq":
			into = &rest.last
		case "noValue":
			into = &rest.noValue
		case "end":
			rest.ended = true
		}
		if err := in.Decode(into); err != nil {
			return rest, err
		}
	}
	_, err = in.Token()
	return rest, err
}

// cut returns the error for an answer that ended early: nil where the loop resumes.
func (f *follower) cut(err error) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return nil
}
