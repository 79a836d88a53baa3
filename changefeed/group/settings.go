package group

import (
	"regexp"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// Bounds of groups.
const (
	MaxGroups      = 1000 // of a database; nodes that make groups at the same moment may pass it by some
	MaxOfMaker     = 100  // groups of a maker who is no administrator
	MaxPartitions  = 1000 // of a group
	MaxMembers     = 256  // of a group at a time
	MaxName        = 64   // bytes of a group's name
	MaxMember      = 128  // bytes of a member's name
	MaxCollections = 100  // in a group's settings
	MaxAttempts    = 1000 // that settings may ask for
	MaxErrorBytes  = 2000 // of an error that is kept
	MaxPushed      = 64   // partitions of a group whose batches are posted

	MinLease = time.Second
	MaxLease = time.Hour
)

// Settings are what a group is made with. Zero values stand for the defaults.
type Settings wire.GroupSettings

// Duration is a time.Duration that JSON has as a text such as "30s".
type Duration = wire.Duration

// setDefaults replaces zero values by their defaults.
func (s *Settings) setDefaults() {
	if s.Partitions == 0 {
		s.Partitions = 16
	}
	if s.Since == "" {
		s.Since = "0"
	}
	if s.Mode == "" {
		s.Mode = "all"
	}
	if s.View == "" {
		s.View = "embedded"
	}
	if s.Derived == "" {
		s.Derived = "include"
	}
	if s.Cascades == "" {
		s.Cascades = "include"
	}
	if s.Lease == 0 {
		s.Lease = Duration(30 * time.Second)
	}
	if s.MaxAttempts == 0 {
		s.MaxAttempts = 5
	}
	if s.Role == "" {
		s.Role = model.RoleAdmin
	}
}

// check returns Invalid where a value is out of its bounds. It lists all of them.
func (s *Settings) check() error {
	e := fanfold.Errorf(fanfold.Invalid, "the group's settings are not taken")
	wrong := func(bad bool, member, detail string) {
		if bad {
			e.Problems = append(e.Problems, fanfold.Problem{Path: "/" + member, Detail: detail})
		}
	}
	lease := time.Duration(s.Lease)
	wrong(s.Partitions < 1 || s.Partitions > MaxPartitions, "partitions", "must be from 1 to 1000")
	wrong(s.Mode != "all" && s.Mode != "latest", "mode", "must be all or latest")
	wrong(s.View != "embedded" && s.View != "referenced", "view", "must be embedded or referenced")
	wrong(s.Derived != "include" && s.Derived != "exclude", "derived", "must be include or exclude")
	wrong(s.Cascades != "include" && s.Cascades != "exclude", "cascades", "must be include or exclude")
	wrong(lease < MinLease || lease > MaxLease, "lease", "must be from 1s to 1h")
	wrong(s.MaxAttempts < 1 || s.MaxAttempts > MaxAttempts, "maxAttempts", "must be from 1 to 1000")
	wrong(len(s.Collections) > MaxCollections, "collections", "must be at most 100")
	wrong(!model.IsRole(s.Role), "role", "must be [a-z][a-z0-9_-]*, at most 64 bytes")
	if s.Push != nil {
		wrong(s.Partitions > MaxPushed, "partitions", "must be at most 64, for the group has push")
		checkPush(s.Push, wrong)
	}
	wrong(len(s.Since) > 100, "since", "must be a position, 0, now or an RFC 3339 time")
	for i, c := range s.Collections {
		if i < MaxCollections && fanfold.CheckCollection(c) != nil {
			wrong(true, "collections", "must be names of collections")
			break
		}
	}
	if len(e.Problems) > 0 {
		return e
	}
	return nil
}

// selection returns which changes the group has.
func (s *Settings) selection() changefeed.Selection {
	out := changefeed.Selection{Collections: s.Collections, AllChanges: s.Mode == "all", Direct: s.Derived == "exclude", NoCascades: s.Cascades == "exclude", Filter: s.Filter}
	if s.View == "referenced" {
		out.View = fanfold.Referenced
	}
	return out
}

// query returns the query for the changes after a position that the group is given.
func (s *Settings) query(after fanfold.Position) fanfold.ChangeQuery {
	return fanfold.ChangeQuery{After: after, Latest: s.Mode == "latest", Collections: s.Collections, Direct: s.Derived == "exclude", NoCascades: s.Cascades == "exclude"}
}

// equal reports whether two settings ask for the same, but for push.
func (s *Settings) equal(o *Settings) bool {
	return s.Partitions == o.Partitions && s.Since == o.Since && s.Mode == o.Mode && s.View == o.View && s.Derived == o.Derived && s.Cascades == o.Cascades &&
		s.Filter == o.Filter && s.Lease == o.Lease && s.MaxAttempts == o.MaxAttempts && s.Role == o.Role && slices.Equal(s.Collections, o.Collections)
}

var (
	nameRE   = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	memberRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@+-]*$`)
)

// checkName returns Invalid unless name can name a group.
func checkName(name string) error {
	if len(name) > MaxName || !nameRE.MatchString(name) {
		return fanfold.Errorf(fanfold.Invalid, "this cannot name a group: use [a-z][a-z0-9_-]*, at most %d bytes", MaxName)
	}
	return nil
}

// checkMember returns Invalid unless name can name a member.
func checkMember(name string) error {
	if len(name) > MaxMember || !memberRE.MatchString(name) {
		return fanfold.Errorf(fanfold.Invalid, "this cannot name a member: use letters, digits and ._:@+-, a letter or digit first, at most %d bytes", MaxMember)
	}
	return nil
}
