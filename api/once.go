package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
)

const headerOnce = "Idempotency-Key"

// maxOnce bounds an Idempotency-Key, in bytes.
const maxOnce = 255

// onceOf reads the request's Idempotency-Key and digests what the request asks for: method,
// path, parameters, content type, conditions and body. Without the header it is the zero value.
func onceOf(r *http.Request, body []byte) (once fanfold.IdempotencyKey, err error) {
	values := r.Header[headerOnce]
	if len(values) == 0 {
		return once, nil
	}
	key := strings.TrimSpace(values[0])
	if inner, ok := strings.CutPrefix(key, `"`); ok { // a string of RFC 9651, as the header's draft has it
		key, ok = strings.CutSuffix(inner, `"`)
		if !ok {
			key = ""
		}
	}
	printable := func(c rune) bool { return c >= 0x20 && c < 0x7f }
	if len(values) > 1 || key == "" || len(key) > maxOnce || strings.ContainsFunc(key, func(c rune) bool { return !printable(c) }) {
		return once, fanfold.Errorf(fanfold.Invalid, "%s must be one key of 1 to %d printable ASCII characters, such as a UUID", headerOnce, maxOnce)
	}
	sum := sha256.Sum256([]byte(key))
	once.Hash = base64.RawURLEncoding.EncodeToString(sum[:])
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	digest := sha256.New()
	parts := []string{r.Method, r.URL.EscapedPath(), strings.ToLower(strings.TrimSpace(contentType)),
		strings.Join(r.Header["If-Match"], ","), strings.Join(r.Header["If-None-Match"], ","), string(body)}
	if r.URL.RawQuery != "" {
		parts = append(parts, r.URL.RawQuery)
	}
	for _, part := range parts {
		digest.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		digest.Write([]byte(part))
	}
	once.Digest = base64.RawURLEncoding.EncodeToString(digest.Sum(nil))
	return once, nil
}

// once runs do, which appends events, unless that was done under the same key before. It returns
// the sequence of the first event, of then or now. Without a key it is do.
func (s *Server) once(ctx context.Context, once fanfold.IdempotencyKey, do func(ctx context.Context) (first uint64, err error)) (uint64, error) {
	if once.Hash == "" || intentOf(ctx).dry {
		return do(ctx)
	}
	if time.Since(s.began)-time.Duration(s.proven.Load()) > s.opt.ProvenFor {
		if err := s.prove(ctx); err != nil {
			return 0, err
		}
	}
	if first, err := s.lookup(once); first != 0 || err != nil {
		return first, err
	}
	bounded, cancel := context.WithTimeout(ctx, s.opt.ProvenFor/2) // what was looked up must not be old when it is written
	first, err := do(bounded)
	cancel()
	switch fanfold.CodeOf(err) {
	case "", fanfold.Unavailable, fanfold.OutcomeUnknown, fanfold.TooLarge, fanfold.KeyReused, fanfold.Internal:
		return first, err
	}
	// A refusal. What is in the way may be the same request, sent to another node.
	if perr := s.prove(ctx); perr != nil {
		return 0, perr
	}
	if first, lerr := s.lookup(once); first != 0 || lerr != nil {
		return first, lerr
	}
	if fanfold.CodeOf(err) == fanfold.Duplicate {
		err = fanfold.Errorf(fanfold.Unavailable, "the Idempotency-Key was used a moment ago, and its outcome is not known here yet: try again")
	}
	return 0, err
}

// prove waits until this node has folded everything acknowledged before the call.
func (s *Server) prove(ctx context.Context) error {
	began := time.Since(s.began)
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	seq, err := s.log.Fence(ctx)
	if err == nil {
		err = s.reader.Wait(ctx, seq)
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "this node is behind the log and cannot tell whether the Idempotency-Key was used: try again, or ask another node%s", reasonOf(err))
	}
	s.provenAt(began)
	return nil
}

// provenAt says that everything acknowledged before a time, as from s.began on, is folded.
func (s *Server) provenAt(at time.Duration) {
	for old := s.proven.Load(); old < int64(at) && !s.proven.CompareAndSwap(old, int64(at)); old = s.proven.Load() {
	}
}

// lookup returns the first event of the request that was made under the key, 0 where there is
// none; KeyReused where it was another request.
func (s *Server) lookup(once fanfold.IdempotencyKey) (first uint64, err error) {
	err = s.reader.Read(func(snap Snapshot) error {
		r, err := snap.IdempotencyKey(once.Hash)
		switch {
		case err != nil || r == nil:
			return err
		case r.Digest != once.Digest:
			return fanfold.Errorf(fanfold.KeyReused, "the %s was used for another request; take a new key", headerOnce)
		}
		first = r.Seq
		return nil
	})
	return first, err
}

// reasonOf is an Error's message as the end of another's.
func reasonOf(err error) string {
	var e *fanfold.Error
	if errors.As(err, &e) {
		return ": " + e.Message
	}
	return ""
}
