package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
)

// container is a container of a service, as a process with an address of its own.
type container struct {
	name    string // such as fanfold-2
	service types.ServiceConfig
	ip      netip.Addr
	argv    []string
	env     []string
	probe   probe
	logFile string
	dir     string       // its working directory
	changed func()       // is called where it begins or ends to run
	logf    func(string) // takes what is worth telling

	mu      sync.Mutex
	cmd     *exec.Cmd
	ended   chan struct{} // is closed once the process has ended
	stopped bool          // it is meant to be down: by Kill or Stop
	pause   time.Duration // before it is started again, twice as long each time
	code    error         // how the last process ended
}

// Start starts the container, where it is not running. It starts again by itself where it ends by itself, as the restart
// policy says.
func (c *container) Start() error {
	err := c.start()
	c.changed()
	return err
}

// start starts a process where there is none.
func (c *container) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd != nil {
		return nil
	}
	log, err := os.OpenFile(c.logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.env, c.dir, log, log
	// A group of its own takes children along; they end with this program, whatever becomes of it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = errors.Join(cmd.Start(), log.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	c.cmd, c.ended, c.stopped = cmd, make(chan struct{}), false
	go c.watch(cmd, c.ended)
	return nil
}

// restartPause is how long a container that ended by itself stays down the first time.
const restartPause = 100 * time.Millisecond

// watch waits for the end of a process, and starts another one where that was not asked for.
func (c *container) watch(cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	c.mu.Lock()
	again := !c.stopped && c.service.Restart == types.RestartPolicyUnlessStopped
	c.cmd, c.code, c.pause = nil, err, max(restartPause, 2*c.pause)
	pause := c.pause
	close(ended)
	c.mu.Unlock()
	c.changed()
	if again {
		c.logf(fmt.Sprintf("%s ended (%v) and is started again; it said: %s", c.name, err, c.said(300)))
		time.AfterFunc(pause, func() {
			c.mu.Lock()
			stopped := c.stopped
			c.mu.Unlock()
			if !stopped {
				_ = c.Start()
			}
		})
	}
}

// said returns the end of what the container has said, n bytes at most.
func (c *container) said(n int) string {
	text, err := os.ReadFile(c.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-n):])
}

// Running tells whether the process runs.
func (c *container) Running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cmd != nil
}

// Kill ends the container at once, as a loss of its machine does, and waits. It stays down until Start.
func (c *container) Kill() { _ = c.end(syscall.SIGKILL, 10*time.Second) }

// Stop asks the container to end and waits. The error says that it had to be killed, or ended with a failure.
func (c *container) Stop() error { return c.end(syscall.SIGTERM, stopTime(c.service)) }

// end sends a signal and waits for the end, which it brings about once limit is over.
func (c *container) end(signal syscall.Signal, limit time.Duration) error {
	c.mu.Lock()
	c.stopped = true
	cmd, ended := c.cmd, c.ended
	c.mu.Unlock()
	if cmd == nil {
		return nil
	}
	_ = syscall.Kill(cmd.Process.Pid, signal)
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }() // children that it left
	select {
	case <-ended:
	case <-time.After(limit):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		return fmt.Errorf("%s did not end within %v", c.name, limit)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if signal == syscall.SIGTERM && c.code != nil && !signaled(c.code, syscall.SIGTERM) {
		return fmt.Errorf("%s: %w", c.name, c.code)
	}
	return nil
}

// signaled tells whether a process ended by a signal, or with the exit code that stands for it.
func signaled(err error, signal syscall.Signal) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && (status.Signaled() && status.Signal() == signal || status.ExitStatus() == 128+int(signal))
}

// Healthy waits until the health check succeeds. The error is ctx's, with what the last check said.
func (c *container) Healthy(ctx context.Context) error {
	for {
		limited, cancel := context.WithTimeout(ctx, c.probe.timeout)
		cmd := exec.CommandContext(limited, c.probe.argv[0], c.probe.argv[1:]...)
		cmd.Env, cmd.Dir = c.env, c.dir
		said, err := cmd.CombinedOutput()
		cancel()
		if err == nil && c.Running() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not healthy: %w: %w: %s", c.name, ctx.Err(), err, said)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// mustDir makes a directory and returns its path.
func mustDir(elements ...string) (string, error) {
	dir := filepath.Join(elements...)
	return dir, os.MkdirAll(dir, 0o755)
}
