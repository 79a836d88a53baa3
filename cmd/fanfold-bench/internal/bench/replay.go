package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Loader imports NDJSON into a new store in dir, and returns how long that took once everything is folded.
type Loader func(ctx context.Context, dir string, body []byte) (time.Duration, error)

// Import compares an import of count documents with a hand-written SQLite loop that writes the rows it wrote. dir names
// the directory of each round.
func Import(ctx context.Context, dir func(round int) string, count int, load Loader) (Result, error) {
	var text []byte
	for i := range count {
		text = append(appendBook(text, strconv.Itoa(i)), '\n')
	}
	return Pair{Name: fmt.Sprintf("import of %d documents", count), Unit: "documents/s", Rounds: 3, Cold: true, OursFirst: true,
		Limit: "a hand-written SQLite loop writing the same rows; ours includes the log, synced, and the fold",
		Ours: func(round int) (float64, error) {
			took, err := load(ctx, dir(round), text)
			return float64(count) / took.Seconds(), err
		}, Plain: func(round int) (float64, error) {
			took, err := handWritten(dir(round))
			return float64(count) / took.Seconds(), err
		}}.Run()
}

// Replay compares a replay of the store in dir, by a process of its own, with a hand-written loop that writes the rows it
// wrote. events is how many the log has.
func Replay(ctx context.Context, dir string, events int) (Result, error) {
	memory := 0
	r, err := Pair{Name: fmt.Sprintf("replay of %d events", events), Unit: "events/s", Limit: "a hand-written SQLite loop writing the same rows",
		Rounds: 3, Cold: true, OursFirst: true, Ours: func(int) (float64, error) {
			n, seconds, peak, err := replay(ctx, dir)
			memory = max(memory, peak)
			return float64(n) / seconds, err
		}, Plain: func(int) (float64, error) {
			took, err := handWritten(dir)
			return float64(events) / took.Seconds(), err
		}}.Run()
	r.Notes = append(r.Notes, fmt.Sprintf("most memory of the replaying process, embedded log included: %d MB", memory))
	return r, err
}

// replay runs one replay, and returns how many events it folded, how long that took, and the most memory that its
// process had, in MB.
func replay(ctx context.Context, dir string) (events int, seconds float64, peak int, err error) {
	cmd, err := self(ctx, "replay", "--data", dir)
	if err != nil {
		return 0, 0, 0, err
	}
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
