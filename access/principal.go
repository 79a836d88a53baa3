// Package access says who sends a request, and what that principal may do. It has the format of keys, the roles of principals, and
// the rights of roles under a model. It stores nothing: package access/keys keeps the keys.
package access

import (
	"cmp"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Principal is who sends a request. A Principal does not change once it is made.
type Principal struct {
	ID      string    // of the key, "" without one; rotation keeps it
	Name    string    // of the key
	Roles   []string  // given to the key, sorted; every principal has the role everyone besides
	Created time.Time // of the key
	Expires time.Time // of the key, zero for never
	// Ends says when the secret that was sent stops working: where the key expires, or where a rotation ends the secret. It is
	// zero for never.
	Ends   time.Time
	Secret [sha256.Size]byte // the hash of the secret that was sent

	Sub    string          // whom rules know as auth.sub: for a key what it says, or key:<id>
	Issuer string          // who says so, "" for the store's own keys
	Signer string          // the mark of the key by which the issuer signed the token; "" for keys
	By     string          // how events name who holds a token; "" for keys, which they name key:<id>
	Claims json.RawMessage // a JSON object; nil for an empty one

	open bool
	seen atomic.Pointer[jsondoc.Tree] // what auth returns; nil before it is asked for
	keys atomic.Pointer[seenKeys]     // what seenKey has returned under the last model; nil for nothing

	rights atomic.Pointer[Rights] // what a Judge's Of has returned last; nil for nothing
}

// Open is the principal of every request in an open store. It may do everything.
var Open = &Principal{open: true}

// Anonymous is the principal of requests without credentials, where they are let in.
var Anonymous = &Principal{}

// IsOpen tells whether the principal belongs to an open store.
func (p *Principal) IsOpen() bool { return p.open }

// Has tells whether the principal has a role. Whoever is admin has all of them.
func (p *Principal) Has(role string) bool {
	return p.open || role == model.RoleEveryone || slices.Contains(p.Roles, role) || slices.Contains(p.Roles, model.RoleAdmin)
}

// Own returns the roles that the principal has by itself: its key's roles, everyone without a key, admin in an open store.
func (p *Principal) Own() []string {
	switch {
	case p.open:
		return []string{model.RoleAdmin}
	case len(p.Roles) == 0:
		return []string{model.RoleEveryone}
	}
	return p.Roles
}

// Admin tells whether the principal may do everything.
func (p *Principal) Admin() bool { return p.Has(model.RoleAdmin) }

// Monitor tells whether the principal may see how a node stands.
func (p *Principal) Monitor() bool { return p.Has(model.RoleMonitor) }

// ActorPrefix begins how events name who holds a token.
const ActorPrefix = "sub:"

// ActorOf returns how events name a subject of an issuer: sub: and a MAC by the store's secret, from which nobody learns whose it is.
func ActorOf(secret []byte, issuer, sub string) string {
	key, err := hkdf.Key(sha256.New, secret, nil, "fanfold actors", sha256.Size)
	if err != nil {
		panic(err) // of a constant length
	}
	h := hmac.New(sha256.New, key)
	of := sha256.Sum256([]byte(issuer)) // of one length, so that no two pairs are one text
	h.Write(of[:])
	h.Write([]byte(sub))
	return ActorPrefix + hex.EncodeToString(h.Sum(nil)[:16])
}

// KeySubject begins the subject of a key that is given none.
const KeySubject = "key:"

// Actor names the principal in the events that it causes: key:<id>, sub:<MAC> for who holds a token, "" for nobody in particular.
func (p *Principal) Actor() string {
	switch {
	case p == nil:
		return ""
	case p.By != "" || p.ID == "":
		return p.By
	}
	return "key:" + p.ID
}

// String names the principal in the log of a node.
func (p *Principal) String() string {
	switch {
	case p == nil:
		return "nobody"
	case p.open:
		return "open"
	case p.Actor() == "":
		return "anonymous"
	}
	return p.Actor()
}

// Reads tells whether the principal reads every document of a collection under a model, with all its members.
func (p *Principal) Reads(m *model.Model, collection string) bool {
	return p.open || p.hasOneOf(m.AccessTo(collection).Read.Roles) && p.seesWhole(m, collection)
}

// Writes tells whether the principal creates, updates and deletes every document of a collection under a model, and so reads it.
func (p *Principal) Writes(m *model.Model, collection string) bool {
	a := m.AccessTo(collection)
	return p.open || p.hasOneOf(a.Create.Roles) && p.hasOneOf(a.Update.Roles) && p.hasOneOf(a.Delete.Roles) && p.seesWhole(m, collection)
}

// hasOneOf tells whether the principal has one of some roles, or is admin.
func (p *Principal) hasOneOf(roles []string) bool {
	return p.Admin() || slices.ContainsFunc(roles, p.Has)
}

// ReadsAll tells whether the principal reads every collection under a model, those that nobody declares included.
func (p *Principal) ReadsAll(m *model.Model) bool {
	if p.Admin() {
		return true
	}
	return p.Reads(m, "") && !slices.ContainsFunc(m.Collections, func(c *model.Collection) bool { return !p.Reads(m, c.Name) })
}

// Shape is the same for principals that have the same rights under every model.
func (p *Principal) Shape() string {
	switch {
	case p.open:
		return "open"
	case p.Admin():
		return model.RoleAdmin
	}
	return strings.Join(p.Roles, ",")
}

// OfRole returns a principal that has one role, for what sees with the rights of that role alone, as a consumer group does.
func OfRole(role string) *Principal { return &Principal{Roles: []string{role}} }

// auth returns what rules see of the principal.
func (p *Principal) auth() *jsondoc.Tree {
	if t := p.seen.Load(); t != nil {
		return t
	}
	text := append([]byte(`{"sub":`), jsondoc.Quote(p.Sub)...)
	text = append(append(text, `,"iss":`...), jsondoc.Quote(p.Issuer)...)
	text = append(text, `,"roles":[`...)
	for i, role := range p.Roles {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, jsondoc.Quote(role)...)
	}
	text = append(append(text, `],"claims":`...), cmp.Or(string(p.Claims), "{}")...)
	t := jsondoc.MustParse(append(text, '}'))
	p.seen.Store(t)
	return t
}

// seenKeys are what seenKey has returned under one model, by collection, "" for all of them.
type seenKeys struct {
	model *model.Model
	all   sync.Map
}

// seenKey is the same for principals who read the same documents of some collections, nil for all, and "" where no rule decides about any.
func (p *Principal) seenKey(m *model.Model, collections []string) string {
	name := ""
	switch {
	case len(collections) == 1 && m.Collection(collections[0]) != nil:
		name = collections[0]
	case len(collections) > 0:
		return p.makeSeenKey(m, collections)
	}
	keys := p.keys.Load()
	if keys == nil || keys.model != m {
		keys = &seenKeys{model: m}
		p.keys.Store(keys)
	}
	if key, known := keys.all.Load(name); known {
		return key.(string)
	}
	key := p.makeSeenKey(m, collections)
	keys.all.Store(name, key)
	return key
}

// makeSeenKey makes what seenKey returns. Of all collections it hashes those that the principal does not see as those that nobody declares. So a collection more
// of these changes nothing.
func (p *Principal) makeSeenKey(m *model.Model, collections []string) string {
	h, some := sha256.New(), false
	names, usual := slices.Clone(collections), ""
	if len(names) == 0 {
		for _, c := range m.Collections {
			names = append(names, c.Name)
		}
		usual, _ = p.seenOf(m, "")
		fmt.Fprintln(h, usual)
	}
	slices.Sort(names)
	for i, name := range names {
		seen, conditional := p.seenOf(m, name)
		if some = some || conditional; seen != usual && (i == 0 || name != names[i-1]) {
			fmt.Fprintln(h, name, seen)
		}
	}
	if !some {
		return ""
	}
	return string(h.Sum(nil)[:16])
}

// seenOf says which documents of a collection the principal reads and which private members of them it does not see, and whether each document must be looked at.
func (p *Principal) seenOf(m *model.Model, collection string) (text string, conditional bool) {
	right := m.AccessTo(collection).Read
	unseen := ""
	if paths := p.unseenIn(m.PrivateOf(collection)); paths != nil {
		unseen = fmt.Sprintf(" without %q", paths)
	}
	switch {
	case p.hasOneOf(right.Roles):
		return "all" + unseen, unseen != ""
	case right.Where == "":
		return "none", false
	}
	text = fmt.Sprintf("%q%s", right.Where, unseen)
	if rule, err := expr.CompileReading(right.Where); err == nil { // otherwise it shows nothing to anybody
		for _, path := range rule.AuthPaths() {
			text += fmt.Sprintf(" %q %s", path, valueAt(p.auth(), path))
		}
	}
	return text, true
}
