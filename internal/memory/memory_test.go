package memory

import (
	"math"
	"testing"
	"testing/fstest"
)

// TestFind: the lowest limit counts, of GOMEMLIMIT, of the control group in both versions, and of the groups around it.
func TestFind(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	two := fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.max": file("314572800\n"), "sys/fs/cgroup/memory.max": file("1073741824\n")}
	for name, c := range map[string]struct {
		root fstest.MapFS
		ofGo int64
		want Limit
	}{
		"nothing":             {fstest.MapFS{}, math.MaxInt64, Limit{}},
		"GOMEMLIMIT":          {fstest.MapFS{}, 1 << 30, Limit{1 << 30, "GOMEMLIMIT"}},
		"version 2":           {two, math.MaxInt64, Limit{314572800, "cgroup"}},
		"GOMEMLIMIT is lower": {two, 1 << 20, Limit{1 << 20, "GOMEMLIMIT"}},
		"a container":         {fstest.MapFS{"proc/self/cgroup": file("0::/outside\n"), "sys/fs/cgroup/memory.max": file("1000000\n")}, math.MaxInt64, Limit{1000000, "cgroup"}},
		"version 1": {fstest.MapFS{"proc/self/cgroup": file("8:pids:/\n4:memory:/x\n"), "sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("5000000\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, math.MaxInt64, Limit{5000000, "cgroup"}},
		"broken": {fstest.MapFS{"proc/self/cgroup": file("nonsense\n0::\n"), "sys/fs/cgroup/memory.max": file("many")}, math.MaxInt64, Limit{}},
	} {
		if got := find(c.root, c.ofGo); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestParts: bounds shrink with the limit, and are what they were without one.
func TestParts(t *testing.T) {
	for limit, want := range map[int64]int64{0: 64 << 20, 300 << 20: 300 << 20 / 64, 1 << 20: 1 << 20, 64 << 30: 64 << 20} {
		if got := (Limit{Bytes: limit}).Part(64, 1<<20, 64<<20); got != want {
			t.Errorf("of %d bytes the part is %d, want %d", limit, got, want)
		}
	}
}

// TestForGo: what is not Go's has room in a small control group, too.
func TestForGo(t *testing.T) {
	for limit, want := range map[int64]int64{100 << 20: 50 << 20, 300 << 20: 204 << 20, 1 << 30: 1<<30 - 1<<30/10, 10 << 30: 9 << 30} {
		if got := (Limit{Bytes: limit}).forGo(); got != want {
			t.Errorf("of %d bytes %d are Go's, want %d", limit, got, want)
		}
	}
}
