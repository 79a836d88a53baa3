package main

import "fmt"

// Opcodes that the rewriting names.
const (
	opUnreachable = 0x00
	opLoop        = 0x03
	opIf          = 0x04
	opEnd         = 0x0b
	opReturn      = 0x0f
	opCall        = 0x10
	opLocalGet    = 0x20
	opLocalSet    = 0x21
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opMemorySize  = 0x3f
	opMemoryGrow  = 0x40
	opI32Const    = 0x41
	opI64Const    = 0x42
	opI32Eq       = 0x46
	opI32GtU      = 0x4b
	opI64LtS      = 0x53
	opI32Add      = 0x6a
	opI32Sub      = 0x6b
	opI32ShrU     = 0x76
	opI64Sub      = 0x7d
	opExtendU     = 0xad
	opPrefix      = 0xfc
	memoryCopy    = 10
	memoryFill    = 11

	noResult = 0x40 // the type of a block that takes and gives nothing
	i32, i64 = 0x7f, 0x7e
)

// maxNesting is how deep blocks may be nested.
const maxNesting = 10_000

// code rewrites the bodies of functions. It holds the indexes of what the rewriting adds.
type code struct {
	steps, pages            uint32 // globals
	spent, fill, copy, grow uint32 // functions
}

// body returns the body of a function with a step counted at its entry and at each loop's head.
func (c code) body(src []byte) ([]byte, error) {
	r := &reader{src: src}
	groups := r.u32()
	for i := uint32(0); i < groups && r.err == nil; i++ {
		r.u32()
		if t := r.byte(); t < 0x7c && t != 0x70 && t != 0x6f {
			r.fail(fmt.Errorf("a local has type %#x, which is not known", t))
		}
	}
	out := append([]byte(nil), src[:r.at]...)
	out = c.step(out)
	depth := 1
	for depth > 0 && r.err == nil {
		start := r.at
		op := r.byte()
		switch op {
		case opMemorySize:
			zero(r)
			out = appendU32(append(out, opGlobalGet), c.pages)
			continue
		case opMemoryGrow:
			zero(r)
			out = appendU32(append(out, opCall), c.grow)
			continue
		case opPrefix:
			if replaced, ok := c.prefixed(r, out); ok {
				out = replaced
				continue
			}
		default:
			depth += immediates(r, op)
			if depth > maxNesting {
				r.fail(fmt.Errorf("blocks are nested deeper than %d", maxNesting))
			}
		}
		out = append(out, src[start:r.at]...)
		if op == opLoop {
			out = c.step(out)
		}
	}
	if r.err == nil && r.at != len(src) {
		r.fail(fmt.Errorf("%d bytes follow the end of a function", len(src)-r.at))
	}
	return out, r.err
}

// prefixed reads an instruction that begins with opPrefix. It appends the call that replaces it, if one does.
func (c code) prefixed(r *reader, out []byte) (replaced []byte, ok bool) {
	switch op := r.u32(); {
	case op <= 7: // truncations that do not trap
		return nil, false
	case op == memoryCopy:
		zero(r)
		zero(r)
		return appendU32(append(out, opCall), c.copy), true
	case op == memoryFill:
		zero(r)
		return appendU32(append(out, opCall), c.fill), true
	default:
		r.fail(fmt.Errorf("instruction 0xfc %d is not known", op))
		return nil, false
	}
}

func zero(r *reader) {
	if r.byte() != 0 {
		r.fail(fmt.Errorf("a memory other than the first is used"))
	}
}

// step appends the counting of one step.
func (c code) step(out []byte) []byte {
	out = appendU32(append(out, opGlobalGet), c.steps)
	out = append(out, opI64Const, 1, opI64Sub)
	return c.charge(out)
}

// charge appends what follows the computing of the steps that are left: they are stored, and below zero the host is asked.
func (c code) charge(out []byte) []byte {
	out = appendU32(append(out, opGlobalSet), c.steps)
	out = appendU32(append(out, opGlobalGet), c.steps)
	out = append(out, opI64Const, 0, opI64LtS, opIf, noResult)
	out = appendU32(append(out, opCall), c.spent)
	return append(out, opEnd)
}

// immediates passes what follows op, and returns by how much op nests blocks deeper.
func immediates(r *reader, op byte) int {
	switch {
	case op == 0x02 || op == opLoop || op == opIf:
		r.skipSigned(5)
		return 1
	case op == opEnd:
		return -1
	case op == 0x0e: // br_table
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			r.u32()
		}
		r.u32()
	case op == 0x11: // call_indirect
		r.u32()
		r.u32()
	case op == 0x1c: // select with types
		r.bytes(r.u32())
	case op >= 0x28 && op <= 0x3e: // loads and stores
		if r.u32() >= 32 {
			r.fail(fmt.Errorf("an access names a memory"))
		}
		r.u32()
	case op == opI32Const:
		r.skipSigned(5)
	case op == opI64Const:
		r.skipSigned(10)
	case op == 0x43:
		r.bytes(4)
	case op == 0x44:
		r.bytes(8)
	case op == 0x0c || op == 0x0d || op == opCall || op >= opLocalGet && op <= opGlobalSet:
		r.u32()
	case op == opUnreachable || op == 0x01 || op == 0x05 || op == opReturn || op == 0x1a || op == 0x1b:
	case op >= 0x45 && op <= 0xc4: // comparisons, arithmetic, conversions
	default:
		r.fail(fmt.Errorf("instruction %#x is not known", op))
	}
	return 0
}
