package jsondoc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// slowValue is the oracle of patches: the slow, obvious way. It is a value that a JSON Patch may change. It stays raw text until an operation reaches inside it.
type slowValue struct {
	raw      []byte
	kind     Kind         // Object, Array, or Invalid for anything else
	split    bool         // keys and children stand for raw
	keys     [][]byte     // an object's member names as written, once it is split
	children []*slowValue // members or elements, once it is split
}

func newSlowValue(raw []byte) *slowValue {
	v := &slowValue{raw: raw}
	switch raw[0] {
	case '{':
		v.kind = Object
	case '[':
		v.kind = Array
	}
	return v
}

// open splits an object or array into its children, unless that is done.
func (v *slowValue) open() {
	if v.split || v.kind == Invalid {
		return
	}
	t := MustParse(v.raw)
	for c := t.First(Root); c != None; c = t.Next(c) {
		if v.kind == Object {
			v.keys = append(v.keys, t.RawKey(c))
		}
		v.children = append(v.children, newSlowValue(t.Raw(c)))
	}
	v.split = true
}

// append appends the value's text to dst.
func (v *slowValue) append(dst []byte) []byte {
	if !v.split {
		return append(dst, v.raw...)
	}
	brackets := "[]"
	if v.kind == Object {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	for i, c := range v.children {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.kind == Object {
			dst = append(append(dst, v.keys[i]...), ':')
		}
		dst = c.append(dst)
	}
	return append(dst, brackets[1])
}

// find returns the index of the child that a pointer's token names, and whether there is one: without, it is
// where a new child goes. In an array "-" and the length name the end.
func (v *slowValue) find(token string) (i int, found bool, err error) {
	v.open()
	switch v.kind {
	case Object:
		for i, k := range v.keys {
			if unquote(k) == token {
				return i, true, nil
			}
		}
		return len(v.keys), false, nil
	case Array:
		if token == "-" {
			return len(v.children), false, nil
		}
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 || strconv.Itoa(n) != token {
			return 0, false, fmt.Errorf("%q is not an index of an array", token)
		}
		if n > len(v.children) {
			return 0, false, fmt.Errorf("index %d is past the array's end", n)
		}
		return n, n < len(v.children), nil
	}
	return 0, false, fmt.Errorf("there is no %q in a value that is neither object nor array", token)
}

var errSlowNoSuchPath = errors.New("there is nothing at this path")

// get returns the value at a path, which must exist.
func (v *slowValue) get(path []string) (*slowValue, error) {
	for _, token := range path {
		i, found, err := v.find(token)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errSlowNoSuchPath
		}
		v = v.children[i]
	}
	return v, nil
}

// add replaces or appends a member, or inserts an element. Everything above the path's end must exist.
func (v *slowValue) add(path []string, value *slowValue) error {
	if len(path) == 0 {
		*v = *value
		return nil
	}
	last := len(path) - 1
	parent, err := v.get(path[:last])
	if err != nil {
		return err
	}
	i, found, err := parent.find(path[last])
	switch {
	case err != nil:
		return err
	case parent.kind == Object && found:
		parent.children[i] = value
	case parent.kind == Object:
		parent.keys = append(parent.keys, Quote(path[last]))
		parent.children = append(parent.children, value)
	default:
		parent.children = slices.Insert(parent.children, i, value)
	}
	return nil
}

// remove removes the value at a path, which must exist and not be the whole document.
func (v *slowValue) remove(path []string) error {
	if len(path) == 0 {
		return errors.New("the whole document cannot be removed by a patch")
	}
	last := len(path) - 1
	parent, err := v.get(path[:last])
	if err != nil {
		return err
	}
	i, found, err := parent.find(path[last])
	if err != nil {
		return err
	}
	if !found {
		return errSlowNoSuchPath
	}
	parent.children = slices.Delete(parent.children, i, i+1)
	if parent.kind == Object {
		parent.keys = slices.Delete(parent.keys, i, i+1)
	}
	return nil
}

// apply applies one operation. added is how many bytes it may have added to the document, at most.
func (v *slowValue) apply(op Operation) (added int, err error) {
	switch op.Op {
	case "add":
		return len(op.Value), v.add(op.Path, newSlowValue(op.Value))
	case "remove":
		err = v.remove(op.Path)
	case "replace":
		var target *slowValue
		if target, err = v.get(op.Path); err == nil {
			*target = *newSlowValue(op.Value)
		}
		return len(op.Value), err
	case "test":
		var target *slowValue
		if target, err = v.get(op.Path); err == nil && !Equal(target.append(nil), op.Value) {
			err = errors.New("the value is not the one tested for")
		}
	case "copy":
		var from *slowValue
		if from, err = v.get(op.From); err == nil {
			raw := from.append(nil)
			return len(raw), v.add(op.Path, newSlowValue(raw))
		}
	case "move":
		err = v.move(op)
	}
	return 0, err
}

func (v *slowValue) move(op Operation) error {
	from, path := strings.Join(op.From, "/"), strings.Join(op.Path, "/")
	if len(op.Path) > len(op.From) && strings.Join(op.Path[:len(op.From)], "/") == from {
		return errors.New("a value cannot be moved into itself")
	}
	value, err := v.get(op.From)
	if err != nil {
		return err
	}
	if len(op.From) == len(op.Path) && from == path {
		return nil
	}
	moved := *value
	if err := v.remove(op.From); err != nil {
		return err
	}
	return v.add(op.Path, &moved)
}

// slowApply does what Apply does.
func slowApply(doc []byte, ops []Operation) ([]byte, error) {
	root, size := newSlowValue(doc), len(doc)
	for _, op := range ops {
		added, err := root.apply(op)
		if size += added; err == nil && size > maxPatched {
			err = errTooLarge
		}
		if err != nil {
			return nil, err
		}
	}
	return root.append(nil), nil
}
