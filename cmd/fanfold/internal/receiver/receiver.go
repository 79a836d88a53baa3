// Package receiver takes the posts of groups with push, for trying them out: it verifies their signatures and hands on their changes.
package receiver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fanfold/fanfold"
)

// Bounds of posts that are taken.
const (
	MaxBody  = 17 << 20 // bytes of a post: one change has at most 16 MiB
	patience = 30 * time.Second
	ending   = 2 * time.Second // how long a post may take once the receiver ends
)

// Post is a post whose signature is right, or that was not looked at for lack of a secret.
type Post struct {
	ID      string            `json:"id"`
	Group   string            `json:"group"`
	Changes []json.RawMessage `json:"changes"`
}

// Receiver takes posts.
type Receiver struct {
	hook *standardwebhooks.Webhook // nil: signatures are not looked at
	mu   sync.Mutex                // take is called once at a time
	take func(p Post) error
}

// New returns a receiver of posts that are signed by a secret; "" looks at no signature. take is called for each, one after the other; after its error
// the post is answered 500, so that it comes again. The error is Invalid.
func New(secret string, take func(p Post) error) (*Receiver, error) {
	r := &Receiver{take: take}
	if secret == "" {
		return r, nil
	}
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "the secret is not whsec_ and bytes in standard encoding, as the server has given it")
	}
	r.hook = hook
	return r, nil
}

// ServeHTTP takes a post. It answers 401 where the signature is wrong, or older than five minutes.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		http.Error(w, "this takes the posts of a group", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxBody))
	if err != nil {
		http.Error(w, "the post is too large, or was cut", http.StatusBadRequest)
		return
	}
	if r.hook != nil {
		if err := r.hook.Verify(body, req.Header); err != nil {
			http.Error(w, "the signature is wrong: "+err.Error(), http.StatusUnauthorized)
			return
		}
	}
	var in struct {
		Results []json.RawMessage `json:"results"`
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&in); err != nil || in.Results == nil {
		http.Error(w, `the post is no {"results":[...]}`, http.StatusBadRequest)
		return
	}
	p := Post{ID: req.Header.Get(standardwebhooks.HeaderWebhookID), Group: req.Header.Get("Fanfold-Group"), Changes: in.Results}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.take(p); err != nil {
		http.Error(w, "the post was not handled", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Serve takes posts at a listener until ctx ends, and closes it. The error is nil then.
func (r *Receiver) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{Handler: r, ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 64 << 10}
	stopped := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.Background(), ending)
		defer cancel()
		if err := s.Shutdown(ending); err != nil {
			_ = s.Close()
		}
	})
	defer stopped()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
