// Package webhook posts the batches of consumer groups to the URLs that their settings name. A node does so as one more member of the group.
// DESIGN.md says why it is as it is.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fanfold/fanfold"
)

// Outcome says what became of a post.
type Outcome string

// The outcomes of posts.
const (
	Delivered   Outcome = "delivered"   // the receiver answered 2xx
	Answered    Outcome = "answered"    // with another status
	Redirected  Outcome = "redirected"  // with 3xx, which nobody follows
	TimedOut    Outcome = "timeout"     // there was no answer in time
	Forbidden   Outcome = "forbidden"   // no address of the URL may be posted to, or it needs TLS
	Untrusted   Outcome = "untrusted"   // TLS failed, such as for a certificate that nobody vouches for
	Unreachable Outcome = "unreachable" // there is no such host, or the connection failed
	TooLarge    Outcome = "too-large"   // one change has more than a post may have, and nothing was sent
)

// Outcomes lists them all.
func Outcomes() []Outcome {
	return []Outcome{Delivered, Answered, Redirected, TimedOut, Forbidden, Untrusted, Unreachable, TooLarge}
}

// explained says what an outcome means, and what to do.
func (o Outcome) explained(status int) string {
	switch o {
	case Delivered, Answered:
		return "the receiver answered " + strconv.Itoa(status)
	case Redirected:
		return "the receiver answered " + strconv.Itoa(status) + ", and redirects are not followed: give the group the URL itself"
	case TimedOut:
		return "the receiver did not answer in time"
	case Forbidden:
		return "the URL leads to private addresses alone, or has no TLS: an operator allows that by --webhook-allow"
	case Untrusted:
		return "the receiver's TLS cannot be trusted: it needs a certificate of an authority that this machine knows, for the URL's name"
	case Unreachable:
		return "there is no connection to the receiver"
	default:
		return "one change is larger than a post may be: a member that asks by HTTP can take it"
	}
}

// Bounds of posts.
const (
	postTime    = 10 * time.Second // how long one may take
	maxAnswer   = 64 << 10         // bytes of an answer that are read, and of its headers
	maxIdle     = 16               // connections that wait for the next post
	maxIdleTime = 30 * time.Second // how long they wait
	maxLookedUp = 16               // addresses of a name that are tried
)

// message is one post.
type message struct {
	url     string
	headers map[string]string // besides those that each post has
	own     map[string]string // that each post has
	id      string
	body    []byte
	secrets []string // it is signed by each
}

// sender sends posts.
type sender struct {
	secure, plain *http.Client // for https, and for http
	opt           *Options
}

// newSender returns a sender with options that are whole.
func newSender(opt *Options) *sender {
	return &sender{secure: newClient(opt, false), plain: newClient(opt, true), opt: opt}
}

// newClient returns a client that goes through no proxy, follows no redirect, and connects to allowed addresses alone.
func newClient(opt *Options, plain bool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            (&dialer{opt: opt, plain: plain}).dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: opt.Roots},
			MaxIdleConns:           maxIdle,
			MaxIdleConnsPerHost:    groupPosts,
			IdleConnTimeout:        maxIdleTime,
			MaxResponseHeaderBytes: maxAnswer,
			DisableCompression:     true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send posts a message once. status is 0 where there was no answer. It blocks for Options.Time at most.
func (s *sender) send(ctx context.Context, m *message) (status int, outcome Outcome) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Time)
	defer cancel()
	req, err := s.request(ctx, m)
	if err != nil {
		return 0, Unreachable
	}
	client := s.secure
	if req.URL.Scheme == "http" {
		client = s.plain
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, outcomeOf(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols { // after which the body is the connection, and no context ends a Read
		_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // for the next post's sake; the status says what became of this one
	}
	switch resp.StatusCode / 100 {
	case 2:
		return resp.StatusCode, Delivered
	case 3:
		return resp.StatusCode, Redirected
	}
	return resp.StatusCode, Answered
}

// request returns the request of a message, signed as Standard Webhooks 1.0.0 says: one signature a secret.
func (s *sender) request(ctx context.Context, m *message) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	now := s.opt.Now()
	var signatures []string
	for _, secret := range m.secrets {
		hook, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, fanfold.Errorf(fanfold.Internal, "a secret cannot be read") // no cause, which might quote it
		}
		signature, err := hook.Sign(m.id, now, m.body)
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, signature)
	}
	for _, headers := range []map[string]string{m.headers, m.own} {
		for name, value := range headers {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Fanfold")
	req.Header.Set(standardwebhooks.HeaderWebhookID, m.id)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return req, nil
}

// outcomeOf returns what an error of a post without an answer means.
func outcomeOf(ctx context.Context, err error) Outcome {
	var forbidden *forbiddenError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var network net.Error
	switch {
	case errors.As(err, &forbidden):
		return Forbidden
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &record), errors.As(err, &alert):
		return Untrusted
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return TimedOut
	}
	return Unreachable
}
