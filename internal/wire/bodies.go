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
	Max    *int   `json:"max,omitempty" minimum:"1" maximum:"1000" doc:"The most partitions that it wants; without it, its whole share."`
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

// ReleaseBody is the body of a group's _release: a member, or a partition with its token or its member.
type ReleaseBody struct {
	Member    string `json:"member,omitempty"`
	Partition *int   `json:"partition,omitempty" minimum:"0"`
	Token     string `json:"token,omitempty"`
}

// ResetBody is the body of a group's _reset.
type ResetBody struct {
	To    string `json:"to" doc:"A position, 0, now or an RFC 3339 time."`
	Force bool   `json:"force,omitempty" default:"false" doc:"Also while leases are held, which end."`
}

// NewKeyBody is the body of a request that makes a key.
type NewKeyBody struct {
	Name    string          `json:"name" ref:"KeyName"`
	Roles   []string        `json:"roles" ref:"KeyRoles"`
	Expires json.RawMessage `json:"expires,omitempty" schema:"{'type':'string','format':'date-time'}" doc:"When it ends: within ten years; absent for never."`
}

// KeyPatchBody is the merge patch of a key.
type KeyPatchBody struct {
	Name    *string         `json:"name,omitempty" ref:"KeyName"`
	Roles   *[]string       `json:"roles,omitempty" ref:"KeyRoles"`
	Expires json.RawMessage `json:"expires,omitempty" schema:"{'type':['string','null'],'format':'date-time'}" doc:"null for never."`
}

// RotateBody is the body of a key's _rotate.
type RotateBody struct {
	Overlap *Duration `json:"overlap,omitempty" default:"24h" doc:"A time with its unit, such as 24h: from 0s to 720h."`
}
