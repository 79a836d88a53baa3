package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// encode returns the JSON text of a value. Raw JSON stays as it is, byte for byte. The error is Invalid.
func encode(v any) ([]byte, error) {
	switch raw := v.(type) {
	case json.RawMessage:
		return raw, nil
	case *json.RawMessage:
		return *raw, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // what is stored is what was meant, and every JSON reader takes it
	if err := enc.Encode(v); err != nil {
		return nil, &Error{Code: Invalid, Detail: fmt.Sprintf("a %T cannot be written as JSON: %v", v, err), Err: err, unsent: true}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decode reads JSON text into out. Numbers without a type become a json.Number, so that a document that is read, changed
// and written again keeps every digit. The error is BadAnswer.
func decode(text []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return &Error{Code: BadAnswer, Detail: fmt.Sprintf("the answer does not fit a %T: %v", out, err), Err: err}
	}
	return nil
}

// answerOf returns what the answer to a request says, or the error of the request.
func answerOf[T any](a *answer, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, decode(a.body, out)
}

// Decode returns the JSON text of a document, such as Change.Doc, as a T. The zero T stands for no text. Numbers in an any
// are a json.Number.
func Decode[T any](text json.RawMessage) (value T, err error) {
	if len(text) == 0 {
		return value, nil
	}
	return value, decode(text, &value)
}

// documentID is an id in a document: a string, or a number, which is the id that its text is.
type documentID string

// UnmarshalJSON reads the id.
func (id *documentID) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] != '"' {
		*id = documentID(text)
		return nil
	}
	return json.Unmarshal(text, (*string)(id))
}

// parseRevision returns a revision that a header has, 0 for none.
func parseRevision(s string) uint64 {
	rev, _ := strconv.ParseUint(s, 10, 64)
	return rev
}
