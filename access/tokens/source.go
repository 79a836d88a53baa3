package tokens

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/smallfile"
)

// Bounds of what is read of an issuer.
const (
	maxAnswer    = 1 << 20 // bytes, of a file too
	fetchTime    = 5 * time.Second
	maxKeys      = 100
	leastRSA     = 2048 // bits
	mostRSA      = 8192
	refreshEvery = 5 * time.Minute
	lookEvery    = time.Second      // at a file
	leastPause   = 30 * time.Second // between two fetches, however many keys are not known
	shortWait    = 100 * time.Millisecond
	maxKeyID     = 255 // bytes
)

// discoveryPath is where an issuer says where its keys are (OpenID Connect Discovery 1.0, section 4).
const discoveryPath = "/.well-known/openid-configuration"

// Fetcher fetches an issuer's documents. It follows no redirect to another host, and reads 1 MiB at most, in 5 s.
type Fetcher struct{ client *http.Client }

// NewFetcher returns a Fetcher over a transport, nil for http.DefaultTransport.
func NewFetcher(over http.RoundTripper) *Fetcher {
	return &Fetcher{&http.Client{Transport: over, Timeout: fetchTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != "https" {
			return fmt.Errorf("it leads elsewhere, to %s", r.URL.Host)
		}
		return nil
	}}}
}

// fetch returns what an https URL has.
func (f *Fetcher) fetch(ctx context.Context, at string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers %d", resp.StatusCode)
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("it answers more than %d bytes", maxAnswer)
	}
	return text, nil
}

// checkURL returns an Invalid for what is no https URL of a host.
func checkURL(name, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return fanfold.Errorf(fanfold.Invalid, "%s: %.300q is no https URL such as https://issuer.example", name, text)
	}
	return nil
}

// keySource has the keys of the issuer.
type keySource struct {
	opt  Options
	file string // "" where the keys are fetched

	keys    atomic.Pointer[keySet]
	numbers atomic.Uint64
	life    context.Context // of every fetch, whoever begins it
	end     func()          // of life

	mu      sync.Mutex
	tried   time.Time     // when the last fetch began
	running chan struct{} // is closed once the fetch that runs has ended; nil for none
	version os.FileInfo   // of the file that was read, or could not be read
}

func newKeySource(opt Options) *keySource {
	s := &keySource{opt: opt}
	s.life, s.end = context.WithCancel(context.Background())
	s.keys.Store(&keySet{})
	if opt.Keys != "" && !strings.HasPrefix(opt.Keys, "https://") && !strings.HasPrefix(opt.Keys, "http://") {
		s.file = opt.Keys
	}
	return s
}

// open reads the file. Errors are Invalid, also for a URL that is not https.
func (s *keySource) open() error {
	switch {
	case s.file != "":
		return s.readFile()
	case s.opt.Keys != "":
		return checkURL("--token-keys", s.opt.Keys)
	}
	return checkURL("--token-issuer", s.opt.Issuer)
}

// run reads the keys again and again, until ctx ends. No fetch goes on then.
func (s *keySource) run(ctx context.Context) error {
	defer s.stop()
	every := lookEvery
	if s.file == "" {
		every = refreshEvery
		s.refresh()
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if s.file == "" {
			s.refresh()
		} else if s.changed() {
			if err := s.readFile(); err != nil {
				s.opt.Logger.Error("the file of the issuer's keys cannot be read; the keys it had stay in force", "err", err)
			}
		}
	}
}

// stop ends the fetch that runs, and waits for it. There is none later.
func (s *keySource) stop() {
	s.end()
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if running != nil {
		<-running
	}
}

// changed tells whether the file was written since it was read, or has gone.
func (s *keySource) changed() bool {
	info, err := os.Stat(s.file)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.version
	if s.version = info; err != nil { // what cannot be read is told once
		s.version = nil
		return before != nil
	}
	return before == nil || info.Size() != before.Size() || !info.ModTime().Equal(before.ModTime())
}

// readFile reads the file. The error is Invalid.
func (s *keySource) readFile() error {
	text, info, err := smallfile.Read(s.file, maxAnswer, 0)
	if err != nil {
		return fanfold.Errorf(fanfold.Invalid, "--token-keys: %s", fanfold.MessageOf(err))
	}
	s.mu.Lock()
	s.version = info
	s.mu.Unlock()
	keys, err := readKeys(text)
	if err = s.take(keys, err); err != nil {
		return fanfold.Errorf(fanfold.Invalid, "--token-keys %s: %s", s.file, fanfold.MessageOf(err))
	}
	return nil
}

// take puts keys in force that were read, and returns the error of reading them. A set without a key takes away those that were there, but is no
// file to begin with.
func (s *keySource) take(keys []publicKey, err error) error {
	if err == errNoKeys && (s.file == "" || s.keys.Load().number > 0) { //nolint:errorlint // readSet's very error
		s.opt.Logger.Warn("the tokens' issuer has no key any more by which tokens are verified: they let nobody in", "issuer", s.opt.Issuer)
		keys, err = nil, nil
	}
	if err == nil {
		s.put(keys)
	}
	return err
}

// refresh fetches the keys, unless that was tried a short while ago, and returns what is closed once that has ended; nil for no fetch.
func (s *keySource) refresh() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil || s.file != "" || s.life.Err() != nil || s.opt.Now().Sub(s.tried) < leastPause && !s.tried.IsZero() {
		return s.running
	}
	s.tried, s.running = s.opt.Now(), make(chan struct{})
	go func() {
		keys, err := s.fetch()
		if err = s.take(keys, err); err != nil && s.life.Err() == nil {
			s.opt.Logger.Warn("the keys of the tokens' issuer cannot be fetched; those it had hold for now", "issuer", s.opt.Issuer, "err", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.running)
		s.running = nil
	}()
	return s.running
}

// fetch returns the issuer's keys.
func (s *keySource) fetch() ([]publicKey, error) {
	ctx, cancel := context.WithTimeout(s.life, 2*fetchTime)
	defer cancel()
	at := s.opt.Keys
	if at == "" {
		text, err := s.opt.Fetch.fetch(ctx, strings.TrimSuffix(s.opt.Issuer, "/")+discoveryPath)
		if err != nil {
			return nil, err
		}
		var found struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		if err := json.Unmarshal(text, &found); err != nil {
			return nil, fmt.Errorf("its discovery document is no JSON object")
		}
		issuer, _ := url.Parse(s.opt.Issuer)
		keys, err := url.Parse(found.Keys)
		switch {
		case found.Issuer != s.opt.Issuer:
			return nil, fmt.Errorf("its discovery document is of another issuer, %.300q", found.Issuer)
		case err != nil || checkURL("jwks_uri", found.Keys) != nil || keys.Host != issuer.Host:
			return nil, fmt.Errorf("its discovery document leads elsewhere for the keys, to %.300q: give that by --token-keys if you trust it", found.Keys)
		}
		at = found.Keys
	}
	text, err := s.opt.Fetch.fetch(ctx, at)
	if err != nil {
		return nil, err
	}
	return readKeys(text)
}

// keyOf returns the key by which a token is signed, which the caller still verifies. A token without a kid may be signed by any.
func (s *keySource) keyOf(t *jwt.Token) (publicKey, error) {
	id, _ := t.Header["kid"].(string)
	found := s.keys.Load().find(id, t.Method.Alg())
	if len(found) == 0 && len(id) <= maxKeyID {
		s.await()
		found = s.keys.Load().find(id, t.Method.Alg())
	}
	switch {
	case len(found) == 0 && s.keys.Load().number == 0:
		return publicKey{}, errNoKeysYet
	case len(found) == 0:
		return publicKey{}, refuse(unknownKey, "the token is signed by a key that the issuer does not name")
	case len(found) == 1:
		return found[0], nil
	}
	signed := t.Raw[:strings.LastIndexByte(t.Raw, '.')]
	for _, k := range found {
		if t.Method.Verify(signed, t.Signature, k.key) == nil {
			return k, nil
		}
	}
	return found[0], nil
}

// has tells whether the issuer still has the key with a mark. With ask it has the keys fetched, once in a while, before it says no.
func (s *keySource) has(mark string, ask bool) bool {
	if !s.keys.Load().has(mark) && ask {
		s.await()
	}
	return s.keys.Load().has(mark)
}

// await has the keys fetched, once in a while, and waits for that: the first one for the whole of it, and the others for a short time.
func (s *keySource) await() {
	s.mu.Lock()
	first := s.running == nil
	s.mu.Unlock()
	wait := shortWait
	if first {
		wait = 2 * fetchTime
	}
	if running := s.refresh(); running != nil {
		select {
		case <-running:
		case <-time.After(wait):
		}
	}
}
