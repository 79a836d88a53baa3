// Package servers is about NATS servers, whether they are this process's or outside ones: connections to them, credentials,
// what their streams are asked, and replicas.
package servers

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// Client asks NATS servers about their streams. Its methods may be called from many goroutines.
type Client struct {
	NC      *nats.Conn
	JS      jetstream.JetStream
	Attempt time.Duration // how long one question may take
	Logger  *slog.Logger

	inboxes chan *nats.Subscription // for answers of several messages, while they wait for none
}

// NewClient returns a client that asks over a connection, which stays the caller's. The error is Internal.
func NewClient(nc *nats.Conn, attempt time.Duration, logger *slog.Logger) (*Client, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(Patience))
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Internal, "cannot use JetStream")
	}
	return &Client{NC: nc, JS: js, Attempt: attempt, Logger: logger, inboxes: make(chan *nats.Subscription, maxInboxes)}, nil
}

// Patience is how long the leader of JetStream, or of a stream, may take to answer.
const Patience = 5 * time.Second

// RequestAPI asks the leader of JetStream, or of a stream, and decodes the answer into out, which may be nil. The error is
// Unavailable, with the server's *jetstream.APIError in its chain where it refused.
func (c *Client) RequestAPI(ctx context.Context, subject string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	resp, err := c.NC.RequestWithContext(ctx, "$JS.API."+subject, body)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's server does not answer; try again")
	}
	var refusal struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(resp.Data, &refusal); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
	}
	if refusal.Error != nil {
		return fanfold.Wrap(refusal.Error, fanfold.Unavailable, "%s", refusal.Error.Description)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(resp.Data, out); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's answer cannot be read")
	}
	return nil
}
