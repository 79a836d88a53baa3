package inspect

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// The change that gave a value is looked for in one change after the other, back in time. Each is walked once, for all values that
// are still looked for.

// place is a place of the document's view: a value that is looked for, or one that leads to such.
type place struct {
	parent   *place
	children map[string]*place // by member name, or by index
	value    int               // of out.Derived; -1 for none
	open     int               // values that are looked for, here and below
	seen     *fanfold.Change   // the last that was walked in whose view before there is such a place
}

// places returns the root of the places of the values with pointers.
func (l *lineage) places() *place {
	root := &place{value: -1}
	for i := range l.values {
		p := root
		for token := range strings.SplitSeq(l.out.Derived[i].Path[1:], "/") {
			name := jsondoc.PointerUnescape(token)
			next := p.children[name]
			if next == nil {
				if p.children == nil {
					p.children = map[string]*place{}
				}
				next = &place{parent: p, value: -1}
				p.children[name] = next
			}
			p = next
		}
		p.value = i
		for ; p != nil; p = p.parent {
			p.open++
		}
	}
	return root
}

// beforeHistory is why no change is named that gave a value.
const beforeHistory = "before the history that is kept"

// origins goes back through the document's changes for the one that gave each value, as far as the history is kept.
func (l *lineage) origins() error {
	oldest, err := l.s.Oldest()
	if err != nil {
		return err
	}
	root, size := l.places(), 0
	for at, i := l.row.Position, 0; at != 0 && root.open > 0 && i < maxHistory && size < maxHistoryBytes; i++ {
		if at <= oldest {
			g := giving{l: l, origin: &Origin{Reason: beforeHistory}}
			g.all(root)
			return nil
		}
		ch, err := l.s.Change(at)
		if err != nil || ch == nil {
			return err
		}
		size += len(ch.Delta) + len(ch.Previous)
		g := giving{l: l, ch: ch}
		switch {
		case ch.Op == fanfold.OpDerive:
			g.derived(root, jsondoc.MustParse(ch.Delta))
		case ch.Previous == nil:
			g.all(root)
		default:
			g.differing(root, jsondoc.MustParse(ch.Previous), jsondoc.Root)
		}
		if g.err != nil {
			return g.err
		}
		at = ch.Prior
	}
	return nil
}

// giving finds the values that one change gave the document.
type giving struct {
	l      *lineage
	ch     *fanfold.Change
	origin *Origin // made once, for the first of them
	err    error
}

// give notes that the change gave the value at a place, which is looked for no more.
func (g *giving) give(p *place) {
	if g.origin == nil && g.err == nil {
		g.origin, g.err = g.l.origin(g.ch)
	}
	g.l.out.Derived[p.value].Event = g.origin
	for p.value = -1; p != nil; p = p.parent {
		p.open--
	}
}

// all notes that the change gave all values at a place and below.
func (g *giving) all(p *place) {
	if p.open == 0 {
		return
	}
	if p.value >= 0 {
		g.give(p)
	}
	for _, child := range p.children {
		g.all(child)
	}
}

// derived notes the values that a derived change gave, by its patch: at one of its paths, above or below.
func (g *giving) derived(root *place, patch *jsondoc.Tree) {
	for op := patch.First(jsondoc.Root); op != jsondoc.None; op = patch.Next(op) {
		p := root
		for token := range strings.SplitSeq(strings.TrimPrefix(patch.Text(patch.Member(op, "path")), "/"), "/") {
			g.l.walked++
			if p = p.children[jsondoc.PointerUnescape(token)]; p == nil {
				break
			}
			if p.value >= 0 {
				g.give(p)
			}
		}
		if p != nil {
			g.all(p)
		}
	}
}

// differing notes the values at a place and below that were not there in the view before the change, or were others. n is the
// place in that.
func (g *giving) differing(p *place, t *jsondoc.Tree, n jsondoc.Node) {
	if p.value >= 0 && !bytes.Equal(t.Raw(n), g.l.values[p.value]) {
		g.give(p)
	}
	left := p.below()
	i := 0
	for c := t.First(n); c != jsondoc.None && left > 0; c = t.Next(c) {
		g.l.walked++
		name := strconv.Itoa(i)
		if t.Kind(n) == jsondoc.Object {
			name = t.Key(c)
		}
		i++
		if child := p.children[name]; child != nil && child.open > 0 {
			left -= child.open
			child.seen = g.ch
			g.differing(child, t, c)
		}
	}
	for _, child := range p.children {
		if child.seen != g.ch { // there is no such place
			g.all(child)
		}
	}
}

// below returns how many values are looked for below the place.
func (p *place) below() int {
	if p.value >= 0 {
		return p.open - 1
	}
	return p.open
}

// origin returns a change with the document whose write caused it, which is the first of its event.
func (l *lineage) origin(ch *fanfold.Change) (*Origin, error) {
	out := &Origin{Seq: l.issuer.Mark(ch.Position), Time: ch.Time, Op: ch.Op, Collection: ch.Key.Collection, ID: ch.Key.ID}
	if ch.Op != fanfold.OpDerive {
		return out, nil
	}
	cause, err := l.s.Cause(ch.Position.Seq())
	out.Collection, out.ID = "", ""
	if err == nil && cause != nil && cause.Op != fanfold.OpDerive {
		out.Collection, out.ID = cause.Key.Collection, cause.Key.ID
	}
	return out, err
}

// room finds out what a version of a document had no room for. Values that nobody sees change without a change of the document, so that its
// last change does not say it.
type room struct {
	left   map[string]int // values, by rule
	unsure bool           // of some value it is not known whether there is one
	kept   bool           // the version's last change is kept, and says what had no room after it
}

// noteRoom notes what the version's last change says about room. It is exact where nothing followed it.
func (l *lineage) noteRoom() error {
	oldest, err := l.s.Oldest()
	if err != nil {
		return err
	}
	l.row.Omitted = nil
	if l.row.Position > oldest {
		ch, err := l.s.Change(l.row.Position)
		if err != nil {
			return err
		}
		if ch != nil {
			l.row.Omitted = ch.Omitted
		}
		if l.row.Position.Seq() == l.at.Seq() {
			l.out.Omitted = l.row.Omitted
			return nil
		}
	}
	l.out.Omitted, l.room = l.row.Omitted, &room{left: map[string]int{}, kept: l.row.Position > oldest}
	return nil
}

// tellRoom says of a version what it had no room for, and by which change that is told.
func (l *lineage) tellRoom() (err error) {
	switch {
	case l.room == nil:
	case l.out.More > 0 || l.room.unsure:
		if l.out.OmittedBy = (&Origin{Reason: beforeHistory}); l.room.kept {
			l.out.OmittedBy = &Origin{Seq: l.issuer.Mark(l.row.Position)}
		}
	case len(l.room.left) == 0:
		l.out.Omitted = nil
	default:
		l.out.Omitted, err = json.Marshal(l.room.left) // by name
	}
	return err
}
