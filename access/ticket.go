package access

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
)

// A ticket reads fft_ and hexadecimal digits. They are a MAC, an end in seconds of Unix time, a part of a hash, and the id of a key or the holder of a token. The hash is of the secret
// that asked for the ticket. The MAC is of the rest and of the request that the ticket lets in.
const (
	ticketPrefix    = "fft_"
	ticketMAC       = 16
	ticketSecret    = 8
	ticketOverhead  = ticketMAC + 8 + ticketSecret
	maxTicketHolder = 2 << 10 // bytes of what stands for a key's id where a token was sent
	maxTicket       = len(ticketPrefix) + 2*(ticketOverhead+len(tokenMark)+maxTicketHolder+sealUnit+sealOverhead)
)

// Bounds of how long a ticket works.
const (
	LeastTicket = time.Second
	MostTicket  = 24 * time.Hour
)

// ticketOf returns the ticket of a secret's principal for a request, by the store's secret.
func ticketOf(p *Principal, secret []byte, target string, until time.Time) (string, error) {
	id := p.ID
	if p.Issuer != "" {
		told, err := json.Marshal(tokenHolder{p.Sub, p.Issuer, p.Signer, p.By, p.Roles, p.Claims, p.Created.Unix(), p.Ends.Unix()})
		if err != nil || len(told) > maxTicketHolder {
			return "", fanfold.Errorf(fanfold.Unprocessable, "the token says too much for a ticket: its subject, roles and claims may have %d bytes", maxTicketHolder)
		}
		seal, err := newSeal(secret, sealOfHolders)
		if err != nil {
			return "", err
		}
		id = tokenMark + string(seal.Seal(told))
	}
	rest := binary.BigEndian.AppendUint64(nil, uint64(until.Unix())) //nolint:gosec // it is after 1970
	rest = append(append(rest, p.Secret[:ticketSecret]...), id...)
	return ticketPrefix + hex.EncodeToString(append(macOf(secret, rest, target), rest...)), nil
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

// tokenHolder is what stands in a ticket for the id of a key where its maker had sent a token.
type tokenHolder struct {
	Sub     string          `json:"sub"`
	Issuer  string          `json:"iss"`
	Signer  string          `json:"signer"`
	By      string          `json:"by"`
	Roles   []string        `json:"roles,omitempty"`
	Claims  json.RawMessage `json:"claims,omitempty"`
	Created int64           `json:"iat"`
	Ends    int64           `json:"ends"`
}

// tokenMark begins what stands for a key's id in the ticket of a token's holder. The rest is sealed: a ticket stands in URLs, and so in logs of others.
const tokenMark = "{"

// sealOfHolders tells the seal of holders from seals of cursors, which have something shorter there.
const sealOfHolders = "the holder of a token, in a ticket"

// ofToken tells whether the maker of the ticket had sent a token.
func (t ticket) ofToken() bool {
	id, _ := t.key()
	return strings.HasPrefix(id, tokenMark)
}

// HolderIn returns who held the token that a ticket's id tells of, by the store's secret, and nil for the id of a key. A Judge asks about the ids of tickets that
// are its own.
func HolderIn(id string, secret []byte) *Principal {
	sealed, ok := strings.CutPrefix(id, tokenMark)
	if !ok || secret == nil {
		return nil
	}
	seal, err := newSeal(secret, sealOfHolders)
	if err != nil {
		return nil
	}
	text, ok := seal.Open([]byte(sealed))
	var h tokenHolder
	if !ok || json.Unmarshal(text, &h) != nil {
		return nil
	}
	return &Principal{Sub: h.Sub, Issuer: h.Issuer, Signer: h.Signer, By: h.By, Roles: h.Roles, Claims: h.Claims, Created: time.Unix(h.Created, 0), Expires: time.Unix(h.Ends, 0), Ends: time.Unix(h.Ends, 0)}
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
