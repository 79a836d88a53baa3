package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/tests/suite"
)

// embeddedLog opens a log on an embedded server in a directory of its own, and returns both, a connection, and the directory of
// its blocks. change may alter the log's options.
func embeddedLog(t *testing.T, durability Durability, change func(*events.Options)) (l *events.Log, e *Server, nc *nats.Conn, msgs string) {
	t.Helper()
	dir := t.TempDir()
	e, err := Start(t.Context(), Options{Dir: dir, Durability: durability, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if nc, err = e.Connect(); err != nil {
		t.Fatal(err)
	}
	opt := events.Options{Embedded: e, Logger: slog.New(slog.DiscardHandler)}
	change(&opt)
	if l, err = events.Open(t.Context(), nc, opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nc.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, e, nc, filepath.Join(dir, "jetstream", "$G", "streams", "fanfold", "msgs")
}

// defaultOptions changes no options.
func defaultOptions(*events.Options) {}

// consumed are messages as a consumer delivers them.
type consumed struct{ msgs jetstream.MessagesContext }

func (c consumed) Stop()  { c.msgs.Stop() }
func (c consumed) Close() { c.msgs.Stop() }

func (c consumed) Receive(ctx context.Context) (m events.Message, err error) {
	msg, err := c.msgs.Next(jetstream.NextContext(ctx))
	if err != nil {
		return m, err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return m, err
	}
	return events.Message{Subject: msg.Subject(), Headers: msg.Headers(), Data: msg.Data(), Seq: meta.Sequence.Stream, Time: meta.Timestamp}, nil
}

// consume returns the log's messages as a consumer delivers them. The caller closes them.
func consume(t *testing.T, nc *nats.Conn) events.Messages {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	cons, err := js.OrderedConsumer(t.Context(), "fanfold", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := cons.Messages()
	if err != nil {
		t.Fatal(err)
	}
	return consumed{msgs}
}

// filesRead counts how often the log asks a server for messages from its files, and may say that the server syncs by itself.
type filesRead struct {
	*Server
	opened      int
	serverSyncs bool
}

func (f *filesRead) Messages(stream string, from uint64, stored *events.Watermark) (events.Messages, error) {
	f.opened++
	return f.Server.Messages(stream, from, stored)
}

func (f *filesRead) Sync() string {
	if f.serverSyncs {
		return events.SyncServer
	}
	return f.Server.Sync()
}

// noted is a log handler that counts what is said.
type noted struct {
	slog.Handler
	lines *atomic.Int32
}

func (n noted) Enabled(context.Context, slog.Level) bool { return true }

func (n noted) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "the log is read through the server") {
		n.lines.Add(1)
	}
	return nil
}

// writeOf returns a put of a document with a body of about size bytes.
func writeOf(id string, size int) fanfold.Write {
	body := `{"text":"` + strings.Repeat("x", size) + `"}`
	return fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "books", ID: id}, Body: []byte(body)}}
}

// readUpTo reads messages from m up to a sequence, without what only says how far the log is.
func readUpTo(t *testing.T, m events.Messages, last uint64) (all []events.Message) {
	t.Helper()
	for {
		got, err := m.Receive(t.Context())
		if err != nil {
			t.Fatalf("behind %d messages: %v", len(all), err)
		}
		got.Pending = 0
		for name := range got.Headers {
			if !strings.HasPrefix(name, "Fanfold-") {
				delete(got.Headers, name)
			}
		}
		if len(got.Headers) == 0 {
			got.Headers = nil
		}
		if all = append(all, got); got.Seq >= last {
			return all
		}
	}
}

// TestBlocksAgreeWithConsumer writes events of all sizes from several goroutines over several blocks, some as transactions and under keys.
// It reads them from the files while they are written, and afterwards from any place. They are what a consumer gives.
func TestBlocksAgreeWithConsumer(t *testing.T) {
	suite.Concurrent(t)
	l, e, nc, msgs := embeddedLog(t, Always, defaultOptions)
	var highest events.Watermark // nobody tells of new events: the reader looks by itself
	live, err := openBlockMessages(e.opt.Dir, "fanfold", 1, &highest)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	const workers, rounds, large = 4, 60, 300 << 10
	last := uint64(workers * rounds * 3)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range rounds {
				id := fmt.Sprintf("%d-%d", w, i)
				key := writeOf(id, r.IntN(200))
				key.Event.IdempotencyKey = fanfold.IdempotencyKey{Hash: strings.Repeat("k", 40) + id, Digest: "d"}
				_, err := l.Append(context.Background(), key.Event, fanfold.Expect{})
				if err == nil {
					_, err = l.AppendAll(context.Background(), "tx"+id, []fanfold.Write{writeOf(id+"a", r.IntN(large)), writeOf(id+"b", r.IntN(9))})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	got := readUpTo(t, live, last)
	wg.Wait()
	consumer := consume(t, nc)
	defer consumer.Close()
	want := readUpTo(t, consumer, last)
	if !reflect.DeepEqual(got, want) {
		t.Fatal("what was read from the files is not what the consumer gave")
	}
	blocks, _, err := listBlocks(msgs)
	if err != nil || len(blocks) < 3 {
		t.Fatalf("%d blocks, %v: too few for this test", len(blocks), err)
	}
	for _, from := range []uint64{2, last / 3, last / 2, last - 1, last} {
		m, err := openBlockMessages(e.opt.Dir, "fanfold", from, &highest)
		if err != nil {
			t.Fatal(err)
		}
		if part := readUpTo(t, m, last); !reflect.DeepEqual(part, want[from-1:]) {
			t.Errorf("from %d on the files have something else", from)
		}
		m.Close()
	}
}

// TestReadersReadBlocks checks that readers read the files with both durabilities, and a consumer where the server syncs: then its files
// are not what this program expects.
func TestReadersReadBlocks(t *testing.T) {
	for _, durability := range []Durability{Always, Interval} {
		var files *filesRead
		l, _, _, _ := embeddedLog(t, durability, func(opt *events.Options) {
			files = &filesRead{Server: opt.Embedded.(*Server)}
			opt.Embedded = files
		})
		r, err := l.Read(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if files.opened != 1 {
			t.Errorf("durability %s: the files were opened %d times", durability, files.opened)
		}
		for i := range 3 {
			if _, err := l.Append(t.Context(), writeOf(fmt.Sprint(i), 3).Event, fanfold.Expect{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := r.Next(t.Context()); err != nil {
			t.Error(err)
		}
		r.Close() // with two events that it has read already
		if ev, _, err := r.Next(t.Context()); fanfold.CodeOf(err) != fanfold.Unavailable {
			t.Errorf("a reader that is closed gives %v, %v", ev, err)
		}
		files.serverSyncs = true
		if r, err = l.Read(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if files.opened != 1 {
			t.Error("where the server syncs the reader reads its files")
		}
		r.Close()
	}
}

// TestEventsOfOthersAreRead publishes beside the log: nobody tells its readers.
func TestEventsOfOthersAreRead(t *testing.T) {
	l, _, nc, _ := embeddedLog(t, Always, defaultOptions)
	r, err := l.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range 3 {
		if err := nc.Publish(fmt.Sprint("fanfold.fanfold.doc.books.", i), events.Encode(writeOf("", 3).Event)); err != nil {
			t.Fatal(err)
		}
		ev, _, err := r.Next(t.Context())
		if err != nil || ev.Key.ID != fmt.Sprint(i) {
			t.Fatalf("event %d: %v, %v", i, ev, err)
		}
	}
}

// TestUnreadableBlocks damages a record that the running server still has in memory, and one that is gone, with its block: a reader
// asks the server what it has.
func TestUnreadableBlocks(t *testing.T) {
	said := new(atomic.Int32)
	l, _, _, msgs := embeddedLog(t, Always, func(opt *events.Options) { opt.Logger = slog.New(noted{slog.DiscardHandler, said}) })
	for i := range 10 {
		if _, err := l.Append(t.Context(), writeOf(fmt.Sprint(i), 50).Event, fanfold.Exactly(0)); err != nil {
			t.Fatal(err)
		}
	}
	path := blockPath(msgs, 1)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(whole, []byte("books.5"))
	damaged := bytes.Clone(whole)
	damaged[at+60] ^= 1
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"another byte", func() error { return os.WriteFile(path, damaged, 0o644) }},
		{"cut", func() error { return os.Truncate(path, int64(at)) }},
		{"empty", func() error { return os.Truncate(path, 0) }},
		{"gone", func() error { return os.Remove(path) }},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		r, err := l.Read(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			ev, _, err := r.Next(t.Context())
			if err != nil || ev.Seq != uint64(i+1) || ev.Key.ID != fmt.Sprint(i) {
				t.Fatalf("%s: event %d: %v, %v", change.name, i+1, ev, err)
			}
		}
		if said.Swap(0) == 0 {
			t.Errorf("%s: the reader did not ask the server", change.name)
		}
		r.Close()
	}
}

// appendRecord appends a record as the server writes it.
func appendRecord(dst []byte, sums *checksums, seq uint64, subject, headers, data string) []byte {
	begin := len(dst)
	length := recordHeader + len(subject) + len(data) + recordChecksum
	word := uint32(length)
	if headers != "" {
		length += 4 + len(headers)
		word = uint32(length) | headersFlag
	}
	dst = binary.LittleEndian.AppendUint32(dst, word)
	dst = binary.LittleEndian.AppendUint64(dst, seq)
	dst = binary.LittleEndian.AppendUint64(dst, 1_000+seq)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(subject)))
	dst = append(dst, subject...)
	if headers != "" {
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(headers))), headers...)
	}
	dst = append(dst, data...)
	sums.hash.Reset()
	_, _ = sums.hash.Write(dst[begin+4 : begin+20])
	_, _ = sums.hash.Write([]byte(subject + headers + data))
	return sums.hash.Sum(dst)
}

// TestGrowingBlocks lets block files grow by pieces of any length, as a server writes them, with records of all sizes. After each piece
// the reader has delivered all records that are whole, each once and in order.
func TestGrowingBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "blocks")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		msgs := filepath.Join(dir, "jetstream", "$G", "streams", "s", "msgs")
		if err := os.MkdirAll(msgs, 0o755); err != nil {
			t.Fatal(err)
		}
		var highest events.Watermark
		m, err := openBlockMessages(dir, "s", 1, &highest)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var seq, delivered uint64
		for number := range uint64(rapid.IntRange(1, 4).Draw(t, "blocks")) {
			sums, text, ends := newChecksums("s", number+1), []byte(nil), []int(nil)
			for range rapid.IntRange(1, 6).Draw(t, "records") {
				seq++
				size := rapid.SampledFrom([]int{0, 1, 500, blockReadAhead - 40, blockReadAhead, 3 * blockReadAhead}).Draw(t, "size")
				headers := rapid.SampledFrom([]string{"", "NATS/1.0\r\nFanfold-Key: 1\r\n\r\n"}).Draw(t, "headers")
				text = appendRecord(text, sums, seq, fmt.Sprint("subject.", seq), headers, strings.Repeat("d", size))
				ends = append(ends, len(text))
			}
			f, err := os.Create(blockPath(msgs, number+1))
			if err != nil {
				t.Fatal(err)
			}
			for written := 0; written < len(text); {
				n := min(rapid.SampledFrom([]int{1, 10, 30, 400, blockReadAhead, 1 << 20}).Draw(t, "piece"), len(text)-written)
				if _, err := f.Write(text[written : written+n]); err != nil {
					t.Fatal(err)
				}
				written += n
				for len(ends) > 0 && ends[0] <= written {
					ends = ends[1:]
					delivered++
					if got := mustReceive(t, m); got.Seq != delivered || got.Subject != fmt.Sprint("subject.", delivered) || got.Time.UnixNano() != int64(1_000+delivered) {
						t.Fatalf("got %d %s, want %d", got.Seq, got.Subject, delivered)
					}
				}
				if found, err := m.readMore(); err != nil || m.sums.whole(m.data) > 0 {
					t.Fatalf("a record that is not whole is taken for one: %v, %v", found, err)
				}
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		highest.Advance(seq + 1) // an event that is not there
		if got, err := m.Receive(context.Background()); !errors.Is(err, events.ErrBlocks) {
			t.Fatalf("for an event that is not there: %v, %v", got, err)
		}
	})
}

// mustReceive returns a message that is there.
func mustReceive(t *rapid.T, m *blockMessages) events.Message {
	ctx, cancel := context.WithTimeout(context.Background(), suite.Deadline(time.Minute))
	defer cancel()
	got, err := m.Receive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// FuzzBlocks reads a block of any bytes: it gives messages or an error, and comes to an end.
func FuzzBlocks(f *testing.F) {
	sums := newChecksums("s", 1)
	whole := appendRecord(appendRecord(nil, sums, 1, "a", "", "{}"), sums, 2, "b", "NATS/1.0\r\nFanfold-Key: 1\r\n\r\n", "{}")
	f.Add(whole, 7, byte(0))
	f.Add(whole, 0, byte(0xff))
	f.Add(whole[:len(whole)-1], 60, byte(1))
	f.Add([]byte(compressedBlock), 0, byte(0))
	f.Fuzz(func(t *testing.T, text []byte, at int, change byte) {
		text = bytes.Clone(text)
		if at >= 0 && at < len(text) {
			text[at] ^= change
		}
		dir := t.TempDir()
		msgs := filepath.Join(dir, "jetstream", "$G", "streams", "s", "msgs")
		if err := os.MkdirAll(msgs, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(blockPath(msgs, 1), text, 0o644); err != nil {
			t.Fatal(err)
		}
		var highest events.Watermark
		highest.Advance(1 << 40)
		m, err := openBlockMessages(dir, "s", 1, &highest)
		if err != nil {
			if !errors.Is(err, events.ErrBlocks) {
				t.Fatal(err)
			}
			return
		}
		defer m.Close()
		for want := uint64(1); ; want++ {
			got, err := m.Receive(t.Context())
			if err != nil {
				if !errors.Is(err, events.ErrBlocks) {
					t.Fatal(err)
				}
				return
			}
			if got.Seq != want || len(got.Data)+len(got.Subject) > len(text) {
				t.Fatalf("message %d is %d, with %d bytes", want, got.Seq, len(got.Data))
			}
		}
	})
}
