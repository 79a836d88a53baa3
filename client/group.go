package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// GroupSettings are what a consumer group is made with. Zero values stand for the server's defaults.
type GroupSettings struct {
	Partitions  int // among which the documents are divided; cannot be changed later; default 16
	Since       string
	Mode        string // All (default) or Latest
	View        string // of the documents: embedded (default), or referenced, as they were written
	Derived     string // include (default) derived changes, or exclude them
	Cascades    string // include (default) the writes that a delete brought with it by the delete policies, or exclude them
	Collections []string
	Filter      string        // only changes for which this CEL expression is true, and changes by which a document leaves; "" for all
	Lease       time.Duration // how long a member that says nothing keeps a partition; default 30 s
	MaxAttempts int           // after which a batch that fails is parked; default 5
	Role        string        // whose members have the group, and which changes they get; default admin, and of a group that is there its own
	Push        *Push         // where its batches are posted; nil for nowhere, and in what Group returns
}

// Push says where the batches of a group are posted. PutGroup sets Secret to one that the server has made.
type Push = wire.Push

// PushState tells where the batches of a group are posted.
type PushState = wire.PushState

// Group describes a consumer group.
type Group struct {
	Name       string
	Settings   GroupSettings
	Push       *PushState // nil where nothing is posted
	Lag        Lag
	Partitions []GroupPartition
	Raw        json.RawMessage // all of the server's answer
}

// Lag says how much follows a checkpoint; nil is not known.
type Lag = wire.GroupLag

// GroupPartition describes one partition of a group.
type GroupPartition = wire.GroupPartition

// ParkedBatch is a batch that failed too often. The group went on after it. Attempts, Error, Time and Member tell of the last failure.
// They have no value if the batch was parked before a restore.
type ParkedBatch = wire.ParkedBatch

// groupPath returns the path of a group, or of what is below it.
func groupPath(name string, below ...string) string {
	path := "/v1/_groups/" + url.PathEscape(name)
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// groupRequest returns a request about groups with a JSON body, nil for none. All of them may be sent again: to make a group,
// to renew a lease, or to acknowledge a second time changes nothing.
func groupRequest(method, path string, body any) (*request, error) {
	r, err := jsonRequest(method, path, body)
	r.repeatable = true
	return r, err
}

// sendAlone sends a request about groups whose answer has no body.
func (c *Client) sendAlone(ctx context.Context, method, path string, body any) error {
	r, err := groupRequest(method, path, body)
	if err == nil {
		_, err = c.send(ctx, r)
	}
	return err
}

// PutGroup makes a consumer group, or changes the settings of one, and tells whether it was made. The error is Conflict where
// that cannot be changed. Without s.Push the posts of one that is there stay as they are; an empty URL ends them. A group without push and without a secret for it gets one, which is in s.Push afterwards, and nowhere else.
func (c *Client) PutGroup(ctx context.Context, name string, s GroupSettings) (created bool, err error) {
	settings := wire.GroupSettings{Partitions: s.Partitions, Since: s.Since, Mode: s.Mode, View: s.View, Derived: s.Derived, Cascades: s.Cascades,
		Collections: s.Collections, Filter: s.Filter, Lease: wire.Duration(s.Lease), MaxAttempts: s.MaxAttempts, Role: s.Role, Push: s.Push}
	r, err := groupRequest(http.MethodPut, groupPath(name), settings)
	if err != nil {
		return false, err
	}
	a, err := c.send(ctx, r)
	if err != nil || a.status != http.StatusOK {
		return err == nil && a.status == http.StatusCreated, err
	}
	var made wire.PushSecret
	if err := decode(a.body, &made); err != nil {
		return false, err
	}
	s.Push.Secret = made.Secret
	return made.Created, nil
}

// RotatePush gives the posts of a group a new secret, which it returns; nobody can have it later. Posts have a signature by the one
// before, too, for overlap. Errors are NotFound, and Conflict for a group without push.
func RotatePush(ctx context.Context, c *Client, name string, overlap time.Duration) (secret string, err error) {
	within := wire.Duration(overlap)
	r, err := jsonRequest(http.MethodPost, groupPath(name, "_rotate"), wire.RotateBody{Overlap: &within})
	if err != nil {
		return "", err
	}
	var made wire.PushSecret
	err = c.sendJSON(ctx, r, &made)
	return made.Secret, err
}

// Group describes a group. The error is NotFound.
func (c *Client) Group(ctx context.Context, name string) (*Group, error) {
	a, err := c.send(ctx, newRequest(http.MethodGet, groupPath(name)))
	if err != nil {
		return nil, err
	}
	var in wire.Group
	if err := decode(a.body, &in); err != nil {
		return nil, err
	}
	set := in.Settings
	return &Group{Name: in.Name, Push: in.Push, Lag: in.Lag, Partitions: in.Partitions, Raw: a.body,
		Settings: GroupSettings{set.Partitions, set.Since, set.Mode, set.View, set.Derived, set.Cascades, set.Collections, set.Filter, time.Duration(set.Lease), set.MaxAttempts, set.Role, nil}}, nil
}

// GroupList has the names of groups.
type GroupList struct {
	Names []string
	Raw   json.RawMessage // all of the server's answer
}

// Groups returns the groups whose role one has.
func (c *Client) Groups(ctx context.Context) (*GroupList, error) {
	a, err := c.send(ctx, newRequest(http.MethodGet, "/v1/_groups"))
	if err != nil {
		return nil, err
	}
	var in wire.GroupList
	if err := decode(a.body, &in); err != nil {
		return nil, err
	}
	list := &GroupList{Raw: a.body}
	for _, g := range in.Groups {
		list.Names = append(list.Names, g.Name)
	}
	return list, nil
}

// DeleteGroup deletes a group with its checkpoints and parked batches. Its members lose their leases. The error is NotFound.
func (c *Client) DeleteGroup(ctx context.Context, name string) error {
	err := c.sendAlone(ctx, http.MethodDelete, groupPath(name), nil)
	return err
}

// ResetGroup makes a group go on after a position, from 0, from now, or from an RFC 3339 time. While members hold leases it
// needs force, by which they lose them; the error is Conflict without it.
func (c *Client) ResetGroup(ctx context.Context, name, to string, force bool) error {
	err := c.sendAlone(ctx, http.MethodPost, groupPath(name, "_reset"), wire.ResetBody{To: to, Force: force})
	return err
}

// ParkedList has the parked batches of a group.
type ParkedList struct {
	Parked []ParkedBatch
	Raw    json.RawMessage `json:"-"` // all of the server's answer
}

// Parked returns the parked batches of a group. The error is NotFound.
func (c *Client) Parked(ctx context.Context, name string) (*ParkedList, error) {
	a, err := c.send(ctx, newRequest(http.MethodGet, groupPath(name, "_parked")))
	if err != nil {
		return nil, err
	}
	var in wire.ParkedList
	if err := decode(a.body, &in); err != nil {
		return nil, err
	}
	for i := range in.Parked {
		if in.Parked[i].Failure == nil { // its fields are read also where the server says nothing of it
			in.Parked[i].Failure = &wire.Failure{}
		}
	}
	return &ParkedList{Parked: in.Parked, Raw: a.body}, nil
}

// RetryParked has a parked batch given to the owner of its partition once more. The error is NotFound.
func (c *Client) RetryParked(ctx context.Context, name, id string) error {
	err := c.sendAlone(ctx, http.MethodPost, groupPath(name, "_parked", id, "_retry"), nil)
	return err
}

// DropParked takes a parked batch off the list for good. The error is NotFound.
func (c *Client) DropParked(ctx context.Context, name, id string) error {
	err := c.sendAlone(ctx, http.MethodDelete, groupPath(name, "_parked", id), nil)
	return err
}
