package main

import (
	"bytes"
	"errors"
	"fmt"
)

const (
	// maxPages is how many pages of 64 KiB the memory of an instance may have: 40 MiB, for the engine's 32 MiB of heap,
	// its stack and its tables.
	maxPages = 640

	// bytesOfStep is the power of two of the bytes that memory.fill and memory.copy write for one step: 64.
	bytesOfStep = 6

	// asked is the import that says whether a run goes on when its steps are used up.
	asked = "host_interrupt"
)

var header = []byte("\x00asm\x01\x00\x00\x00")

// Ids of sections.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionCount
)

// order has the sections as they follow each other.
var order = []byte{sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal,
	sectionExport, sectionStart, sectionElement, sectionCount, sectionCode, sectionData}

// module is what meter knows of a module.
type module struct {
	sections  map[byte][]byte
	customs   [][]byte
	types     uint32 // how many there are
	imported  uint32 // functions
	asked     uint32 // the index of the import
	functions uint32 // defined ones
	globals   uint32 // imported and defined
	pages     uint32 // of memory, at first
}

// meter returns the module with steps counted. It appends to the module, so that no index changes:
//   - the global `steps` falls by one at each function's entry and each loop's head, and by one for each 64 bytes of
//     memory.fill and memory.copy. Below zero it calls the import host_interrupt, and traps if that answers other than 0.
//   - the global `pages` is the memory's size as the module sees it, of at most maxPages. A host that makes an
//     instance anew may set it back, though the memory itself never shrinks.
//
// It refuses what it does not know.
func meter(src []byte) ([]byte, error) {
	m, err := parse(src)
	if err != nil {
		return nil, err
	}
	c := code{steps: m.globals, pages: m.globals + 1}
	first := m.imported + m.functions
	c.spent, c.fill, c.copy, c.grow = first, first+1, first+2, first+3
	if m.sections[sectionCode], err = m.codes(c); err != nil {
		return nil, err
	}
	for _, edit := range []func(code) error{m.addTypes, m.addFunctions, m.boundMemory, m.addGlobals, m.addExports} {
		if err := edit(c); err != nil {
			return nil, err
		}
	}
	out := append([]byte(nil), header...)
	for _, id := range order {
		if b, ok := m.sections[id]; ok {
			out = appendSized(append(out, id), b)
		}
	}
	for _, b := range m.customs {
		out = appendSized(append(out, sectionCustom), b)
	}
	return out, nil
}

// parse cuts a module into sections and reads what the rewriting needs.
func parse(src []byte) (*module, error) {
	if !bytes.HasPrefix(src, header) {
		return nil, errors.New("this is no WebAssembly module of version 1")
	}
	m := &module{sections: map[byte][]byte{}}
	r := &reader{src: src, at: len(header)}
	next := 0
	for r.more() {
		id := r.byte()
		b := r.bytes(r.u32())
		if id == sectionCustom {
			m.customs = append(m.customs, b)
			continue
		}
		at := bytes.IndexByte(order[next:], id)
		if at < 0 {
			return nil, fmt.Errorf("section %d is not known, or stands in the wrong place", id)
		}
		next += at + 1
		m.sections[id] = b
	}
	for _, read := range []func(*module) error{readTypes, readImports, readFunctions, readMemory, readGlobals} {
		if err := read(m); err != nil {
			return nil, err
		}
	}
	return m, r.err
}

func readTypes(m *module) error {
	r := &reader{src: m.sections[sectionType]}
	m.types = r.u32()
	return r.err
}

func readImports(m *module) error {
	r := &reader{src: m.sections[sectionImport]}
	found := false
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		r.bytes(r.u32())
		name := r.bytes(r.u32())
		if kind := r.byte(); kind != 0 {
			return fmt.Errorf("import %q is no function", name)
		}
		r.u32()
		if string(name) == asked {
			m.asked, found = m.imported, true
		}
		m.imported++
	}
	if r.err == nil && !found {
		return fmt.Errorf("the module does not import %s", asked)
	}
	return r.err
}

func readFunctions(m *module) error {
	r := &reader{src: m.sections[sectionFunction]}
	m.functions = r.u32()
	return r.err
}

func readMemory(m *module) error {
	r := &reader{src: m.sections[sectionMemory]}
	if n := r.u32(); r.err == nil && n != 1 {
		return fmt.Errorf("the module has %d memories, and not one", n)
	}
	if flags := r.byte(); r.err == nil && flags > 1 {
		return fmt.Errorf("the memory is of a kind that is not known: %#x", flags)
	}
	m.pages = r.u32()
	if r.err == nil && m.pages > maxPages {
		return fmt.Errorf("the memory has %d pages at first, more than %d", m.pages, maxPages)
	}
	return r.err
}

func readGlobals(m *module) error {
	r := &reader{src: m.sections[sectionGlobal]}
	m.globals = r.u32()
	return r.err
}

// codes returns the code section with all bodies rewritten, and the functions that they call.
func (m *module) codes(c code) ([]byte, error) {
	r := &reader{src: m.sections[sectionCode]}
	n := r.u32()
	if r.err == nil && n != m.functions {
		return nil, fmt.Errorf("%d functions have %d bodies", m.functions, n)
	}
	out := appendU32(nil, n+4)
	for i := uint32(0); i < n && r.err == nil; i++ {
		body, err := c.body(r.bytes(r.u32()))
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", m.imported+i, err)
		}
		out = appendSized(out, body)
	}
	if r.err == nil && r.more() {
		return nil, errors.New("bytes follow the last function")
	}
	for _, body := range [][]byte{c.spentBody(m.asked), c.blockBody(memoryFill, 0), c.blockBody(memoryCopy, 0, 0), c.growBody()} {
		out = appendSized(out, body)
	}
	return out, r.err
}

// spentBody asks the host whether a run goes on, and traps if it does not.
func (c code) spentBody(asked uint32) []byte {
	out := appendU32([]byte{0, opCall}, asked)
	return append(out, opIf, noResult, opUnreachable, opEnd, opEnd)
}

// blockBody charges for the bytes that an instruction writes, and runs it.
func (c code) blockBody(op byte, immediates ...byte) []byte {
	out := appendU32([]byte{0, opGlobalGet}, c.steps)
	out = append(out, opLocalGet, 2, opI32Const, bytesOfStep, opI32ShrU, opExtendU, opI64Sub)
	out = c.charge(out)
	out = append(out, opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opPrefix, op)
	return append(append(out, immediates...), opEnd)
}

// growBody grows the memory as the module sees it: within maxPages, and within what is there already if it can.
func (c code) growBody() []byte {
	refuse := []byte{opIf, noResult, opI32Const, 0x7f, opReturn, opEnd}
	most := append([]byte{opI32Const}, signed(maxPages)...)
	out := []byte{0, opLocalGet, 0}
	out = append(append(out, most...), opI32GtU)
	out = append(out, refuse...)
	out = appendU32(append(out, opLocalGet, 0, opGlobalGet), c.pages)
	out = append(append(append(out, opI32Add), most...), opI32GtU)
	out = append(out, refuse...)
	out = appendU32(append(out, opLocalGet, 0, opGlobalGet), c.pages)
	out = append(out, opI32Add, opMemorySize, 0, opI32GtU, opIf, noResult)
	out = appendU32(append(out, opLocalGet, 0, opGlobalGet), c.pages)
	out = append(out, opI32Add, opMemorySize, 0, opI32Sub, opMemoryGrow, 0, opI32Const, 0x7f, opI32Eq)
	out = append(append(out, refuse...), opEnd)
	out = appendU32(append(out, opGlobalGet), c.pages)
	out = appendU32(append(out, opLocalGet, 0, opGlobalGet), c.pages)
	out = appendU32(append(out, opI32Add, opGlobalSet), c.pages)
	return append(out, opEnd)
}

// signed returns a number from 64 to 8191 as signed LEB128.
func signed(n uint32) []byte { return []byte{byte(n&0x7f) | 0x80, byte(n >> 7)} }

// extended returns a section with entries appended, and with their number raised.
func (m *module) extended(id byte, n uint32, entries ...byte) error {
	r := &reader{src: m.sections[id]}
	had := r.u32()
	if had > 1<<32-1-n {
		return errors.New("a section has too many entries")
	}
	m.sections[id] = append(append(appendU32(nil, had+n), r.src[r.at:]...), entries...)
	return r.err
}

func (m *module) addTypes(code) error {
	return m.extended(sectionType, 3,
		0x60, 0, 0,
		0x60, 3, i32, i32, i32, 0,
		0x60, 1, i32, 1, i32)
}

func (m *module) addFunctions(code) error {
	var entries []byte
	for _, t := range []uint32{0, 1, 1, 2} {
		entries = appendU32(entries, m.types+t)
	}
	return m.extended(sectionFunction, 4, entries...)
}

func (m *module) boundMemory(code) error {
	m.sections[sectionMemory] = appendU32(appendU32([]byte{1, 1}, m.pages), maxPages)
	return nil
}

func (m *module) addGlobals(code) error {
	entries := []byte{i64, 1, opI64Const, 0, opEnd, i32, 1, opI32Const}
	if m.pages >= 64 {
		entries = append(entries, signed(m.pages)...)
	} else {
		entries = append(entries, byte(m.pages))
	}
	return m.extended(sectionGlobal, 2, append(entries, opEnd)...)
}

func (m *module) addExports(c code) error {
	entries := appendU32(append(appendSized(nil, []byte("steps")), 3), c.steps)
	entries = appendU32(append(appendSized(entries, []byte("pages")), 3), c.pages)
	return m.extended(sectionExport, 2, entries...)
}
