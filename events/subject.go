package events

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/fanfold/fanfold"
)

// subjects makes and parses the subjects of one database. README.md lists them.
type subjects struct{ db string }

func (s subjects) all() string     { return "fanfold." + s.db + ".>" }
func (s subjects) model() string   { return "fanfold." + s.db + ".model" }
func (s subjects) fence() string   { return "fanfold." + s.db + ".fence" }
func (s subjects) check() string   { return "fanfold." + s.db + ".check" }
func (s subjects) call() string    { return "fanfold." + s.db + ".call" }
func (s subjects) compact() string { return "fanfold." + s.db + ".compact" }
func (s subjects) erase() string   { return "fanfold." + s.db + ".erase" }
func (s subjects) erased() string  { return "fanfold." + s.db + ".erased" }

// importProgress returns the subject on which an import records how far it is.
func (s subjects) importProgress(id string) string {
	return "fanfold." + s.db + ".import." + EscapeToken(id)
}

// forEvent returns the subject that an event is stored on, in the short form of guards or in the other one.
func (s subjects) forEvent(ev *fanfold.Event, short bool) string {
	switch ev.Kind {
	case fanfold.KindModel, fanfold.KindPrepare, fanfold.KindCancel:
		return s.model()
	case fanfold.KindFence:
		return s.fence()
	case fanfold.KindCheck:
		return s.check()
	case fanfold.KindCall:
		return s.call()
	case fanfold.KindLoss:
		switch {
		case ev.Loss.Lists():
			return s.erase()
		case ev.Loss.Erases():
			return s.erased()
		}
		return s.compact()
	case fanfold.KindImport:
		return s.importProgress(ev.Key.ID)
	case fanfold.KindLink:
		subject := s.link(ev.Key) + "." + ev.Holders[0].Collection
		if short {
			return subject // whose holders the payload has
		}
		return subject + "." + EscapeToken(ev.Holders[0].ID)
	case fanfold.KindGate:
		return s.gate(ev.Key)
	case fanfold.KindClaim:
		sum := sha256.Sum256([]byte(ev.Path + "\x00" + ev.Value)) // either may be longer than a subject
		return "fanfold." + s.db + ".claim." + ev.Key.Collection + "." + base64.RawURLEncoding.EncodeToString(sum[:])
	case fanfold.KindSequence:
		return "fanfold." + s.db + ".sequence." + ev.Key.Collection + "." + ev.Value
	default:
		return s.document(ev.Key)
	}
}

// document returns the subject of a document's events.
func (s subjects) document(k fanfold.Key) string {
	return "fanfold." + s.db + ".doc." + k.Collection + "." + EscapeToken(k.ID)
}

// link returns the subject under which all strict references to a document are.
func (s subjects) link(target fanfold.Key) string {
	return "fanfold." + s.db + ".link." + target.Collection + "." + EscapeToken(target.ID)
}

// gate returns the subject of a document's gates, or of its collection's where the key has no id.
func (s subjects) gate(k fanfold.Key) string {
	subject := "fanfold." + s.db + ".gate." + k.Collection
	if k.ID == "" {
		return subject
	}
	return subject + "." + EscapeToken(k.ID)
}

// linksOf returns the subjects of all strict references to the document to which the one of a link event leads, "" for another subject.
func (s subjects) linksOf(subject string) string {
	prefix := "fanfold." + s.db + ".link."
	rest, ok := strings.CutPrefix(subject, prefix)
	if !ok {
		return ""
	}
	target := strings.SplitN(rest, ".", 3)
	return prefix + target[0] + "." + target[1] + ".>"
}

// guardOn returns what the subject of a guard in the short form says. Of a link that is the document referred to, and the collection of its
// holders; of a claim the collection alone. kind is "" for another subject.
func guardOn(subject string) (kind fanfold.Kind, about fanfold.Key, holders string) {
	parts := strings.Split(subject, ".")
	switch {
	case len(parts) == 6 && parts[2] == "link":
		about.Collection, holders = parts[3], parts[5]
		about.ID, _ = UnescapeToken(parts[4]) // "" is no id
		return fanfold.KindLink, about, holders
	case len(parts) == 5 && parts[2] == "claim":
		about.Collection = parts[3]
		return fanfold.KindClaim, about, ""
	}
	return "", about, ""
}

// isClaim tells whether claims are on a subject.
func (s subjects) isClaim(subject string) bool {
	return strings.HasPrefix(subject, "fanfold."+s.db+".claim.")
}

// isOn tells whether a subject is one, or matches one that ends with a wildcard.
func isOn(subject, pattern string) bool {
	if prefix, ok := strings.CutSuffix(pattern, ">"); ok {
		return strings.HasPrefix(subject, prefix)
	}
	return subject == pattern
}

// parse returns what a subject is about. kind is "" for a document's subject, where only the
// envelope tells. The error is Invalid.
func (s subjects) parse(subject string) (kind fanfold.Kind, key fanfold.Key, err error) {
	rest, ok := strings.CutPrefix(subject, "fanfold."+s.db+".")
	switch {
	case ok && rest == "model":
		return fanfold.KindModel, key, nil
	case ok && rest == "fence":
		return fanfold.KindFence, key, nil
	case ok && rest == "check":
		return fanfold.KindCheck, key, nil
	case ok && rest == "call":
		return fanfold.KindCall, key, nil
	case ok && (rest == "compact" || rest == "erase" || rest == "erased"):
		return fanfold.KindLoss, key, nil
	case ok && strings.HasPrefix(rest, "link."):
		return fanfold.KindLink, key, nil
	case ok && strings.HasPrefix(rest, "gate."):
		return fanfold.KindGate, key, nil
	case ok && strings.HasPrefix(rest, "claim."):
		return fanfold.KindClaim, key, nil
	case ok && strings.HasPrefix(rest, "sequence."):
		return fanfold.KindSequence, key, nil
	case ok && strings.HasPrefix(rest, "import."):
		key.ID, err = UnescapeToken(rest[len("import."):])
		return fanfold.KindImport, key, err
	case ok && strings.HasPrefix(rest, "doc."):
		collection, token, dotted := strings.Cut(rest[len("doc."):], ".")
		id, err := UnescapeToken(token)
		if dotted && err == nil {
			key = fanfold.Key{Collection: collection, ID: id}
			return "", key, key.Validate()
		}
	}
	return "", key, fanfold.Errorf(fanfold.Invalid, "unknown subject %q: a newer Fanfold may have written it; use that one", subject)
}

const hexDigits = "0123456789ABCDEF"

// literalBytes holds the bytes that an id's token shows as they are. The others, among them '.',
// '*', '>', spaces and '%' itself, are percent-encoded, which NATS takes in a token.
var literalBytes = func() (set [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~:@+=" {
		set[c] = true
	}
	return set
}()

// EscapeToken returns the one NATS subject token that stands for an id. UnescapeToken undoes it.
func EscapeToken(id string) string {
	for i := 0; i < len(id); i++ {
		if !literalBytes[id[i]] {
			return escapeTokenFrom(id, i)
		}
	}
	return id
}

// escapeTokenFrom returns the token of an id whose bytes before i stand for themselves.
func escapeTokenFrom(id string, i int) string {
	var b strings.Builder
	b.Grow(len(id) + 16)
	b.WriteString(id[:i])
	for ; i < len(id); i++ {
		if c := id[i]; literalBytes[c] {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// UnescapeToken returns the id that EscapeToken made the token of. The error is Invalid for a token
// that EscapeToken cannot have made, so that an id has one subject only.
func UnescapeToken(token string) (string, error) {
	var b strings.Builder
	b.Grow(len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '%' && i+2 < len(token) {
			hi, lo := strings.IndexByte(hexDigits, token[i+1]), strings.IndexByte(hexDigits, token[i+2])
			if hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				i += 2
			}
		}
		b.WriteByte(c)
	}
	id := b.String()
	if id == "" || EscapeToken(id) != token {
		return "", fanfold.Errorf(fanfold.Invalid, "%q is not the token of an id", token)
	}
	return id, nil
}
