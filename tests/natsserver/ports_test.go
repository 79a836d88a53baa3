package natsserver

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

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
