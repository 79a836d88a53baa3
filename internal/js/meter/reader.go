package main

import (
	"errors"
	"fmt"
)

// errShort says that a module ends before what it announces.
var errShort = errors.New("the module is cut short")

// reader reads the parts of a module in order. Its first error stays, and all later reads give zeros.
type reader struct {
	src []byte
	at  int
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) more() bool { return r.err == nil && r.at < len(r.src) }

func (r *reader) byte() byte {
	if r.err != nil || r.at >= len(r.src) {
		r.fail(errShort)
		return 0
	}
	r.at++
	return r.src[r.at-1]
}

func (r *reader) bytes(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.src)-r.at) {
		r.fail(errShort)
		return nil
	}
	r.at += int(n)
	return r.src[r.at-int(n) : r.at]
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if v > 1<<32-1 {
				r.fail(errors.New("a number has more than 32 bits"))
			}
			return uint32(v)
		}
	}
	r.fail(errors.New("a number has more than five bytes"))
	return 0
}

// skipSigned passes a signed LEB128 number of at most the given bytes.
func (r *reader) skipSigned(most int) {
	for range most {
		if r.byte()&0x80 == 0 {
			return
		}
	}
	r.fail(fmt.Errorf("a number has more than %d bytes", most))
}

// appendU32 appends v as an unsigned LEB128 number.
func appendU32(dst []byte, v uint32) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

// appendSized appends a length and that many bytes.
func appendSized(dst, b []byte) []byte {
	return append(appendU32(dst, uint32(len(b))), b...)
}
