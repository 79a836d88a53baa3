package sqlite

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// TestKeyFrames: however a document's changes come, key frames are about as frequent as they are meant to be, and none is
// far from the next.
func TestKeyFrames(t *testing.T) {
	for _, length := range []int{500, 20_000, 500_000, 5_000_000} {
		every := 0
		for _, step := range frameSteps {
			if every == 0 && length < step.below {
				every = step.every
			}
		}
		for _, number := range []int64{1, 77, 1 << 40} {
			for _, stride := range []uint64{1, 2, 3, 7, 64, 1000, 4096, 1 << 16} {
				n, gap, longest := 0, 0, 0
				const changes = 100_000
				for i := uint64(0); i < changes; i++ {
					gap++
					if IsKeyFrame(number, fanfold.At(12345+i*stride, 0), length) {
						n, gap = n+1, 0
					}
					longest = max(longest, gap)
				}
				if n < changes/every/2 || n > changes/every*2 || longest > 40*every {
					t.Errorf("%d bytes, number %d, stride %d: %d key frames, and %d changes without", length, number, stride, n, longest)
				}
			}
		}
	}
}

// TestKeyFramesInSQL: SQLite finds the same key frames.
func TestKeyFramesInSQL(t *testing.T) {
	store := openInternal(t)
	if err := store.Use(func(db *DB) error {
		return db.file.WithReader(func(c *driver.Conn) error {
			for i := range 1000 {
				number, at, body := int64(i)*7919, fanfold.At(uint64(i)*uint64(i)*uint64(i)*64, i), strings.Repeat("ü", []int{0, 2047, 2048, 40_000, 600_000}[i%5])
				var got bool
				if _, err := c.QueryRow("SELECT "+isKeyFrameSQL+" FROM (SELECT ? AS number, ? AS position, ? AS body) d", func(r driver.Row) { got = r.Int(0) == 1 }, number, int64(at), body); err != nil {
					return err
				}
				if want := IsKeyFrame(number, at, len(body)); got != want {
					t.Fatalf("number %d, position %s, %d bytes: %v, want %v", number, at, len(body), got, want)
				}
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
}
