package events_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
)

// Example appends to the log of an embedded server and reads the event back.
func Example() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// revision 1
	// stale at 1
	// 1 put books b1 {"id":"b1"} pending 0
}

func run() (err error) {
	dir, err := os.MkdirTemp("", "fanfold-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx := context.Background()
	server, err := embedded.Start(ctx, embedded.Options{Dir: dir, Durability: embedded.Interval, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	nc, err := server.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()

	l, err := events.Open(ctx, nc, events.Options{})
	if err != nil {
		return err
	}
	create := &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "books", ID: "b1"}, Body: []byte(`{"id":"b1"}`)}
	seq, err := l.Append(ctx, create, fanfold.Exactly(0)) // 0: nothing must have been written there
	if err != nil {
		return err
	}
	fmt.Println("revision", seq)

	_, err = l.Append(ctx, create, fanfold.Exactly(0))
	var stale *fanfold.Error
	if errors.As(err, &stale) {
		fmt.Println(stale.Code, "at", stale.Current)
	}

	r, err := l.Read(ctx, 1)
	if err != nil {
		return err
	}
	defer r.Close()
	ev, pending, err := r.Next(ctx)
	if err != nil {
		return err
	}
	fmt.Println(ev.Seq, ev.Kind, ev.Key.Collection, ev.Key.ID, string(ev.Body), "pending", pending)
	return nil
}

// ExampleEscapeToken shows how an id becomes one token of a subject.
func ExampleEscapeToken() {
	fmt.Println(events.EscapeToken("b.1 *"))
	id, err := events.UnescapeToken("b%2E1%20%2A")
	fmt.Println(id, err)
	// Output:
	// b%2E1%20%2A
	// b.1 * <nil>
}

// ExampleEncode shows the payload of a patch.
func ExampleEncode() {
	fmt.Printf("%s\n", events.Encode(&fanfold.Event{Kind: fanfold.KindPatch, Patch: fanfold.MergePatch, Base: 41, Body: []byte(`{"name":null}`)}))
	// Output:
	// {"v":1,"op":"patch","type":"merge","base":41,"body":{"name":null}}
}
