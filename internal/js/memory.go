package js

import (
	"fmt"
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// linear is the memory of one instance: addresses for all that it may ever have, which take memory once they are written.
// So it grows without being copied, and its end gives everything back at once.
type linear struct{ all []byte }

func newLinear(size int) (*linear, error) {
	all, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, internal(fmt.Errorf("taking %d bytes of addresses: %w", size, err))
	}
	return &linear{all}, nil
}

// Allocate returns r itself, for the one memory of an instance.
func (r *linear) Allocate(_, _ uint64) experimental.LinearMemory { return r }

// Reallocate returns the first bytes, nil where there are not as many.
func (r *linear) Reallocate(size uint64) []byte {
	if size > uint64(len(r.all)) {
		return nil
	}
	return r.all[:size]
}

// Free gives the memory back. Nothing may use the instance then.
func (r *linear) Free() {
	if r.all != nil {
		_ = syscall.Munmap(r.all)
		r.all = nil
	}
}
