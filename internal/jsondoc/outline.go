package jsondoc

import "fmt"

// Outline returns a tree of src's top level alone: the root and its members or elements, which have none themselves. It
// takes no memory for what is in them, and looks at that no more than it needs to find their ends. The error says that src is
// not JSON, as far as it was looked at, or that there are more than most members or elements. The tree aliases src.
func Outline(src []byte, most int) (*Tree, error) {
	t := &Tree{src: src, nodes: make([]node, 1, min(most, len(src)/2)+2)}
	p := parser{src: src, t: t}
	p.space()
	if c := p.peek(); c != '{' && c != '[' {
		if _, err := p.value(0, 0); err != nil {
			return nil, err
		}
	} else if err := p.outline(most); err != nil {
		return nil, err
	}
	p.space()
	if p.i != len(src) {
		return nil, p.fail()
	}
	return t, nil
}

// outline parses an object or array without the content of its members or elements, most at most.
func (p *parser) outline(most int) error {
	root, bracket := node{kind: Object, start: int32(p.i)}, byte('}')
	if p.peek() == '[' {
		root.kind, bracket = Array, ']'
	}
	p.t.nodes = append(p.t.nodes, root)
	p.i++
	p.space()
	for last := None; p.peek() != bracket || last != None; {
		if len(p.t.nodes)-2 == most {
			return fmt.Errorf("jsondoc: more than %d members or elements", most)
		}
		n := Node(len(p.t.nodes))
		if err := p.outlined(root.kind == Object); err != nil {
			return err
		}
		p.t.attach(Root, last, n)
		last = n
		if p.space(); p.peek() != ',' {
			break
		}
		p.i++
		p.space()
	}
	err := p.end(bracket)
	p.t.nodes[Root].end = int32(p.i)
	return err
}

// outlined appends one member or element without what is in it.
func (p *parser) outlined(named bool) (err error) {
	n := node{}
	if named {
		n.keyStart = int32(p.i)
		if p.peek() != '"' {
			return p.fail()
		}
		if err := p.str(); err != nil {
			return err
		}
		n.keyEnd, n.escapedKey = int32(p.i), p.escaped
		if p.space(); p.peek() != ':' {
			return p.fail()
		}
		p.i++
		p.space()
	}
	n.start = int32(p.i)
	n.kind, err = p.skipValue()
	n.end = int32(p.i)
	p.t.nodes = append(p.t.nodes, n)
	return err
}

// skipValue moves to the end of the value that begins at the next byte, and returns its kind.
func (p *parser) skipValue() (Kind, error) {
	switch p.peek() {
	case '{':
		return Object, p.skip()
	case '[':
		return Array, p.skip()
	}
	return p.scan(None) // which has nothing in it
}

// skip moves to the end of the object or array that begins at the next byte.
func (p *parser) skip() error {
	for depth := 0; p.i < len(p.src); {
		switch p.src[p.i] {
		case '"':
			if err := p.str(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		p.i++
		if depth == 0 {
			return nil
		}
	}
	return p.fail()
}
