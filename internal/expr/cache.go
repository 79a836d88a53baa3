package expr

import "sync"

// maxCached bounds the text of the expressions whose programs a cache has, in bytes. A program takes some hundred times as
// much.
const maxCached = 64 << 10

// cache keeps what was compiled by its expressions. A model's expressions are needed several times while it is applied: checked,
// previewed and folded, the last while every write waits. A query's expressions are mostly the ones of the query before.
type cache[T any] struct {
	mu       sync.Mutex
	programs map[string]*T
	size     int
}

// The caches keep the programs, terms and conditions that were compiled lately.
var (
	compiled        = cache[Program]{programs: map[string]*Program{}}
	compiledBinary  = cache[Program]{programs: map[string]*Program{}}
	compiledOver    = cache[Program]{programs: map[string]*Program{}}
	compiledOwn     = cache[Program]{programs: map[string]*Program{}}
	compiledOwnOver = cache[Program]{programs: map[string]*Program{}}
	terms           = cache[Term]{programs: map[string]*Term{}}
	conditions      = cache[Condition]{programs: map[string]*Condition{}}
	readings        = cache[Reading]{programs: map[string]*Reading{}}
	writings        = cache[Filter]{programs: map[string]*Filter{}}
)

// get returns what an expression was compiled to; nil where it is not kept.
func (c *cache[T]) get(source string) *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.programs[source]
}

// put keeps what an expression was compiled to. If there is no room for it, all others go.
func (c *cache[T]) put(source string, p *T) {
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
