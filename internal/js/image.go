package js

import "bytes"

// pageBytes is the size of the pieces in which memory is compared and copied.
const pageBytes = 4 << 10

// wasmPage is the size of the pieces in which a module's memory grows.
const wasmPage = 64 << 10

// image is the memory of an instance between two calls. Images share the pages in which they do not differ.
type image struct {
	pages [][]byte // each of pageBytes
	own   int      // bytes of those that no other image shares
	grown uint64   // the global `pages`
	sp    uint64
}

var zeros = make([]byte, pageBytes)

// image returns the instance's memory as it is. It shares the pages that like has, too; like may be nil.
func (in *instance) image(like *image) *image {
	m := &image{grown: in.pages.Get(), sp: in.sp.Get()}
	mem, _ := in.memory.Read(0, uint32(m.grown*wasmPage))
	m.pages = make([][]byte, 0, len(mem)/pageBytes)
	for i := 0; i < len(mem); i += pageBytes {
		page := mem[i : i+pageBytes]
		switch n := len(m.pages); {
		case like != nil && n < len(like.pages) && bytes.Equal(page, like.pages[n]):
			page = like.pages[n]
		case bytes.Equal(page, zeros):
			page = zeros
		default:
			page = bytes.Clone(page)
			m.own += pageBytes
		}
		m.pages = append(m.pages, page)
	}
	return m
}

// restore gives the instance the memory and globals of an image. It writes only the pages that differ, and zeros where the
// run before had grown the memory.
func (in *instance) restore(m *image) {
	in.f.err = nil
	had := in.pages.Get()
	mem, _ := in.memory.Read(0, in.memory.Size())
	if need := len(m.pages) * pageBytes; len(mem) < need {
		in.memory.Grow(uint32((need - len(mem) + wasmPage - 1) / wasmPage))
		mem, _ = in.memory.Read(0, in.memory.Size())
	}
	for i, page := range m.pages {
		if at := mem[i*pageBytes:][:pageBytes]; !bytes.Equal(at, page) {
			copy(at, page)
		}
	}
	if had > m.grown {
		clear(mem[m.grown*wasmPage : had*wasmPage])
	}
	in.pages.Set(m.grown)
	in.sp.Set(m.sp)
}
