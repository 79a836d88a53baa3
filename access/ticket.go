package access

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
)

// A ticket reads fft_ and hexadecimal digits. They are a MAC, an end in seconds of Unix time, a part of a hash, and the id of a key. The hash is of the secret
// that asked for the ticket. The MAC is of the rest and of the request that the ticket lets in.
const (
	ticketPrefix   = "fft_"
	ticketMAC      = 16
	ticketSecret   = 8
	ticketOverhead = ticketMAC + 8 + ticketSecret
	maxTicket      = 256 // bytes of the text
)

// Bounds of how long a ticket works.
const (
	LeastTicket = time.Second
	MostTicket  = 24 * time.Hour
)

// ticketOf returns the ticket of a secret's principal for a request, by the store's secret.
func ticketOf(p *Principal, secret []byte, target string, until time.Time) string {
	rest := binary.BigEndian.AppendUint64(nil, uint64(until.Unix())) //nolint:gosec // it is after 1970
	rest = append(append(rest, p.Secret[:ticketSecret]...), p.ID...)
	return ticketPrefix + hex.EncodeToString(append(macOf(secret, rest, target), rest...))
}

// ticket is what a text says that may be a ticket.
type ticket struct{ mac, rest []byte }

// readTicket returns what a text says; that it is of no key, where it is no ticket.
func readTicket(text string) ticket {
	coded, ok := strings.CutPrefix(text, ticketPrefix)
	raw, err := hex.DecodeString(coded[:min(len(coded), maxTicket)])
	if !ok || err != nil || len(text) > maxTicket || len(raw) <= ticketOverhead {
		raw = make([]byte, ticketOverhead)
	}
	return ticket{raw[:ticketMAC], raw[ticketMAC:]}
}

// key returns the id of the ticket's key, and how the hash of its secret begins.
func (t ticket) key() (id string, secret []byte) {
	return string(t.rest[8+ticketSecret:]), t.rest[8:][:ticketSecret]
}

// lets tells whether the ticket lets a request in, by the store's secret.
func (t ticket) lets(secret []byte, target string, now time.Time) bool {
	until := time.Unix(int64(binary.BigEndian.Uint64(t.rest)), 0) //nolint:gosec // the MAC says whether it is one of ours
	return secret != nil && target != "" && hmac.Equal(t.mac, macOf(secret, t.rest, target)) && now.Before(until) && until.Sub(now) <= MostTicket+time.Minute
}

// macOf returns the MAC of a ticket.
func macOf(secret, rest []byte, target string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, "fanfold tickets", sha256.Size)
	if err != nil {
		panic(err) // of a constant length
	}
	h := hmac.New(sha256.New, key)
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(rest)))) //nolint:gosec // it is short
	h.Write(rest)
	h.Write([]byte(target))
	return h.Sum(nil)[:ticketMAC]
}
