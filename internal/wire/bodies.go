package wire

import (
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold"
)

// Duration is a time.Duration that JSON has as a text such as "30s".
type Duration time.Duration

// MarshalText returns the duration as time.Duration.String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration as time.ParseDuration does. The error is Invalid.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fanfold.Errorf(fanfold.Invalid, `%.80q is not a time with its unit, such as "30s" or "2m"`, text)
	}
	*d = Duration(v)
	return nil
}

// LeaseBody is the body of a group's _lease.
type LeaseBody struct {
	Member string `json:"member" pattern:"^[A-Za-z0-9][A-Za-z0-9._:@+-]*$" maxLength:"128" doc:"Letters, digits and ._:@+-."`
	Max    int    `json:"max,omitempty" minimum:"1" maximum:"1000" doc:"The most partitions that it wants; without it, its whole share."`
}

// AckBody is the body of a group's _ack.
type AckBody struct {
	Partition *int   `json:"partition" minimum:"0"`
	Token     string `json:"token"`
	Position  string `json:"position" doc:"The last_seq of the answer, or the position of a row: everything up to it."`
}

// NackBody is the body of a group's _nack.
type NackBody struct {
	Partition *int   `json:"partition" minimum:"0"`
	Token     string `json:"token"`
	Position  string `json:"position" doc:"The last_seq of the answer, or the position of a row: everything up to it."`
	Error     string `json:"error,omitempty" doc:"Why; 2,000 bytes of it are kept."`
}

// LeaveBody is the body of a group's _release of all leases of a member, which leaves the group.
type LeaveBody struct {
	Member string `json:"member"`
}

// ReleaseBody is the body of a group's _release of one partition, which its member or its token names.
type ReleaseBody struct {
	Partition *int   `json:"partition" minimum:"0"`
	Member    string `json:"member,omitempty"`
	Token     string `json:"token,omitempty"`
}

// ResetBody is the body of a group's _reset.
type ResetBody struct {
	To    string `json:"to" doc:"A position, 0, now or an RFC 3339 time."`
	Force bool   `json:"force,omitempty" default:"false" doc:"Also while leases are held, which end."`
}

// RevertBody is the body of a document's _revert.
type RevertBody struct {
	At string `json:"at" minLength:"1" maxLength:"255" doc:"A position, as it was given out, or an RFC 3339 time that is not in the future. <sequence>-<n> and <sequence> alone are taken of any store. The node waits until it is there, as for Fanfold-Min-Position. A position inside an event or a transaction stands for its end, and a time for the last event whose time is not later; 0 is the empty store."`
}

// NewKeyBody is the body of a request that makes a key.
type NewKeyBody struct {
	Name    string          `json:"name" ref:"KeyName"`
	Roles   []string        `json:"roles" ref:"KeyRoles"`
	Expires json.RawMessage `json:"expires,omitempty" schema:"{'type':'string','format':'date-time'}" doc:"When it ends: within ten years; absent for never."`
	Sub     json.RawMessage `json:"sub,omitempty" ref:"KeySub"`
	Claims  json.RawMessage `json:"claims,omitempty" ref:"Claims"`
}

// KeyPatchBody is the merge patch of a key.
type KeyPatchBody struct {
	Name    *string         `json:"name,omitempty" ref:"KeyName"`
	Roles   *[]string       `json:"roles,omitempty" ref:"KeyRoles"`
	Expires json.RawMessage `json:"expires,omitempty" schema:"{'type':['string','null'],'format':'date-time'}" doc:"null for never."`
	Sub     json.RawMessage `json:"sub,omitempty" schema:"{'type':['string','null'],'minLength':1,'maxLength':255}" doc:"null for key:<id>."`
	Claims  json.RawMessage `json:"claims,omitempty" schema:"{'type':['object','null'],'additionalProperties':true}" doc:"A merge patch of the claims: null takes a member away, or all of them."`
}

// RotateBody is the body of a key's _rotate.
type RotateBody struct {
	Overlap *Duration `json:"overlap,omitempty" default:"24h" doc:"A time with its unit, such as 24h: from 0s to 720h."`
}

// GroupSettings are what a consumer group is made with. Zero values stand for the defaults.
type GroupSettings struct {
	Partitions  int      `json:"partitions,omitempty" minimum:"1" maximum:"1000" default:"16" doc:"Into which the documents are divided, for ever."`
	Since       string   `json:"since,omitempty" default:"0" doc:"Where the group begins: a position, 0, now or an RFC 3339 time. It cannot change."`
	Mode        string   `json:"mode,omitempty" default:"all" enum:"all|latest" doc:"all: every change, the default here, because a group mostly shares work that each change asks for. latest: of each document its newest, the default of /v1/_changes."`
	View        string   `json:"view,omitempty" default:"embedded" enum:"embedded|referenced" doc:"Of doc, previous and the filter's."`
	Derived     string   `json:"derived,omitempty" default:"include" enum:"include|exclude" doc:"exclude: no derived changes."`
	Cascades    string   `json:"cascades,omitempty" default:"include" enum:"include|exclude" doc:"exclude: no deletes and patches that the delete of another document brought with it, by the delete policies of relations."`
	Collections []string `json:"collections,omitempty" maxItems:"100" items:"CollectionName" doc:"Only these; none for all."`
	Filter      string   `json:"filter,omitempty" maxLength:"1024" doc:"Only changes of which this CEL expression is true, and those by which a document ceases to match (leave), as the parameter of /v1/_changes."`
	Lease       Duration `json:"lease,omitempty" default:"30s" doc:"How long a lease lasts without being renewed, as 30s or 2m: from 1s to 1h."`
	MaxAttempts int      `json:"maxAttempts,omitempty" minimum:"1" maximum:"1000" default:"5" doc:"After which a batch that fails is parked."`
	Role        string   `json:"role,omitempty" pattern:"^[a-z][a-z0-9_-]*$" maxLength:"64" default:"admin" doc:"A role that the maker has. The group's changes are those that this role alone reads, and who has the role may be a member. Without it a new group has the role admin, and one that is there keeps its own."`
	Push        *Push    `json:"push,omitempty" doc:"Where the group's batches are posted. Without it that stays as it is; an empty url ends the posts. No answer has it: see push beside settings."`
}

// Push says where the batches of a group are posted.
type Push struct {
	URL     string            `json:"url" maxLength:"2048" doc:"An https URL without a user and a fragment; http for networks that the operator allows. An empty one ends the posts."`
	Secret  string            `json:"secret,omitempty" minLength:"38" maxLength:"94" doc:"whsec_ and 24 to 64 bytes in standard encoding, by which posts are signed. Without it the group keeps its own, and a new one gets one that the answer has, once."`
	Headers map[string]string `json:"headers,omitempty" maxProperties:"16" doc:"Further headers of each post, 4096 bytes in all, such as Authorization. No answer has their values."`
}

// PushSecret is the answer with a secret that the server has made. No other answer has it.
type PushSecret struct {
	Secret  string `json:"secret" doc:"By which posts are signed; the receiver needs it."`
	Created bool   `json:"created,omitempty" doc:"The group is new."`
}

// PushState tells where the batches of a group are posted.
type PushState struct {
	URL     string    `json:"url"`
	Headers []string  `json:"headers,omitempty" doc:"The names of further headers."`
	Former  time.Time `json:"former,omitzero" doc:"Until when posts have a signature by the former secret, too."`
}

// PushAnswer tells of the last post.
type PushAnswer struct {
	Outcome string    `json:"outcome" enum:"delivered|answered|redirected|timeout|forbidden|untrusted|unreachable|too-large" doc:"delivered: 2xx. answered: another status. redirected: 3xx, which nobody follows. forbidden: the URL leads to private addresses, or has no TLS. untrusted: TLS failed. too-large: one change is larger than a post may be."`
	Status  int       `json:"status,omitempty" doc:"Of the answer; absent without one."`
	Time    time.Time `json:"time"`
}

// GroupSummary is a consumer group in a list.
type GroupSummary struct {
	Name     string        `json:"name"`
	Settings GroupSettings `json:"settings"`
	Push     *PushState    `json:"push,omitempty" doc:"Where its batches are posted; absent where they are not."`
	Created  time.Time     `json:"created" doc:"When the group was made."`
	ID       string        `json:"-"` // tells the group from others to those who may not know its name
}

// Group describes a consumer group.
type Group struct {
	GroupSummary
	Lag        GroupLag         `json:"lag"` // of all partitions: the sum of the changes, and the longest time
	Members    []GroupMember    `json:"members"`
	Partitions []GroupPartition `json:"partitions"`
}

// GroupLag says how much is left after a checkpoint. A member that is nil is not known.
type GroupLag struct {
	Changes *int64   `json:"changes,omitempty" doc:"That are still to be given. Absent where more than 20,000 changes of all kinds are behind the checkpoint, or the group has a filter."`
	Seconds *float64 `json:"seconds,omitempty" doc:"Since the oldest of them was made; 0 for none. Absent where changes is."`
	Most    *int64   `json:"most,omitempty" doc:"Changes of all kinds behind the checkpoint: the lag is not larger. Absent where changes is there, or the checkpoint is before the oldest position."`
}

// GroupMember describes a member of a group.
type GroupMember struct {
	Member  string    `json:"member"`
	Expires time.Time `json:"expires" doc:"When it is no member any more, unless it asks for leases again."`
	Max     int       `json:"max,omitempty" minimum:"1" doc:"The most partitions that it wants."`
}

// GroupPartition describes a partition of a group.
type GroupPartition struct {
	Partition  int         `json:"partition"`
	Owner      string      `json:"owner,omitempty" doc:"The member that has the lease; absent for none."`
	Expires    time.Time   `json:"expires,omitzero" doc:"When the lease ends."`
	Checkpoint string      `json:"checkpoint" ref:"Position" doc:"Everything up to it is acknowledged or parked."`
	Lag        GroupLag    `json:"lag"`
	Attempts   int         `json:"attempts" doc:"That failed since the checkpoint moved."`
	Error      string      `json:"error,omitempty" doc:"Of the last one."`
	NotBefore  time.Time   `json:"notBefore,omitzero" doc:"When the batch comes again."`
	Parked     int         `json:"parked" doc:"Batches."`
	Answer     *PushAnswer `json:"answer,omitempty" doc:"To the last post of a batch; absent for none."`
	Gone       bool        `json:"gone,omitempty" doc:"Changes behind the checkpoint are no longer kept: reading is a 410 until the group is reset. Absent where they are."`
}

// GroupList is the answer with all groups.
type GroupList struct {
	Groups []GroupSummary `json:"groups"`
}

// Lease is what a member holds: the right to read a partition and to acknowledge, for as long as the partition has the token.
type Lease struct {
	Partition  int       `json:"partition"`
	Token      string    `json:"token" doc:"Its first number grows with every lease of the partition, so that whatever the member writes to can refuse an older owner."`
	Checkpoint string    `json:"checkpoint" ref:"Position" doc:"From where _changes gives."`
	Expires    time.Time `json:"expires" doc:"When others may take the partition."`
}

// LeaseList is the answer with a member's leases.
type LeaseList struct {
	Leases []Lease `json:"leases"`
}

// Failure is what the group knows of a batch that failed too often, besides its place.
type Failure struct {
	Attempts int       `json:"attempts" doc:"attempts, error, time and member are absent of a batch that was parked before the store was restored: a backup does not have them."`
	Error    string    `json:"error"`
	Time     time.Time `json:"time" doc:"When it was parked, or failed again."`
	Member   string    `json:"member,omitempty" doc:"Under which it failed."`
}

// ParkedBatch is a batch that failed too often.
type ParkedBatch struct {
	ID        string `json:"id"`
	Partition int    `json:"partition"`
	From      string `json:"from" ref:"Position" doc:"The batch is behind it."`
	To        string `json:"to" ref:"Position" doc:"And up to it."`
	*Failure         // nil since a restore: a backup has the batch alone
	Retry     bool   `json:"retry" doc:"It is to be given again."`
}

// ParkedList is the answer with the parked batches of a group.
type ParkedList struct {
	Parked []ParkedBatch `json:"parked"`
}
