// Package fn reads functions of models from files, and runs their tests.
package fn

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// declared are the members of a function in a model that a file may export, beside its default export.
var declared = []string{"args", "authority", "call", "reads"}

// maxFile bounds a file that is read, in bytes. A store takes less of a source.
const maxFile = 1 << 20

// File is a function as a file has it.
type File struct {
	Name    string // of the file, without .js
	Source  string
	exports map[string]json.RawMessage // of declared, those that it has
}

// Read loads a file such as transfer.js, and reads what it exports: reads, call, authority and args. The error is Invalid, with line and column where
// the file cannot be loaded.
func Read(ctx context.Context, path string) (*File, error) {
	_, file := filepath.Split(path)
	name, found := strings.CutSuffix(file, ".js")
	if !found || name == "" || strings.HasSuffix(name, testEnding) {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s is no function: a function is in a file of its name, such as transfer.js", path)
	}
	source, err := readText(path, "function")
	if err != nil {
		return nil, err
	}
	text, err := exports(ctx, source)
	if err != nil {
		return nil, inFile(path, err)
	}
	f := &File{Name: name, Source: source}
	if err := json.Unmarshal(text, &f.exports); err != nil {
		return nil, inFile(path, err)
	}
	for member, value := range f.exports {
		switch {
		case !slices.Contains(declared, member):
			return nil, fanfold.Errorf(fanfold.Invalid, "%s exports %s, which says nothing of a function: export %s, and the function as default", path, member, strings.Join(declared, ", "))
		case hasNull(value):
			return nil, fanfold.Errorf(fanfold.Invalid, "%s exports %s with null, or what is no JSON: a patch of the model cannot say that", path, member)
		}
	}
	return f, nil
}

// readText returns the text of a file. The error is Invalid.
func readText(path, what string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", fanfold.Wrap(err, fanfold.Invalid, "cannot read the %s: %v", what, err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return "", fanfold.Wrap(err, fanfold.Invalid, "cannot read the %s: %v", what, err)
	case len(text) > maxFile:
		return "", fanfold.Errorf(fanfold.Invalid, "%s has more than %d bytes, which is the most that is read", path, maxFile)
	}
	return string(jsondoc.WithoutMark(text)), nil
}

// hasNull tells whether a value is null, or an object in it has a member that is. A merge patch would remove that.
func hasNull(value json.RawMessage) bool {
	t := jsondoc.MustParse(value)
	var at func(n jsondoc.Node, inArray bool) bool
	at = func(n jsondoc.Node, inArray bool) bool {
		kind := t.Kind(n)
		if kind == jsondoc.Null {
			return !inArray
		}
		if kind != jsondoc.Object && kind != jsondoc.Array || inArray {
			return false // a merge patch takes an array as it is
		}
		for e := t.First(n); e != jsondoc.None; e = t.Next(e) {
			if at(e, kind == jsondoc.Array) {
				return true
			}
		}
		return false
	}
	return at(jsondoc.Root, false)
}

// Patch returns a merge patch of a model that makes its function what the file says. model is the model's JSON.
func (f *File) Patch(model []byte) ([]byte, error) {
	old, err := Declared(model)
	if err != nil {
		return nil, err
	}
	was := map[string]json.RawMessage{}
	if text := old[f.Name]; text != nil {
		if err := json.Unmarshal(text, &was); err != nil {
			return nil, err
		}
	}
	now := map[string]json.RawMessage{"source": jsondoc.Quote(f.Source)}
	for member, value := range f.exports {
		now[member] = value
	}
	return patchOf(f.Name, merging(was, now))
}

// Removal returns a merge patch of a model that removes a function.
func Removal(name string) ([]byte, error) { return patchOf(name, nil) }

// patchOf returns a merge patch of a model with a function.
func patchOf(name string, function any) ([]byte, error) {
	return json.Marshal(map[string]any{"functions": map[string]any{name: function}})
}

// merging returns the merge patch that makes one object another one, which has no member that is null.
func merging(was, now map[string]json.RawMessage) map[string]any {
	out := map[string]any{}
	for member := range was {
		out[member] = nil
	}
	for member, value := range now {
		var before, after map[string]json.RawMessage
		out[member] = value
		if json.Unmarshal(was[member], &before) == nil && json.Unmarshal(value, &after) == nil && before != nil && after != nil {
			out[member] = merging(before, after)
		}
	}
	return out
}

// Declared returns the functions of a model, by their names: each as the model has it.
func Declared(model []byte) (map[string]json.RawMessage, error) {
	var of struct {
		Functions map[string]json.RawMessage `json:"functions"`
	}
	if len(model) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(model, &of); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Internal, "the server's model cannot be read: %v", err)
	}
	return of.Functions, nil
}

// inFile returns an error of a source as the Invalid of its file.
func inFile(path string, err error) error {
	if fanfold.CodeOf(err) != fanfold.Internal {
		return err // of the runtime, and not of the file
	}
	return fanfold.Wrap(err, fanfold.Invalid, "%s: %v", path, err)
}
