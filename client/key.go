package client

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Key is the key with which a client shows who it is. No print of it, and no JSON, shows its text. The zero value is no key.
type Key struct{ text *string } // a pointer, because fmt asks no method of what a private field holds

// NewKey returns the key with a text, such as fan_..., as `fanfold keys create` prints it. Space around the text is left out.
func NewKey(text string) Key {
	text = strings.TrimSpace(text)
	if text == "" {
		return Key{}
	}
	return Key{&text}
}

// Text returns the text of the key, "" for none.
func (k Key) Text() string {
	if k.text == nil {
		return ""
	}
	return *k.text
}

// Format prints that there is a key, by whatever verb, and not its text.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// String says whether there is a key.
func (k Key) String() string {
	if k.text == nil {
		return "no key"
	}
	return "a key"
}

// maxKey bounds the text of a key, in bytes.
const maxKey = 4 << 10

// sendable tells whether a header can have the key.
func (k Key) sendable() bool {
	return len(k.Text()) <= maxKey && strings.IndexFunc(k.Text(), func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// headerAuthorization names the header that has the key.
const headerAuthorization = "Authorization"

// maxRedirects is how many redirects are followed, as by net/http.
const maxRedirects = 10

// guarded returns a client that follows redirects as another one does. The Authorization header goes to the server of the first
// request alone: not to another host or port, and not without TLS.
func guarded(h *http.Client) *http.Client {
	out, follow := *h, h.CheckRedirect
	out.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if first := via[0].URL; req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
			req.Header.Del(headerAuthorization)
		}
		if follow != nil {
			return follow(req, via)
		}
		if len(via) >= maxRedirects {
			return fmt.Errorf("stopped after %d redirects", maxRedirects)
		}
		return nil
	}
	return &out
}
