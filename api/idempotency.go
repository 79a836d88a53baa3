package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"

	"github.com/fanfold/fanfold"
)

// headerIdempotencyKey names the header under whose value a request happens once.
const headerIdempotencyKey = "Idempotency-Key"

// maxIdempotencyKey bounds an Idempotency-Key, in bytes.
const maxIdempotencyKey = 255

// idempotencyKey reads the request's Idempotency-Key, and digests what the request asks for: method, path, parameters,
// content type, conditions and body. It returns the zero value without the header. The error is Invalid.
func idempotencyKey(r *http.Request, body []byte) (out fanfold.IdempotencyKey, err error) {
	values := r.Header[headerIdempotencyKey]
	if len(values) == 0 {
		return out, nil
	}
	key := strings.TrimSpace(values[0])
	if inner, ok := strings.CutPrefix(key, `"`); ok { // a string of RFC 9651, as the header's draft has it
		key, ok = strings.CutSuffix(inner, `"`)
		if !ok {
			key = ""
		}
	}
	printable := func(c rune) bool { return c >= 0x20 && c < 0x7f }
	if len(values) > 1 || key == "" || len(key) > maxIdempotencyKey || strings.ContainsFunc(key, func(c rune) bool { return !printable(c) }) {
		return out, fanfold.Errorf(fanfold.Invalid, "%s must be one key of 1 to %d printable ASCII characters, such as a UUID", headerIdempotencyKey, maxIdempotencyKey)
	}
	sum := sha256.Sum256([]byte(key))
	out.Hash = base64.RawURLEncoding.EncodeToString(sum[:])
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
	out.Digest = base64.RawURLEncoding.EncodeToString(digest.Sum(nil))
	return out, nil
}
