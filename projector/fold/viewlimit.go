package fold

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// errPastLimit says that an embedded view, or one value of it, would be longer than the model lets a view be.
var errPastLimit = errors.New("the embedded view would be longer than the model's limit")

// View returns the embedded view of src with the values that v gives; those that it calls the same are taken from old,
// which may be nil. If the view would be longer than the model's limit, values are left out (see fitted). omitted says
// how many, by rule, as a JSON object; nil stands for none. The error is v's.
func (p *Plan) View(c *Collection, v Values, src, old *jsondoc.Tree) (body, omitted []byte, err error) {
	body, err = p.embed(c, v, src, old, p.Model.EmbeddedLimit)
	if errors.Is(err, errPastLimit) {
		return p.fitted(c, v, src, old)
	}
	return body, nil, err
}

// fitted returns an embedded view that leaves out what the model's limit has no room for. The document as written is always
// there, and so are counts of links, which take a few bytes. The other values are placed one by one, by their rule's level,
// their rule's name and their place, if the view with the value keeps to the limit. So a value's room on one level does not
// depend on later levels, whose rules may read it.
func (p *Plan) fitted(c *Collection, v Values, src, old *jsondoc.Tree) (body, omitted []byte, err error) {
	f := &fitting{objects: []fitObject{{}}}
	base, err := p.walk(&embedder{plan: p, values: v, src: src, old: old, fit: f}, c)
	if err != nil {
		return nil, nil, err
	}
	f.size = len(base)
	left := f.place(p.Model.EmbeddedLimit)
	f.writing = true
	body, err = p.walk(&embedder{plan: p, values: v, src: src, old: old, fit: f}, c)
	if err != nil || len(left) == 0 {
		return body, nil, err
	}
	omitted, err = json.Marshal(left) // by name
	return body, omitted, err
}

// fitting decides which derived values of a view stay within its limit. A first walk through the view notes what there
// is to place, and writes none of it; a second one writes what got a place.
type fitting struct {
	size    int // of the view so far, in bytes
	objects []fitObject
	present []bool     // for each place of a derived value, in the order of the walk: there is one
	values  []fitValue // those that there are, in the same order
	writing bool       // the second walk
	at      int        // of present, in the second walk
	next    int        // of values, in the second walk
}

// fitObject is an object of the view that derived values stand in.
type fitObject struct {
	parent int  // the object that it is a member of, where it is made
	made   int  // bytes of its name and braces, where it is there for derived values only; otherwise 0
	filled bool // it has a member
}

// fitValue is a derived value that is to be placed.
type fitValue struct {
	rule   *Rule
	object int  // that it stands in
	size   int  // of the value and its name, in bytes; -1 where the value alone is past the limit
	flag   bool // says of an id list that it was cut off
	placed bool
}

// add notes an object and returns its index.
func (f *fitting) add(o fitObject) int {
	f.objects = append(f.objects, o)
	return len(f.objects) - 1
}

// nextPlaced returns, in the second walk, whether the next derived value got a place.
func (f *fitting) nextPlaced() bool {
	f.at++
	if !f.present[f.at-1] {
		return false
	}
	f.next++
	return f.values[f.next-1].placed
}

// note notes a derived value in the first walk. length is the length of its text, -1 for none. With errPastLimit the text
// may be longer.
func (f *fitting) note(v fitValue, length int, err error) {
	pastLimit := errors.Is(err, errPastLimit)
	f.present = append(f.present, length >= 0 || pastLimit)
	if length < 0 && !pastLimit {
		return
	}
	if v.size += length; pastLimit {
		v.size = -1
	}
	f.values = append(f.values, v)
}

// place gives values their places and returns how many got none, by rule.
func (f *fitting) place(limit int) map[string]int {
	order := make([]*fitValue, len(f.values))
	for i := range f.values {
		order[i] = &f.values[i]
	}
	slices.SortStableFunc(order, func(a, b *fitValue) int {
		return cmp.Or(-cmp.Compare(a.always(), b.always()), cmp.Compare(a.rule.Index, b.rule.Index))
	})
	left := map[string]int{}
	for i, v := range order {
		switch {
		case v.flag: // is placed with its list
			continue
		case v.size < 0:
		case i+1 < len(order) && order[i+1].flag:
			flag := order[i+1]
			if f.fits(v, flag.size+len(","), limit) {
				f.put(flag)
			}
		default:
			f.fits(v, 0, limit)
		}
		if !v.placed {
			left[v.rule.FullName]++
		}
	}
	return left
}

// always returns 1 for a value that is there whatever the limit is, and 0 for others.
func (v *fitValue) always() int {
	if v.rule.countsLinks() {
		return 1
	}
	return 0
}

// fits places a value where that and so many bytes more are within the limit, and returns whether it did.
func (f *fitting) fits(v *fitValue, more, limit int) bool {
	if v.always() == 0 && f.size+f.cost(v)+more > limit {
		return false
	}
	f.put(v)
	return true
}

// cost returns how many bytes longer the view is with a value: the bytes of the value, of the objects that are made for
// it, and of a comma.
func (f *fitting) cost(v *fitValue) int {
	n := v.size
	for o := &f.objects[v.object]; ; o = &f.objects[o.parent] {
		if o.filled {
			return n + len(",")
		}
		if n += o.made; o.made == 0 {
			return n
		}
	}
}

// put places a value.
func (f *fitting) put(v *fitValue) {
	f.size += f.cost(v)
	v.placed = true
	for o := &f.objects[v.object]; !o.filled; o = &f.objects[o.parent] {
		if o.filled = true; o.made == 0 {
			return
		}
	}
}
