// Package memory finds out how much memory a process may have, and which bounds fit into it.
package memory

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

// Limit is how much memory a process may have, in bytes. The zero value stands for no limit.
type Limit struct {
	Bytes int64
	From  string // what says so: GOMEMLIMIT or cgroup
}

// Find returns the lower one of the limits of GOMEMLIMIT and of the process's control group, as they were at its first call.
var Find = sync.OnceValue(func() Limit { return find(os.DirFS("/"), debug.SetMemoryLimit(-1)) })

// find does what Find does with the files of a system, and with the limit that Go has.
func find(root fs.FS, ofGo int64) (l Limit) {
	if ofGo < math.MaxInt64 {
		l = Limit{ofGo, "GOMEMLIMIT"}
	}
	if group := groupLimit(root); group > 0 && (l.Bytes == 0 || group < l.Bytes) {
		l = Limit{group, "cgroup"}
	}
	return l
}

// unlimited is from where on what a control group has stands for no limit.
const unlimited = 1 << 50

// groupLimit returns the lowest limit of the process's control group and of those around it, 0 for none.
func groupLimit(root fs.FS) (least int64) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) < 3 {
			continue
		}
		top, file := "sys/fs/cgroup", "memory.max"
		if parts[1] == "memory" { // of version 1
			top, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) { // in a container only the top is there
			if n := number(root, path.Join(top, at, file)); n > 0 && n < unlimited && (least == 0 || n < least) {
				least = n
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// number returns the number in a file, 0 for none.
func number(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Part returns a part of the limit, at least least bytes and at most most. Without a limit it is most.
func (l Limit) Part(of, least, most int64) int64 {
	if l.Bytes == 0 {
		return most
	}
	return min(max(l.Bytes/of, least), most)
}

// Apply has the garbage collector keep to the limit without a rest, where GOMEMLIMIT does not say what it is to keep to.
func (l Limit) Apply() {
	if l.From == "cgroup" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(l.forGo())
	}
}

// foreign is how many bytes may be used that are not Go's: SQLite's pages, and the stacks of C.
const foreign = 96 << 20

// forGo returns how many bytes are Go's: the limit without a tenth or foreign bytes, and half of it at least.
func (l Limit) forGo() int64 { return max(l.Bytes/2, l.Bytes-max(l.Bytes/10, foreign)) }
