package natsserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	_ "github.com/fanfold/fanfold/tests/suite" // for -full and -soak
)

// otherPorts makes the test binary another process that takes ports, says which, and ends with its input.
const otherPorts = "FANFOLD_TEST_OTHER_PORTS"

// TestPortsOfProcesses: a port that a process has, and does not listen at yet, no other process takes until the first has ended.
func TestPortsOfProcesses(t *testing.T) {
	if os.Getenv(otherPorts) != "" {
		fmt.Println(FreePorts(t, 1)[0])
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPortsOfProcesses$")
	cmd.Env = append(os.Environ(), otherPorts+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Fscanln(bufio.NewReader(out), &port); err != nil {
		t.Fatal(err)
	}
	if ours, err := lockPort(port); ours || err != nil {
		t.Errorf("port %d is taken twice: %v", port, err)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if ours, err := lockPort(port); !ours || err != nil {
		t.Errorf("port %d is not given back: %v", port, err)
	}
}

// TestStartFindsAnotherPort: a server whose port was taken meanwhile starts on another one, and one that cannot start says why.
func TestStartFindsAnotherPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ports := []int{taken.Addr().(*net.TCPAddr).Port, FreePorts(t, 1)[0]}
	url := StartWith(t, func(o *server.Options) { o.Port, ports = ports[0], ports[1:] })
	Connect(t, url)
	if len(ports) > 0 {
		t.Errorf("it runs at %s", url)
	}
	c := newCluster(t, []*server.Options{plainOptions(t, "n0", FreePorts(t, 1)[0])})
	c.opts[0].StoreDir = os.Args[0] + "/no"
	defer c.Stop(0)
	if err := c.start(); err == nil || !strings.Contains(err.Error(), "JetStream") {
		t.Error(err)
	}
}
