package fn

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
)

// testEnding is how the name of a test's file ends before .js.
const testEnding = ".test"

// Bounds of the tests of one file.
const (
	MaxTests   = 100
	maxAllTime = 5 * time.Minute // of all of them
)

// Suite has the tests of a function.
type Suite struct {
	Function *File
	Path     string // of the file of tests, as results show it
	text     string
	model    []byte // YAML or JSON; nil for none
	within   time.Duration
}

// Result says what came of one test.
type Result struct {
	Test         string          `json:"test"`
	OK           bool            `json:"ok"`
	Milliseconds int64           `json:"milliseconds"`
	Message      string          `json:"message,omitempty"`  // why it failed
	Line         int             `json:"line,omitempty"`     // of the file of tests, from 1; 0 where that is not known
	Column       int             `json:"column,omitempty"`   // in code points, from 1
	Expected     json.RawMessage `json:"expected,omitempty"` // nil where nothing was compared
	Actual       json.RawMessage `json:"actual,omitempty"`
}

// Open reads the function and the tests of a file, transfer.js or transfer.test.js, which stand beside each other. model is the path of the model that the
// store of each test has; "" for model.yaml beside them, where it is there. The error is Invalid.
func Open(ctx context.Context, path, model string) (*Suite, error) {
	stem := strings.TrimSuffix(strings.TrimSuffix(path, ".js"), testEnding)
	function, err := Read(ctx, stem+".js")
	if err != nil {
		return nil, err
	}
	s := &Suite{Function: function, Path: stem + testEnding + ".js", within: maxAllTime}
	if s.text, err = readText(s.Path, "tests"); err != nil {
		return nil, err
	}
	if model == "" {
		beside := filepath.Join(filepath.Dir(path), "model.yaml")
		if _, err := os.Stat(beside); err != nil {
			return s, nil //nolint:nilerr // then the store has no model but the function
		}
		model = beside
	}
	text, err := readText(model, "model")
	s.model = []byte(text)
	return s, err
}

// patch returns the merge patch that puts the function into the model of a test's store. Without a model it declares what the function reads.
func (s *Suite) patch(model []byte) ([]byte, error) {
	patch, err := s.Function.Patch(model)
	if err != nil || s.model != nil {
		return patch, err
	}
	var reads []string
	if text := s.Function.exports["reads"]; text != nil {
		if err := json.Unmarshal(text, &reads); err != nil {
			return nil, fanfold.Wrap(err, fanfold.Invalid, "%s.js exports reads, which is no list of collections", s.Function.Name)
		}
	}
	collections := map[string]any{}
	for _, name := range reads {
		collections[name] = map[string]any{}
	}
	var members map[string]any
	if err := json.Unmarshal(patch, &members); err != nil {
		return nil, err
	}
	members["collections"] = collections
	return json.Marshal(members)
}
