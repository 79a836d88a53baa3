package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Replay compares `program replay --data dir`, a process of its own, with a hand-written loop that writes the rows it
// wrote. events is how many the log has.
func Replay(ctx context.Context, program, dir string, events int) (r Result, err error) {
	const rounds = 3
	var ours, limit []float64
	memory := 0
	for range rounds {
		n, seconds, peak, err := replay(ctx, program, dir)
		if err != nil {
			return r, err
		}
		ours, memory = append(ours, float64(n)/seconds), max(memory, peak)
		took, err := handWritten(dir)
		if err != nil {
			return r, err
		}
		limit = append(limit, float64(n)/took.Seconds())
	}
	r = result(fmt.Sprintf("replay of %d events", events), "events/s", ours, limit)
	r.Notes = append(r.Notes, "limit: a hand-written SQLite loop writing the same rows",
		fmt.Sprintf("most memory of the replaying process, embedded log included: %d MB", memory))
	return r, nil
}

// replay runs one replay, and returns how many events it folded, how long that took, and the most memory that its
// process had, in MB.
func replay(ctx context.Context, program, dir string) (events int, seconds float64, peak int, err error) {
	cmd := exec.CommandContext(ctx, program, "replay", "--data", dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return 0, 0, 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-tick.C:
			peak = max(peak, highWater(cmd.Process.Pid))
		case err := <-done:
			if err != nil {
				return 0, 0, 0, fmt.Errorf("%w: %s", err, out.Bytes())
			}
			ended = true
		}
	}
	if _, err := fmt.Sscanf(out.String(), "%d events in %f s", &events, &seconds); err != nil {
		return 0, 0, 0, fmt.Errorf("unexpected output %q: %w", out.Bytes(), err)
	}
	return events, seconds, peak, nil
}

// highWater returns the most memory that a process has had so far, in MB; 0 where the system does not say.
func highWater(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb := 0
	_, _ = fmt.Sscan(rest, &kb) // 0 if it is not there
	return kb / 1024
}
