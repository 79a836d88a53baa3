package jsondoc

import (
	"errors"
	"strings"
)

var errNoSuchPath = errors.New("there is nothing at this path")

// patcher applies the operations of a patch, one after the other, to one document.
type patcher struct {
	meter
	root      *patchValue
	size      int // of the document and all that was added to it, in bytes; what was removed is still counted
	maxResult int // of the document that is made, in bytes; 0 for any
}

// change returns v with the value at a path, which must exist, replaced by what fn makes of it. Whatever is above the path's
// end is split. fn may return its value.
func (p *patcher) change(v *patchValue, path []string, fn func(*patchValue) (*patchValue, error)) (*patchValue, error) {
	if len(path) == 0 {
		return fn(v)
	}
	v, err := v.open(&p.meter)
	if err != nil {
		return nil, err
	}
	at, found, err := v.find(&p.meter, path[0])
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errNoSuchPath
	}
	child := v.child(at)
	changed, err := p.change(child, path[1:], fn)
	if err != nil || changed == child {
		return v, err
	}
	return v.with(at, changed), nil
}

// changeParent changes the container that a path's last token leads into. fn gets it split, with the token's place in it.
func (p *patcher) changeParent(path []string, fn func(parent *patchValue, at place, found bool) (*patchValue, error)) error {
	last := len(path) - 1
	root, err := p.change(p.root, path[:last], func(parent *patchValue) (*patchValue, error) {
		parent, err := parent.open(&p.meter)
		if err != nil {
			return nil, err
		}
		at, found, err := parent.find(&p.meter, path[last])
		if err != nil {
			return nil, err
		}
		return fn(parent, at, found)
	})
	if err == nil {
		p.root = root
	}
	return err
}

// get returns the value at a path, which must exist.
func (p *patcher) get(path []string) (value *patchValue, err error) {
	root, err := p.change(p.root, path, func(v *patchValue) (*patchValue, error) {
		value = v
		return v, nil
	})
	if err == nil {
		p.root = root
	}
	return value, err
}

// add replaces or appends a member, or inserts an element. Everything above the path's end must exist.
func (p *patcher) add(path []string, value *patchValue) error {
	if len(path) == 0 {
		p.root = value
		return nil
	}
	return p.changeParent(path, func(parent *patchValue, at place, found bool) (*patchValue, error) {
		if parent.text.kind == Object && found {
			return parent.with(at, value), nil
		}
		return parent.inserted(at, path[len(path)-1], value), nil
	})
}

// remove removes the value at a path, which must exist and not be the whole document.
func (p *patcher) remove(path []string) error {
	if len(path) == 0 {
		return errors.New("the whole document cannot be removed by a patch")
	}
	return p.changeParent(path, func(parent *patchValue, at place, found bool) (*patchValue, error) {
		if !found {
			return nil, errNoSuchPath
		}
		return parent.without(at), nil
	})
}

// replace replaces the value at a path, which must exist.
func (p *patcher) replace(path []string, value *patchValue) error {
	root, err := p.change(p.root, path, func(*patchValue) (*patchValue, error) { return value, nil })
	if err == nil {
		p.root = root
	}
	return err
}

// test compares the value at a path, which must exist, with JSON text.
func (p *patcher) test(path []string, want []byte) error {
	v, err := p.get(path)
	if err != nil {
		return err
	}
	if err := p.charge(v.length + len(want)); err != nil {
		return err
	}
	if !Equal(v.append(nil), want) {
		return errors.New("the value is not the one tested for")
	}
	return nil
}

func (p *patcher) move(op Operation) error {
	from, path := strings.Join(op.From, "/"), strings.Join(op.Path, "/")
	if len(op.Path) > len(op.From) && strings.Join(op.Path[:len(op.From)], "/") == from {
		return errors.New("a value cannot be moved into itself")
	}
	value, err := p.get(op.From)
	if err != nil {
		return err
	}
	if len(op.From) == len(op.Path) && from == path {
		return nil
	}
	if err := p.remove(op.From); err != nil {
		return err
	}
	return p.add(op.Path, value)
}

// apply applies one operation. An increment becomes the add or replace that it comes to.
func (p *patcher) apply(op *Operation) error {
	switch op.Op {
	case "increment":
		if err := p.increment(op); err != nil {
			return err
		}
		return p.apply(op)
	case "add":
		p.size += len(op.Value)
		return p.add(op.Path, newPatchValue(op.Value))
	case "remove":
		return p.remove(op.Path)
	case "replace":
		p.size += len(op.Value)
		return p.replace(op.Path, newPatchValue(op.Value))
	case "test":
		return p.test(op.Path, op.Value)
	case "copy":
		from, err := p.get(op.From)
		if err != nil {
			return err
		}
		p.size += from.length
		return p.add(op.Path, from)
	case "move":
		return p.move(*op)
	}
	return nil
}
