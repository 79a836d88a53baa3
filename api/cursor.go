package api

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold"
)

// maxCursor bounds a cursor, in bytes: the names of a list and the id after which it goes on take less.
const maxCursor = 2048

// makeCursor returns the cursor with which the list named scope goes on after a place. It has the list's name and a
// checksum. So a cursor that was made up or belongs to another list is recognized.
func makeCursor(scope, place string) string {
	text := scope + "\x00" + place
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text))), text...))
}

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
