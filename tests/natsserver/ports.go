package natsserver

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// Ports of test servers: below the ones that systems give to outgoing connections, which could take a port while its server
// is not running.
const (
	firstPort = 10000
	lastPort  = 32000
)

// given holds the ports that FreePorts has returned. None is returned twice in a process: whoever has it may listen later.
var given sync.Map

// FreePorts returns ports of the loopback interface that were free a moment ago. Nobody else in this process has them, nor in
// other test processes until this one ends.
func FreePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries > 1000 {
			t.Fatal("there are no free ports")
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		if _, known := given.LoadOrStore(port, true); known {
			continue
		}
		ours, err := lockPort(port)
		if err != nil {
			t.Fatal(err)
		}
		if !ours {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = l.Close() // it was free
			ports = append(ports, port)
		}
	}
	return ports
}

// portLocks is a file in which each process locks the bytes at its ports. It is never closed, for that would give them up.
var portLocks = sync.OnceValues(func() (*os.File, error) {
	return os.OpenFile(filepath.Join(os.TempDir(), "fanfold-test-ports"), os.O_CREATE|os.O_RDWR, 0o666)
})

// lockPort returns whether this process has a port from now on, until it ends: false where another process has it.
func lockPort(port int) (bool, error) {
	f, err := portLocks()
	if err != nil {
		return false, err
	}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(port), Len: 1})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return false, nil
	}
	return err == nil, err
}
