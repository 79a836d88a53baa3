// Readlog prints the event log of a store, with an ordinary NATS client and nothing of Fanfold's. It goes on after the
// event that --after names, and waits for more unless --once is given.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// envelope is what is stored of an event. Which members it has depends on Op: see events/README.md.
type envelope struct {
	V              int
	Op             string
	Type           string          // of a patch: merge or json
	Base           json.RawMessage // an event; of a loss the file with the state there
	Collection, ID string
	Holder         struct{ Collection, ID string }
	Held           json.RawMessage // a bool, but not in version 3
	Links          bool
	UpTo           uint64 // of a loss: the last list that is in force
	List           *list  // of a loss
	Path, Value    string
	Body           json.RawMessage
	Function       string          // of a call
	Model          uint64          // of a call: the event of the model whose function ran
	Writes         int             // of a call
	Result         json.RawMessage // of a call
}

// list names documents, and messages whose contents are to go.
type list struct {
	Documents []json.RawMessage
	Messages  []json.RawMessage
}

func main() {
	server := flag.String("server", "nats://127.0.0.1:4222", "the server that --nats-listen opened")
	stream := flag.String("stream", "fanfold", "name of the stream")
	after := flag.Uint64("after", 0, "go on behind this event")
	times := flag.Bool("times", false, "print when each event was stored")
	once := flag.Bool("once", false, "end behind the last event that there is now")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := read(ctx, *server, *stream, *after, *once, *times)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// read prints the events after the event after, until ctx ends or, with once, up to the last one that there is now.
func read(ctx context.Context, server, stream string, after uint64, once, times bool) error {
	nc, err := nats.Connect(server, nats.MaxReconnects(-1)) // an ordered consumer goes on where it was
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	last := s.CachedInfo().State.LastSeq
	if once && last <= after {
		return nil
	}
	if err := checkKept(after, s.CachedInfo().State.FirstSeq); err != nil {
		return err
	}
	messages, err := deliver(ctx, js, stream, after)
	if err != nil {
		return err
	}
	defer messages.Stop()
	previous := max(after, s.CachedInfo().State.FirstSeq-1)
	var transaction []string // the events of one that has not come to its end
	for {
		msg, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		transaction = append(transaction, erasedBetween(previous, meta.Sequence.Stream)...)
		previous = meta.Sequence.Stream
		line, err := lineOf(msg, meta, times)
		if err != nil { // never skip an event: what follows would be wrong
			return fmt.Errorf("event %d: %w", meta.Sequence.Stream, err)
		}
		transaction = append(transaction, line)
		if more(msg.Headers()) {
			continue
		}
		for _, line := range transaction {
			fmt.Println(line) // a reader that keeps a copy applies all of these, and the sequence, in one transaction of its own
		}
		transaction = nil
		if once && meta.Sequence.Stream >= last {
			return nil
		}
	}
}

// lineOf returns what is printed of an event.
func lineOf(msg jetstream.Msg, meta *jetstream.MsgMetadata, times bool) (string, error) {
	line, err := describe(msg.Subject(), msg.Data())
	if times {
		line = timeOf(msg.Headers(), meta.Timestamp) + " " + line
	}
	return fmt.Sprintf("%d %s", meta.Sequence.Stream, line), err
}

// checkKept returns an error where events after one are gone, because the store was let begin later. A reader from the beginning is told.
func checkKept(after, first uint64) error {
	switch {
	case first <= after+1:
	case after > 0:
		return fmt.Errorf("events %d to %d are gone: begin anew with the documents, and go on after their position", after+1, first-1)
	default:
		fmt.Fprintf(os.Stderr, "the log begins with event %d\n", first)
	}
	return nil
}

// erasedBetween says which events are missing between two. Their contents were erased, and a later erase event says what stands for each.
func erasedBetween(previous, next uint64) []string {
	switch {
	case next <= previous+1:
		return nil
	case next == previous+2:
		return []string{fmt.Sprintf("%d erased", next-1)}
	}
	return []string{fmt.Sprintf("%d-%d erased", previous+1, next-1)}
}

// deliver returns the messages of the stream after the event after. They end with ctx.
func deliver(ctx context.Context, js jetstream.JetStream, stream string, after uint64) (jetstream.MessagesContext, error) {
	// An ordered consumer delivers every message once, in order, and makes itself anew where it misses one.
	consumer, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1})
	if err != nil {
		return nil, err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, messages.Stop)
	return messages, nil
}

// timeOf returns when an event was stored first. In a log that was restored from a backup the server has another time.
func timeOf(h nats.Header, server time.Time) string {
	at := server
	if nanos, err := strconv.ParseInt(h.Get("Fanfold-Time"), 10, 64); err == nil {
		at = time.Unix(0, nanos)
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// more tells whether other events of the same transaction follow.
func more(h nats.Header) bool {
	count, err := strconv.Atoi(h.Get("Fanfold-Tx-Count"))
	if err != nil {
		return false // outside a transaction
	}
	index, err := strconv.Atoi(h.Get("Fanfold-Tx-Index"))
	return err == nil && index < count-1
}

// describeLoss returns what an event says of what the log loses. Earlier programs wrote its three forms as ops of their own.
func describeLoss(e envelope, payload []byte) (string, error) {
	var base struct{ Before uint64 } // the last event that the store does without
	switch e.Op {
	case "loss":
	case "compact":
		e.Base = payload
	case "erase", "erased":
		e.List = new(list)
		if err := json.Unmarshal(payload, e.List); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("the op %q is newer than this program", e.Op)
	}
	switch {
	case e.List == nil:
		err := json.Unmarshal(e.Base, &base)
		return fmt.Sprintf("compact: the store begins after event %d", base.Before), err
	case e.UpTo == 0: // a reader that keeps a copy takes what stands for each message from here
		return fmt.Sprintf("erase: the contents of %d events of %d documents are to go", len(e.List.Messages), len(e.List.Documents)), nil
	}
	return fmt.Sprintf("erased: what the lists up to event %d have is gone", e.UpTo), nil
}

// describe returns what an event says. The error is for what this program does not know.
func describe(subject string, payload []byte) (string, error) {
	var e envelope
	if err := json.Unmarshal(payload, &e); err != nil {
		return "", err
	}
	switch e.V {
	case 1, 2: // 2 says besides how documents are derived
	case 3:
		if e.Op != "" {
			return describeLoss(e, payload)
		}
		return describeGuard(subject, payload)
	default:
		return "", fmt.Errorf("version %d of the format is newer than this program", e.V)
	}
	held := map[bool]string{true: "holds", false: "lets go of"}[string(e.Held) == "true"]
	switch e.Op {
	case "put":
		return fmt.Sprintf("put %s %s", document(subject), e.Body), nil
	case "patch":
		return fmt.Sprintf("patch %s of revision %s, %s: %s", document(subject), e.Base, e.Type, e.Body), nil
	case "delete":
		return "delete " + document(subject), nil
	case "model", "prepare", "cancel", "import":
		return fmt.Sprintf("%s %s", e.Op, e.Body), nil
	case "fence":
		return "fence", nil
	case "check":
		if e.Links {
			return fmt.Sprintf("check that nothing behind event %s refers to %s/%s", e.Base, e.Collection, e.ID), nil
		}
		if e.ID == "" {
			return fmt.Sprintf("check that no document of %s was written after event %s", e.Collection, e.Base), nil
		}
		return fmt.Sprintf("check that %s/%s is at revision %s", e.Collection, e.ID, e.Base), nil
	case "call":
		return fmt.Sprintf("call of function %s of model %d, which wrote the next %d events: %s", e.Function, e.Model, e.Writes, cmp.Or(string(e.Result), "no result")), nil
	case "sequence":
		return fmt.Sprintf("sequence: numbers of %s at %s: %s", e.Collection, e.Path, e.Body), nil
	case "gate":
		if e.ID == "" {
			return "gate: documents of " + e.Collection + " are written", nil
		}
		return fmt.Sprintf("gate: the writes before it were checked with what they do to %s/%s", e.Collection, e.ID), nil
	case "link":
		return fmt.Sprintf("link: %s/%s %s %s/%s", e.Holder.Collection, e.Holder.ID, held, e.Collection, e.ID), nil
	case "claim":
		return fmt.Sprintf("claim: %s/%s %s %s=%s", e.Collection, e.ID, held, e.Path, e.Value), nil
	}
	return "", fmt.Errorf("unknown op %q", e.Op)
}

// describeGuard returns what a link or a claim says in version 3, whose payload lacks what the subject says.
func describeGuard(subject string, payload []byte) (string, error) {
	var e struct {
		Held, Freed json.RawMessage // the documents that hold something from now on, or no longer
		Path, Value string
	}
	if err := json.Unmarshal(payload, &e); err != nil {
		return "", err
	}
	who, verb := e.Held, "holds"
	if who == nil {
		who, verb = e.Freed, "lets go of"
	}
	switch parts := strings.Split(subject, "."); {
	case len(parts) == 6 && parts[2] == "link":
		var ids []string
		if err := json.Unmarshal(who, &ids); err != nil {
			return "", err
		}
		var lines []string
		for _, id := range ids {
			lines = append(lines, fmt.Sprintf("%s/%s %s %s", parts[5], id, verb, document(subject)))
		}
		return "link: " + strings.Join(lines, ", "), nil
	case len(parts) == 5 && parts[2] == "claim":
		var id string
		err := json.Unmarshal(who, &id)
		return fmt.Sprintf("claim: %s/%s %s %s=%s", parts[3], id, verb, e.Path, e.Value), err
	}
	return "", fmt.Errorf("subject %s has no event of version 3", subject)
}

// document returns the collection and the id in a subject, such as fanfold.<database>.doc.<collection>.<id>.
func document(subject string) string {
	parts := strings.Split(subject, ".")
	if len(parts) < 5 {
		return subject
	}
	id, err := url.PathUnescape(parts[4])
	if err != nil {
		id = parts[4]
	}
	return parts[3] + "/" + id
}
