package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// AccessReads compares GETs with a key of a closed house with those of an open house, over conns connections. books is how many
// documents both have.
func AccessReads(ctx context.Context, open, closed Target, keys, conns, books int) (Result, error) {
	name := fmt.Sprintf("GET with a key, %d keys, %d connections", keys, conns)
	return pairs(name, "requests/s", func(t Target, _ int) (float64, error) {
		rate, _, err := load(ctx, t, conns, books)
		return rate, err
	}, open, closed)
}

// AccessWrites does with durable PUTs of new documents what AccessReads does with GETs. first numbers the rounds, so that no two
// calls write the same documents.
func AccessWrites(ctx context.Context, open, closed Target, keys, conns, first int) (Result, error) {
	name := fmt.Sprintf("durable PUT with a key, %d keys, %d connections", keys, conns)
	return pairs(name, "writes/s", func(t Target, round int) (float64, error) {
		rate, _, err := putRound(ctx, t, first+round, conns)
		return rate, err
	}, open, closed)
}

// pairs measures the open house and the closed one in turn.
func pairs(name, unit string, measure func(t Target, round int) (float64, error), open, closed Target) (Result, error) {
	of := func(t Target) func(round int) (float64, error) {
		return func(round int) (float64, error) { return measure(t, round) }
	}
	return Pairs(name, unit, "the same of an open house, in turn", of(closed), of(open))
}

// badKeys is how many requests with a key that does not work are sent a second, on how many connections.
const (
	badKeys       = 5000
	badConnection = 10
)

// AccessAttacked compares GETs with a key while badKeys requests a second have keys that do not work with those at other times.
func AccessAttacked(ctx context.Context, closed, bad Target, conns, books int) (r Result, err error) {
	r, err = pairs("GET with a key beside 5000 bad keys a second", "requests/s", func(t Target, _ int) (rate float64, err error) {
		if t == bad {
			attack, end := context.WithCancel(ctx)
			defer end()
			done := make(chan error, badConnection)
			for range badConnection {
				go func() { done <- sendBadKeys(attack, bad) }()
			}
			rate, _, err = load(ctx, closed, conns, books)
			end()
			for range badConnection {
				err = errors.Join(err, <-done)
			}
			return rate, err
		}
		rate, _, err = load(ctx, t, conns, books)
		return rate, err
	}, closed, bad)
	if err == nil {
		r.Notes = []string{"limit: the same without the bad keys, in turn"}
	}
	return r, err
}

// sendBadKeys sends a connection's share of badKeys until ctx ends.
func sendBadKeys(ctx context.Context, bad Target) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", bad.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 4<<10)
	req := []byte("GET /v1/books/1 HTTP/1.1\r\nHost: localhost\r\n" + bad.Header + "\r\n")
	begun := time.Now()
	for sent := 0; ctx.Err() == nil; sent++ {
		due := begun.Add(time.Duration(sent) * time.Second * badConnection / badKeys)
		if pause := time.Until(due); pause > time.Millisecond {
			time.Sleep(pause)
		}
		if _, err := conn.Write(req); err != nil {
			return err
		}
		if err := readRefusal(r); err != nil {
			return err
		}
	}
	return nil
}

// readRefusal reads a 401 with a Content-Length.
func readRefusal(r *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.Contains(line, []byte(" 401 ")) {
			return fmt.Errorf("answered %s", bytes.TrimSpace(line))
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if _, err := fmt.Sscan(string(v), &length); err != nil {
				return err
			}
		}
		if len(line) == 2 {
			_, err := io.CopyN(io.Discard, r, int64(length))
			return err
		}
	}
}
