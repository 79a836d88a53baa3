package faults_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold/tests/harness"
)

// forgetModel has every way in which a value comes into another document.
const forgetModel = `
collections:
  customers:
    unique: [email]
    relations:
      referrer: {path: referrerId, to: customers}
    derive:
      orderCount: {count: orders.customer}
      spent: {sum: orders.customer, of: total}
      latest: {recent: orders.customer, max: 2, fields: [id, note]}
      greeting: {value: "'dear ' + doc.name"}
  orders:
    pages: {by: customer, size: 2}
    relations:
      customer: {path: customerId, to: customers, onDelete: keep}
    derive:
      customerName: {copy: customer, value: doc.name}
      billedTo: {copy: customer, value: doc.name, frozen: true}
  parcels:
    relations:
      order: {path: orderId, to: orders}
    derive:
      label: {copy: order, value: doc.customerName}
      billed: {copy: order, value: doc.billedTo}
`

// marker returns a text that stands nowhere else.
func marker(who, what string) string { return fmt.Sprintf("mark-%s-%s-kram", who, what) }

// writeCustomer writes all that a customer says: whole, by both patches, with escapes and in lists, and again after a delete.
func writeCustomer(s *harness.Store, who string) {
	s.Put("customers", who, fmt.Sprintf(`{"name":%q,"email":%q,"phones":[%q]}`, marker(who, "name"), marker(who, "email"), marker(who, "phone")))
	path := "/v1/customers/" + who
	s.Want(http.StatusNoContent, http.MethodPatch, path, fmt.Sprintf(`{"city":%q,"nested":{"a":[{"b":%q}]}}`, marker(who, "city"), marker(who, "nested")), "Content-Type", "application/merge-patch+json")
	s.Want(http.StatusNoContent, http.MethodPatch, path, fmt.Sprintf(`[{"op":"add","path":"/street","value":%q},{"op":"replace","path":"/name","value":%q}]`,
		marker(who, "street"), marker(who, "second")), "Content-Type", "application/json-patch+json")
	for i := range 3 {
		id := fmt.Sprint(who, "-", i)
		s.Put("orders", id, fmt.Sprintf(`{"customerId":%q,"total":%d,"note":"a note"}`, who, i))
		s.Put("parcels", id, fmt.Sprintf(`{"orderId":%q}`, id))
	}
	escaped := ""
	for _, c := range marker(who, "escaped") {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	s.Want(http.StatusNoContent, http.MethodPatch, path, `{"escaped":"`+escaped+`","email":"`+marker(who, "other-email")+`"}`, "Content-Type", "application/merge-patch+json")
}

// escapedOf returns a text as writeCustomer escapes it.
func escapedOf(text string) string {
	out := ""
	for _, c := range text {
		out += fmt.Sprintf(`\u%04x`, c)
	}
	return out
}

// filesWith returns the files under a directory that have a text, plain or escaped, also compressed.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // a file that has gone meanwhile
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && hasText(b, text) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// hasText tells whether bytes have a text, also those that they are compressed from.
func hasText(b []byte, text string) bool {
	if bytes.Contains(b, []byte(text)) || bytes.Contains(b, []byte(escapedOf(text))) {
		return true
	}
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd}
	for at := 0; ; {
		i := bytes.Index(b[at:], frame)
		if i < 0 {
			return false
		}
		at += i
		if r, err := zstd.NewReader(bytes.NewReader(b[at:]), zstd.WithDecoderConcurrency(1)); err == nil {
			plain, _ := io.ReadAll(r) // up to where the frame ends, or is cut
			r.Close()
			if bytes.Contains(plain, []byte(text)) || bytes.Contains(plain, []byte(escapedOf(text))) {
				return true
			}
		}
		at += len(frame)
	}
}

// customerTexts are the values that writeCustomer writes.
var customerTexts = []string{"name", "email", "phone", "city", "nested", "street", "second", "escaped", "other-email"}

// TestErasedIsNowhere: once an erasure is done, no file has anything that the documents said, and everything of others is there.
func TestErasedIsNowhere(t *testing.T) {
	for _, tc := range []struct {
		name    string
		compact bool // before, so that the base has the documents
		deleted bool // long before
	}{{"living", false, false}, {"deleted", false, true}, {"in the base", true, false}, {"deleted in the base", true, true}} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			s := harness.Open(t, harness.Options{Dir: dir, Configure: quickPurge})
			defer func() { s.Close() }()
			s.Model(forgetModel)
			writeCustomer(s, "ann")
			writeCustomer(s, "bob")
			digests := annsDigests(t, s)
			if tc.deleted {
				s.Delete("customers", "ann")
			}
			s.CatchUp()
			if tc.compact {
				s.Compact(s.Node.Store.Applied.Seq())
				awaitPurged(t, s)
				s.Want(http.StatusNoContent, http.MethodPatch, "/v1/orders/ann-1", `{"note":"later"}`, "Content-Type", "application/merge-patch+json")
			}
			for _, what := range customerTexts {
				if text := marker("ann", what); !tc.compact && len(filesWith(t, dir, text)) == 0 {
					t.Fatalf("%s is nowhere before the erasure", text)
				}
			}
			found := map[string]bool{} // before
			for name, digest := range digests {
				found[name] = len(filesWithDigest(t, dir, digest)) > 0
			}
			if !tc.compact && (!found["key"] || !found["claim"]) {
				t.Error("the digests of a request and of a claim are nowhere before the erasure")
			}
			r := s.Want(http.StatusAccepted, http.MethodPost, "/v1/customers/ann/_erase", "{}", "Content-Type", "application/json")
			s.Erased(r.Header.Get("Location"))
			s = wantForgotten(t, s, dir)
			awaitPurged(t, s)
			for name, digest := range digests {
				if files := filesWithDigest(t, dir, digest); len(files) > 0 {
					t.Errorf("the digest of %s is in %s", name, strings.Join(files, ", "))
				}
			}
			harness.Await(t, "nothing to be left", time.Minute, func() bool {
				r, err := s.Do(http.MethodPost, "/v1/customers/ann/_erase", []byte("{}"), "Content-Type", "application/json")
				return err == nil && r.Status == http.StatusOK
			})
			s.Put("customers", "ann", fmt.Sprintf(`{"name":"new","email":%q}`, marker("ann", "email")))
			s.Verify()
			if tc.compact { // the last compact event is gone
				s = s.Reopen()
				s.Compact(s.Node.Store.Applied.Seq())
				awaitPurged(t, s)
				s = s.Reopen()
				s.CatchUp()
				s.Verify()
			}
		})
	}
}

// annsDigests writes once more to ann, and returns digests that the program makes of what ann says.
func annsDigests(t *testing.T, s *harness.Store) map[string][]byte {
	t.Helper()
	const path, contentType = "/v1/customers/ann", "application/merge-patch+json"
	body := fmt.Sprintf(`{"city":%q}`, marker("ann", "city"))
	s.Want(http.StatusNoContent, http.MethodPatch, path, body, "Content-Type", contentType, "Idempotency-Key", "ann's key")
	s.CatchUp()
	cp, err := s.Node.Store.Checkpoint()
	must(t, err)
	request := sha256.New()
	for _, part := range []string{http.MethodPatch, path, contentType, "", "", body} {
		request.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		request.Write([]byte(part))
	}
	plain := sha256.Sum256([]byte(body))
	claim := sha256.Sum256([]byte("email\x00s" + marker("ann", "other-email")))
	return map[string][]byte{"body": plain[:], "key": request.Sum(nil), "claim": claim[:], "event": cp.Event[:], "chain": cp.Digest[:]}
}

// filesWithDigest returns the files under a directory that have a digest, as bytes or text.
func filesWithDigest(t *testing.T, dir string, digest []byte) (found []string) {
	t.Helper()
	for _, text := range []string{string(digest), hex.EncodeToString(digest), base64.RawURLEncoding.EncodeToString(digest), base64.RawStdEncoding.EncodeToString(digest)} {
		found = append(found, filesWith(t, dir, text)...)
	}
	return found
}

// wantForgotten wants no file to have anything of ann, and everything of bob to be there, also after a start.
func wantForgotten(t *testing.T, s *harness.Store, dir string) *harness.Store {
	t.Helper()
	for range 2 {
		for _, what := range customerTexts {
			if found := filesWith(t, dir, marker("ann", what)); len(found) > 0 {
				t.Errorf("%s is in %s", marker("ann", what), strings.Join(found, ", "))
			}
			if len(filesWith(t, dir, marker("bob", what))) == 0 && what != "name" && what != "email" {
				t.Errorf("%s is gone", marker("bob", what))
			}
		}
		s = s.Reopen()
		s.CatchUp()
	}
	requireSame(t, s)
	s.Verify()
	report, err := s.Node.VerifyLog(t.Context(), nil)
	if err != nil || report.Err() != nil {
		t.Fatalf("the log: %+v, %v", report, err)
	}
	return s
}
