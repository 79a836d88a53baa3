package api

import (
	"net/url"
	"strings"
)

// maxParts bounds the parts of a path after /v1/ that are looked at. No route has more.
const maxParts = 6

// isOwn tells whether the parts of a path have names that are the store's own, escaped or not, where no document's id stands.
func isOwn(parts []string) bool {
	begins := func(part string) bool {
		if name, err := url.PathUnescape(part); err == nil {
			part = name
		}
		return strings.HasPrefix(part, "_")
	}
	return begins(parts[0]) || len(parts) > 2 && begins(parts[2])
}

// takesPart tells whether a part of a route's path, a name or a parameter, takes a part of a request's path.
func takesPart(have, part string) bool {
	if have == ":collection" {
		return !isOwn([]string{part})
	}
	return have == part || strings.HasPrefix(have, ":") && part != ""
}
