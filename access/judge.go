package access

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/mask"
	"github.com/fanfold/fanfold/model"
)

// Keys knows who the senders of requests are. Its methods may be called from many goroutines.
type Keys interface {
	// Authenticate returns the principal of a request with these Authorization headers. Errors are Unauthenticated, which does
	// not say why; Invalid for several headers; and RightsStale where this node does not know the keys of late.
	Authenticate(authorization []string) (*Principal, error)
	// Holder returns the principal of a key whose secret's hash begins so, Open in an open store, and nil where none works. For the id of a token's ticket
	// it returns HolderIn's, if the token still works. The error is RightsStale.
	Holder(id string, secret []byte) (*Principal, error)
	// Valid tells whether a principal of earlier is one that Authenticate would return now, with the same roles, subject and claims.
	Valid(p *Principal) bool
	// Version is another one after any principal may have become invalid.
	Version() uint64
	// Secret returns a secret that all nodes of the store have, nil where this node has not read it.
	Secret() []byte
}

// pollEvery is how often a Judge looks whether rights have changed. Streams end within a second of it.
const pollEvery = 200 * time.Millisecond

// Judge says what principals may do under the model that applies. Its methods may be called from many goroutines.
type Judge struct {
	keys   Keys
	models func() *model.Model

	mu      sync.Mutex
	model   *model.Model
	access  uint64                // counts the changes of access
	latest  atomic.Pointer[under] // model and access, for who has no lock
	open    *Rights               // of Open under the model, which every request to an open store has
	version uint64                // of keys
	changed chan struct{}

	refusals refusals
}

// under is a model that a Judge has looked at, and the number of its access.
type under struct {
	model  *model.Model
	access uint64
}

// NewJudge returns a judge. models returns the model that applies.
func NewJudge(keys Keys, models func() *model.Model) *Judge {
	j := &Judge{keys: keys, models: models, model: models(), version: keys.Version(), changed: make(chan struct{})}
	j.latest.Store(&under{model: j.model})
	j.open = j.rights(Open)
	return j
}

// rights returns the rights of a principal under the model that was looked at last. The caller has the lock, or is the first.
func (j *Judge) rights(p *Principal) *Rights {
	return &Rights{Principal: p, holder: p, model: j.model, judge: j, access: j.access}
}

// Run looks again and again whether rights have changed, until ctx ends, and tells Changed.
func (j *Judge) Run(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			j.poll()
		case <-ctx.Done():
			return nil
		}
	}
}

// look takes note of another model, and returns the model that applies and the number of its access.
func (j *Judge) look() (*model.Model, uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.note()
	return j.model, j.access
}

// note takes note of another model. The caller has the lock, so that nobody puts an older model over a newer one.
func (j *Judge) note() {
	m := j.models()
	if m == j.model {
		return
	}
	if !model.SameAccess(j.model, m) {
		j.access++
	}
	j.model = m
	j.latest.Store(&under{m, j.access})
	j.open = j.rights(Open)
	j.announce()
}

// poll takes note of another model and of keys that have changed.
func (j *Judge) poll() {
	j.look()
	version := j.keys.Version()
	j.mu.Lock()
	defer j.mu.Unlock()
	if version != j.version {
		j.version = version
		j.announce()
	}
}

// announce wakes whoever waits for changed rights. The caller has the lock.
func (j *Judge) announce() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// Changed returns a channel that is closed once rights may have changed.
func (j *Judge) Changed() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// Authenticate returns the rights of the sender of a request with these Authorization headers: see Keys.
func (j *Judge) Authenticate(authorization []string) (*Rights, error) {
	p, err := j.keys.Authenticate(authorization)
	if err != nil {
		return nil, err
	}
	return j.Of(p), nil
}

// errNoTicket is the same for every reason, as for keys.
var errNoTicket = fanfold.Errorf(fanfold.Unauthenticated, "the ticket does not let this request in: ask for a new one, for this very path and query")

// Admit returns the rights of who asked for a ticket that lets a request in. Errors are Unauthenticated, which does not say why, and RightsStale.
func (j *Judge) Admit(text, target string, now time.Time) (*Rights, error) {
	t, secret := readTicket(text), j.keys.Secret()
	lets := t.lets(secret, target, now)
	id, hash := t.key()
	if t.ofToken() && !lets {
		id = "" // nobody believes what it says
	}
	p, err := j.keys.Holder(id, hash)
	switch {
	case err != nil:
		return nil, err
	case p == Open || p != nil && lets:
		return j.Of(p), nil
	case secret == nil:
		return nil, fanfold.Errorf(fanfold.RightsStale, "this node has not read the secret of the store, by which tickets are known: try again, or ask another node")
	}
	return nil, errNoTicket
}

// Ticket returns a text that lets a GET of a path and query in with these rights, until a time or until their key ends. It is "" for who has no key: such
// requests need no ticket. Errors are RightsStale where this node does not know the store's secret, and Unprocessable for a token that says too much.
func (r *Rights) Ticket(target string, until time.Time) (string, error) {
	if r.ID == "" && r.Issuer == "" {
		return "", nil
	}
	secret := r.judge.keys.Secret()
	if secret == nil {
		return "", fanfold.Errorf(fanfold.RightsStale, "this node does not know the secret of the store, which is made with the first key: make a key, or try again")
	}
	return ticketOf(r.Principal, secret, target, until)
}

// Of returns the rights of a principal under the model that applies. It returns the same as at its last request if no model came since.
func (j *Judge) Of(p *Principal) *Rights {
	if r, u := p.rights.Load(), j.latest.Load(); r != nil && r.judge == j && r.model == u.model && r.access == u.access && j.models() == u.model {
		return r
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.note(); p == Open {
		return j.open
	}
	r := j.rights(p)
	p.rights.Store(r)
	return r
}

// OfNode returns the rights by which a node reads for a consumer group without a request. An open store has its own as long as it is one. In
// a closed one they are the role admin's, and end with no key.
func (j *Judge) OfNode() *Rights {
	if j.keys.Valid(Open) {
		return j.Of(Open)
	}
	r := j.Of(OfRole(model.RoleAdmin))
	r.holder = nil
	return r
}

// Rights are what a principal may do under one model. They do not change: Current tells whether they still hold. A nil one
// has no rights.
type Rights struct {
	*Principal
	holder *Principal // whose key the rights end with; nil for a node's
	model  *model.Model
	judge  *Judge
	access uint64
}

// Node are the rights of a node itself, for what it does without a request: the model that its operator gave it at the start, and
// its own upgrade. They are an open store's rights, also if the store is closed: whoever starts a node owns the log.
var Node = &Rights{Principal: Open, holder: Open}

// Current tells whether the principal still has these rights: its key works and has the same roles, subject and claims, and the model that applies
// says the same about access.
func (r *Rights) Current() bool {
	if r == nil {
		return false
	}
	if r.judge == nil { // Node
		return true
	}
	_, number := r.judge.look()
	return number == r.access && (r.holder == nil || r.judge.keys.Valid(r.holder))
}

// Renewed returns what the same principal may do under the model that applies now, for work that lasts. It is nil where its key does
// not work any more, or has other roles.
func (r *Rights) Renewed() *Rights {
	if r == nil || r.judge == nil { // Node
		return r
	}
	m, number := r.judge.look()
	if r.holder != nil && !r.judge.keys.Valid(r.holder) {
		return nil
	}
	now := *r
	now.model, now.access = m, number
	return &now
}

// Changed returns a channel that is closed once Current may have another answer.
func (r *Rights) Changed() <-chan struct{} {
	if r.judge == nil { // Node
		return nil
	}
	return r.judge.Changed()
}

// As returns the rights that a role has by itself. They end when r's do. In an open store they are r's.
func (r *Rights) As(role string) *Rights {
	own := *r
	if !r.IsOpen() {
		own.Principal = OfRole(role)
	}
	return &own
}

// AsModel returns the rights of functions that have all rights, under the name of r's principal. They end when r's do.
func (r *Rights) AsModel() *Rights {
	own := *r
	if !r.IsOpen() {
		own.Principal = &Principal{ID: r.ID, Name: r.Name, Roles: []string{model.RoleAdmin}, Sub: r.Sub, Issuer: r.Issuer, By: r.By, Claims: r.Claims}
	}
	return &own
}

// Explain says whether a principal may do something to a document of a collection, and why. view is its embedded view as it is. To create it is meant as if
// it was not there, and to update it as leaving it as it is. In an open store it is meant as in a closed one.
func (r *Rights) Explain(p *Principal, collection, act string, view []byte) (allowed bool, why string) {
	of := *r
	of.Principal = p
	right := r.model.AccessTo(collection).Of(act)
	roles := append([]string{model.RoleAdmin}, right.Roles...)
	if i := slices.IndexFunc(roles, p.Has); i >= 0 {
		return true, "the role " + roles[i] + p.unseen(r.model, collection)
	}
	if right.Where == "" && len(right.Roles) == 0 {
		return false, "the role admin is missing"
	} else if right.Where == "" {
		return false, "one of these roles is missing: " + strings.Join(right.Roles, ", ")
	}
	g := of.Grant(collection, act)
	switch act {
	case model.ActCreate, model.ActRead:
		allowed, why = g.Explain(nil, view)
	case model.ActDelete:
		allowed, why = g.Explain(view, nil)
	default:
		allowed, why = g.Explain(view, view)
	}
	if allowed {
		why += p.unseen(r.model, collection)
	}
	return allowed, why
}

// IsOpen tells whether the principal belongs to an open store.
func (r *Rights) IsOpen() bool { return r != nil && r.Principal.IsOpen() }

// Model returns the model under which these are the rights.
func (r *Rights) Model() *model.Model { return r.model }

// Reads tells whether the principal reads a collection.
func (r *Rights) Reads(collection string) bool {
	return r != nil && r.Principal.Reads(r.model, collection)
}

// Writes tells whether the principal creates, updates and deletes every document of a collection, and so reads it.
func (r *Rights) Writes(collection string) bool {
	return r != nil && r.Principal.Writes(r.model, collection)
}

// ReadsAll tells whether the principal reads every collection.
func (r *Rights) ReadsAll() bool {
	return r != nil && r.Principal.ReadsAll(r.model)
}

// Grant returns to which documents of a collection the principal has the right to an action, one of model.Acts.
func (r *Rights) Grant(collection, act string) Grant {
	if r == nil {
		return Grant{}
	}
	if r.open { // a node's own rights have no model
		return Grant{every: true, all: true}
	}
	right := r.model.AccessTo(collection).Of(act)
	g := Grant{act: act, mask: r.mask(r.model, collection)}
	switch {
	case r.hasOneOf(right.Roles):
		g.every, g.auth = true, r.auth()
	case right.Where == "":
		return Grant{}
	default:
		g.where, g.auth, g.refused = right.Where, r.auth(), r.refused(collection, act)
	}
	g.all = g.every && g.mask == nil
	return g
}

// CheckMember returns a Forbidden where part of a request names a private member of a collection that the principal does not see, or a place in one. An index
// or - among the names stands for an element of an array.
func (r *Rights) CheckMember(part, collection string, names []string) error {
	if r == nil || r.open {
		return nil
	}
	return r.mask(r.model, collection).Check(part, collection, names)
}

// CheckAll returns nil where the principal may do something to every document of a collection, and a Forbidden otherwise.
func (r *Rights) CheckAll(act, collection string) error {
	if g := r.Grant(collection, act); g.All() {
		return nil
	}
	if act != model.ActRead && r != nil && r.model.AccessTo(collection).WritesAlike() {
		act = "write"
	}
	return forbidden(act, collection)
}

// forbidden is the refusal of an action in a collection.
func forbidden(act, collection string) error {
	return fanfold.Errorf(fanfold.Forbidden, "the right to %s %s is missing: ask for a key with a role that the model's access to %s names", act, collection, collection)
}

// Key is the same for principals who see the same documents, on every node: it goes by the roles and the values of auth that rules about reading look
// at. It is "" where no rule decides about a document.
func (r *Rights) Key() string { return r.KeyTo(nil) }

// KeyTo is Key as far as some collections go, nil for all. It stays as it is when what others may read in other collections changes.
func (r *Rights) KeyTo(collections []string) string {
	if r == nil || r.open || r.Admin() {
		return ""
	}
	return r.seenKey(r.model, collections)
}

// CheckRead returns nil where the principal reads every document of a collection, and a Forbidden otherwise.
func (r *Rights) CheckRead(collection string) error { return r.CheckAll(model.ActRead, collection) }

// Told returns those rules of a collection, by full name, whose values the principal sees. The model need not have them any more.
func (r *Rights) Told(collection string, rules []string) (told []string) {
	mask := r.mask(r.model, collection)
	if mask == nil {
		return rules
	}
	for _, name := range rules {
		text, isRule := strings.CutPrefix(name, collection+".")
		if path, err := model.ParsePath(text); !isRule || err != nil || mask.Touches(path) == "" {
			told = append(told, name)
		}
	}
	return told
}

// CheckRelation returns a Forbidden where a relation, by its full name, goes by a private member that the principal does not see.
func (r *Rights) CheckRelation(full string) error {
	collection, _, _ := strings.Cut(full, ".")
	g := r.ToRead(collection)
	if g.Mask() == nil {
		return nil
	}
	relation := r.model.Relation(full)
	if relation == nil {
		return nil
	}
	path := g.Mask().Touches(relation.Path)
	if path == "" {
		return nil
	}
	return mask.Refuse("the request goes by", collection, path)
}

// CheckReadEvery returns nil where the principal reads every document of a collection, if not all its members, and a Forbidden otherwise.
func (r *Rights) CheckReadEvery(collection string) error {
	if g := r.ToRead(collection); g.Every() {
		return nil
	}
	return r.CheckRead(collection)
}

// CheckSees returns nil where the principal reads some documents of a collection, whatever is in them, and a Forbidden otherwise.
func (r *Rights) CheckSees(collection string) error {
	return r.CheckSome(collection, model.ActRead)
}

// ToRead returns to which documents of a collection the principal has the right to read.
func (r *Rights) ToRead(collection string) Grant { return r.Grant(collection, model.ActRead) }

// Ruled returns the collections in which a rule decides whether the principal reads a document; nil for none.
func (r *Rights) Ruled() map[string]bool {
	if r.Key() == "" {
		return nil
	}
	ruled := map[string]bool{}
	for _, c := range r.model.Collections {
		if g := r.ToRead(c.Name); g.Conditional() {
			ruled[c.Name] = true
		}
	}
	return ruled
}

// LooksAt tells whether the rule by which the principal reads a collection's documents may look at one of some members, or at one that rules of the model
// derive. The name "" stands for all of them.
func (r *Rights) LooksAt(collection string, members []string) bool {
	members = append(slices.Clone(members), derivedMembers(r.model, collection)...)
	if now := r.Renewed(); now != nil {
		members = append(members, derivedMembers(now.model, collection)...)
	}
	g := r.ToRead(collection)
	return g.looksAtOneOf(members)
}

// CheckSome returns nil where the principal may do one of some things to a document of a collection, and a Forbidden otherwise. The caller judges each
// document then.
func (r *Rights) CheckSome(collection string, acts ...string) error {
	if r.some(collection, acts...) {
		return nil
	}
	return r.CheckAll(acts[0], collection)
}

// some tells whether the principal may do one of some things to a document of a collection.
func (r *Rights) some(collection string, acts ...string) bool {
	return slices.ContainsFunc(acts, func(act string) bool {
		g := r.Grant(collection, act)
		return !g.None()
	})
}

// writesSome tells whether the principal creates, updates or deletes documents of a collection.
func (r *Rights) writesSome(collection string) bool { return r.some(collection, model.Acts[1:]...) }

// CheckReadSome returns nil where the principal reads any collection, and a Forbidden otherwise.
func (r *Rights) CheckReadSome() error {
	if r != nil && some(r.model, func(collection string) bool { g := r.ToRead(collection); return g.Every() }) {
		return nil
	}
	return fanfold.Errorf(fanfold.Forbidden, "the right to read is missing: ask for a key with a role that the model's access to any collection names")
}

// CheckWriteSome returns nil where the principal writes any collection, and a Forbidden otherwise.
func (r *Rights) CheckWriteSome() error {
	if r != nil && some(r.model, r.writesSome) {
		return nil
	}
	return fanfold.Errorf(fanfold.Forbidden, "the right to write is missing: ask for a key with a role that the model's access to any collection names")
}

// some tells whether a collection of a model, or one that nobody declares, is as may says.
func some(m *model.Model, may func(collection string) bool) bool {
	return may("") || slices.ContainsFunc(m.Collections, func(c *model.Collection) bool { return may(c.Name) })
}

// CheckReadAll returns nil where the principal reads every collection, and a Forbidden otherwise.
func (r *Rights) CheckReadAll() error {
	if r.ReadsAll() {
		return nil
	}
	return fanfold.Errorf(fanfold.Forbidden, "the right to read every collection is missing")
}

// CheckRole returns nil where the principal has a role, and a Forbidden otherwise.
func (r *Rights) CheckRole(role string) error {
	if r != nil && r.Has(role) {
		return nil
	}
	return fanfold.Errorf(fanfold.Forbidden, "the role %s is missing", role)
}

// Shape is the same for rights to the same documents.
func (r *Rights) Shape() string {
	if r == nil {
		return "none"
	}
	if key := r.Key(); key != "" {
		return fmt.Sprintf("rules@%d%s", r.access, key)
	}
	return fmt.Sprintf("%s@%d", r.Principal.Shape(), r.access)
}

// Seal returns the seal of those who see what the principal sees. The error is RightsStale where this node has no secret of the store.
func (r *Rights) Seal() (*Seal, error) {
	secret := r.judge.keys.Secret()
	if len(secret) == 0 {
		return nil, fanfold.Errorf(fanfold.RightsStale, "this node has not read the secret by which the store seals cursors: ask another node")
	}
	return newSeal(secret, r.Key())
}

// refused returns what counts refusals by a rule; nil without a judge.
func (r *Rights) refused(collection, act string) func() {
	if r.judge == nil {
		return nil
	}
	return r.judge.refusals.of(collection, act)
}

// Refusals returns, in order, how many times since the start the rules did not let somebody read, create, update or delete a document. Rules of the model
// that applies are there with 0, too.
func (j *Judge) Refusals() (all []Refusals) {
	counts := map[Refusals]uint64{}
	m, _ := j.look()
	for _, c := range m.Collections {
		for _, act := range model.Acts {
			if m.AccessTo(c.Name).Of(act).Where != "" {
				counts[Refusals{Collection: c.Name, Act: act}] = 0
			}
		}
	}
	j.refusals.mu.Lock()
	maps.Copy(counts, j.refusals.count)
	j.refusals.mu.Unlock()
	for of, count := range counts {
		of.Count = count
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b Refusals) int {
		return cmp.Or(strings.Compare(a.Collection, b.Collection), strings.Compare(a.Act, b.Act))
	})
	return all
}

// rightsKey is the key of Rights in a context.
type rightsKey struct{}

// WithRights returns a context with rights, for a handler that is given nothing else of a request's sender.
func WithRights(ctx context.Context, rights *Rights) context.Context {
	return context.WithValue(ctx, rightsKey{}, rights)
}

// RightsIn returns the rights in a context, nil for none.
func RightsIn(ctx context.Context) *Rights {
	rights, _ := ctx.Value(rightsKey{}).(*Rights)
	return rights
}

// Everybody knows no keys: the store is open.
type Everybody struct{}

// Authenticate returns Open.
func (Everybody) Authenticate([]string) (*Principal, error) { return Open, nil }

// Holder returns Open.
func (Everybody) Holder(string, []byte) (*Principal, error) { return Open, nil }

// Valid tells whether a principal is Open.
func (Everybody) Valid(p *Principal) bool { return p == Open }

// Version returns 0: nothing changes.
func (Everybody) Version() uint64 { return 0 }

// Secret returns nil: everybody reads everything.
func (Everybody) Secret() []byte { return nil }
