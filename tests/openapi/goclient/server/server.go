// Package server starts the server that a test of a generated client asks.
package server

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Start starts the program, which make build has put there, with an empty store, and returns its URL. The end of the test stops it.
func Start(t *testing.T, program string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()
	cmd := exec.Command(program, "serve", "--data", t.TempDir(), "--listen", addr)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: make build makes %s", err, program)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for range 600 {
		if resp, err := http.Get("http://" + addr + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "http://" + addr
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server is not ready")
	return ""
}
