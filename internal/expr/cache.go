package expr

import "sync"

// maxCached bounds the text of the expressions whose programs are kept, in bytes. A program takes some hundred times as
// much.
const maxCached = 64 << 10

// programCache keeps programs by their expressions. A model's expressions are needed several times while it is applied:
// checked, previewed and folded, the last while every write waits.
type programCache struct {
	mu       sync.Mutex
	programs map[string]*Program
	size     int
}

// compiled keeps the programs that were compiled lately.
var compiled = programCache{programs: map[string]*Program{}}

// get returns the program of an expression; nil where it is not kept.
func (c *programCache) get(source string) *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.programs[source]
}

// put keeps a program. Where there is no room for it, all others go.
func (c *programCache) put(source string, p *Program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.programs[source] != nil {
		return
	}
	if c.size += len(source); c.size > maxCached {
		clear(c.programs)
		c.size = len(source)
	}
	c.programs[source] = p
}
