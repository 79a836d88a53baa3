package api

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/view"
)

// maxCursor bounds a cursor, in bytes: the names of a list and the id after which it goes on take less.
const maxCursor = 2048

// makeCursor returns the cursor with which the list named scope goes on after a place. It has the list's name and a
// checksum. So a cursor that was made up or belongs to another list is recognized.
func makeCursor(scope, place string) string {
	text := scope + "\x00" + place
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text))), text...))
}

// nextCursor is makeCursor for who sees the documents of a seal alone, or all of them where it is nil: the place may be at one that is not seen.
func nextCursor(seal *access.Seal, scope, place string) string {
	cursor := makeCursor(scope, place)
	if seal == nil {
		return cursor
	}
	return base64.RawURLEncoding.EncodeToString(seal.Seal([]byte(cursor)))
}

// cursorOf returns the parameter cursor of a list of a collection's documents as makeCursor made it, "" where there is none. The error is Invalid where
// the cursor was not given to who sees the same documents.
func cursorOf(c echo.Context, v view.View, collection string) (string, error) {
	given := c.QueryParam("cursor")
	seal, err := v.Seal(collection)
	if given == "" || seal == nil || err != nil {
		return given, err
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(given)
	if err != nil || len(given) > maxSealedCursor {
		return "", badCursor(fanfold.Clip(given))
	}
	cursor, ok := seal.Open(raw)
	if !ok {
		return "", badCursor(fanfold.Clip(given))
	}
	return string(cursor), nil
}

// maxSealedCursor bounds a sealed cursor, in bytes.
const maxSealedCursor = 2 * maxCursor

// decodeCursor returns the name of a cursor's list and the place in it. ok is false for what no list gave.
func decodeCursor(cursor string) (list, place string, ok bool) {
	if len(cursor) > maxCursor {
		return "", "", false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < 4 || binary.BigEndian.Uint32(raw) != crc32.ChecksumIEEE(raw[4:]) || !utf8.Valid(raw[4:]) {
		return "", "", false
	}
	return strings.Cut(string(raw[4:]), "\x00")
}

// parseCursor returns the place in a cursor of the list named scope. The error is Invalid.
func parseCursor(scope, cursor string) (place string, err error) {
	list, place, ok := decodeCursor(cursor)
	switch {
	case !ok || list == scope && place == "":
		return "", badCursor(fanfold.Clip(cursor))
	case list != scope:
		return "", fanfold.Errorf(fanfold.Invalid, "the cursor belongs to the list of %s, not to that of %s: begin this one without a cursor", list, scope)
	}
	return place, nil
}

// badCursor returns the Invalid of a cursor that no list gave.
func badCursor(cursor string) error {
	return fanfold.Errorf(fanfold.Invalid, "cursor=%s is not one that a list's \"next\" gave", cursor)
}
