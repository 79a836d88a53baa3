package sqlite

import (
	"encoding/binary"
	"math/bits"
)

// Two values that follow each other mostly have long parts in common: of a list elements came, went or moved, or a member of one changed.
// So a value may be stored as its edits of another, the base: the parts that the base has not, and which parts of the base
// stand between. They are found byte by byte, so that it does not matter what the values are made of.

const (
	editWindow  = 8       // bytes by which a common part is found
	leastCopied = 10      // bytes of a part that is worth a copy
	editStride  = 4       // bytes between the places of a short base at which parts are looked up
	maxIndexed  = 1 << 14 // places of a base at which parts are looked up
)

// editor finds edits. The zero value works; its memory is used again.
type editor struct {
	places []int32 // in a base, by hash, one more than they are; 0 for none
	shift  int
}

// append appends a value: as its edits of a base where these are shorter, else as it is. It begins with how long that is and which of both.
func (e *editor) append(dst, value, base []byte) []byte {
	begin := len(dst)
	if len(value) >= leastCopied && len(base) >= leastCopied {
		var room [2 * binary.MaxVarintLen32]byte
		dst = e.edits(append(dst, room[:]...), value, base)
		if n := len(dst) - begin - len(room); n < len(value) {
			head := binary.AppendUvarint(dst[:begin], uint64(n)<<1|1)
			return append(head, dst[begin+len(room):]...)
		}
		dst = dst[:begin]
	}
	return append(binary.AppendUvarint(dst, uint64(len(value))<<1), value...)
}

// edits appends the edits: in turn a part of the value and a part of the base. The latter has its length and its distance from the end of
// the one before it.
func (e *editor) edits(dst, value, base []byte) []byte {
	begin := commonPrefix(value, base)
	if begin < leastCopied {
		begin = 0
	}
	end := commonSuffix(value[begin:], base[begin:])
	if end < leastCopied {
		end = 0
	}
	out := editWriter{dst: dst, value: value}
	if begin > 0 {
		out.copy(0, begin, 0)
	}
	last, baseEnd := len(value)-end, len(base)-end
	e.places = e.places[:0]
	if last-begin >= editWindow {
		e.index(base[begin:baseEnd])
	}
	for i := begin; i+editWindow <= last && len(e.places) > 0; {
		at := e.places[e.hash(value[i:])] - 1
		if at < 0 {
			i++
			continue
		}
		from := begin + int(at)
		n := commonPrefix(value[i:last], base[from:baseEnd])
		back := 0
		for i-back > out.done && from-back > begin && value[i-back-1] == base[from-back-1] {
			back++
		}
		if n += back; n < leastCopied {
			i++
			continue
		}
		i -= back
		out.copy(i, n, from-back)
		i += n
	}
	if end > 0 {
		out.copy(last, end, baseEnd)
	}
	return out.literal(len(value))
}

// index makes parts of a base findable, from their first place on.
func (e *editor) index(base []byte) {
	if len(base) < editWindow {
		return
	}
	stride := max(editStride, len(base)/maxIndexed)
	size := bits.Len(uint(2 * len(base) / stride))
	e.shift = 64 - size
	for range 1 << size {
		e.places = append(e.places, 0)
	}
	for at := 0; at+editWindow <= len(base); at += stride {
		if h := e.hash(base[at:]); e.places[h] == 0 {
			e.places[h] = int32(at + 1) // a value has less than 2 GiB
		}
	}
}

// hash returns where a window is looked up.
func (e *editor) hash(window []byte) uint64 {
	const factor = 0x9e3779b97f4a7c15
	return binary.LittleEndian.Uint64(window) * factor >> e.shift
}

// editWriter writes edits.
type editWriter struct {
	dst, value []byte
	done       int // bytes of value that are written
	baseEnd    int // of the last part of the base
}

// literal writes what is left of the value up to a place.
func (w *editWriter) literal(end int) []byte {
	w.dst = append(binary.AppendUvarint(w.dst, uint64(end-w.done)), w.value[w.done:end]...)
	w.done = end
	return w.dst
}

// copy writes that n bytes of the value at a place equal the base's bytes at another.
func (w *editWriter) copy(at, n, from int) {
	w.literal(at)
	w.dst = binary.AppendVarint(binary.AppendUvarint(w.dst, uint64(n)), int64(from-w.baseEnd))
	w.done, w.baseEnd = at+n, from+n
}

// nextValue takes the first value off what editor.append has written. A value that was edits is in room, if that suffices;
// another is valid as long as what is stored. ok is false where that is damaged.
func nextValue(stored, base, room []byte) (value, rest []byte, ok bool) {
	value, edited, rest := cutValue(stored)
	if edited {
		value, ok = restored(value, base, room)
		return value, rest, ok
	}
	return value, rest, value != nil
}

// cutValue takes the first value off as it is stored, nil where it is damaged, and says whether it is edits.
func cutValue(stored []byte) (value []byte, edited bool, rest []byte) {
	head, n := binary.Uvarint(stored)
	if n <= 0 || head>>1 > uint64(len(stored)-n) {
		return nil, false, nil
	}
	end := n + int(head>>1)
	return stored[n:end:end], head&1 == 1, stored[end:]
}

// restored returns the value that edits make of a base, in room where that suffices.
func restored(edits, base, room []byte) (value []byte, ok bool) {
	if value = room[:0]; cap(value) < len(base)+len(edits) {
		value = make([]byte, 0, len(base)+len(edits)+len(base)/8)
	}
	for from := 0; ; {
		n, size := binary.Uvarint(edits)
		if size <= 0 || n > uint64(len(edits)-size) {
			return nil, false
		}
		edits = edits[size:]
		if value, edits = append(value, edits[:n]...), edits[n:]; len(edits) == 0 {
			return value, true
		}
		n, size = binary.Uvarint(edits)
		if size <= 0 {
			return nil, false
		}
		after, more := binary.Varint(edits[size:])
		if from += int(after); more <= 0 || from < 0 || from > len(base) || n > uint64(len(base)-from) {
			return nil, false
		}
		value, edits, from = append(value, base[from:from+int(n)]...), edits[size+more:], from+int(n)
	}
}

// commonSuffix returns how many last bytes two texts have in common.
func commonSuffix(a, b []byte) (n int) {
	most := min(len(a), len(b))
	for n+8 <= most && binary.LittleEndian.Uint64(a[len(a)-n-8:]) == binary.LittleEndian.Uint64(b[len(b)-n-8:]) {
		n += 8
	}
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
