package api

import (
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
)

// Bounds of what a comparison of two states keeps for its next pages.
const (
	maxFoundKeys  = 100_000
	maxFoundBytes = 8 << 20 // of keys, enough for a page of the longest
	maxFounds     = 4
	foundTime     = time.Minute // after the last page
)

// comparison tells apart what documents are looked for. Which ones they are stays the same, in each read model of the log.
type comparison struct {
	first, last fanfold.Position
	direct      bool
	collections string // separated by commas, "" for all
	rights      string // their shape
}

// foundKeys are the keys of a comparison that follow one, in order. If they are cut, others follow the last.
type foundKeys struct {
	of    comparison
	after fanfold.Key
	keys  []fanfold.Key
	bytes int // of the keys
	cut   bool
	end   fanfold.Key // the last one of the last cut
	timer *time.Timer
}

// add adds a key, at any place and any number of times. It forgets the last ones where there are too many.
func (f *foundKeys) add(key fanfold.Key) {
	if key.Compare(f.after) <= 0 || f.cut && key.Compare(f.end) > 0 {
		return
	}
	f.keys, f.bytes = append(f.keys, key), f.bytes+len(key.Collection)+len(key.ID)
	if len(f.keys) >= 2*maxFoundKeys || f.bytes >= 2*maxFoundBytes {
		f.settle()
	}
}

// settle puts the keys in order, and cuts them. Call it after the last add.
func (f *foundKeys) settle() {
	slices.SortFunc(f.keys, fanfold.Key.Compare)
	f.keys, f.bytes = slices.Compact(f.keys), 0
	for i, key := range f.keys {
		size := len(key.Collection) + len(key.ID)
		if i == maxFoundKeys || f.bytes+size > maxFoundBytes {
			f.keys, f.cut, f.end = f.keys[:i], true, f.keys[i-1]
			break
		}
		f.bytes += size
	}
	f.keys = slices.Clone(f.keys)
}

// page returns up to limit keys after one, and whether others follow. It is not ok where these keys do not tell.
func (f *foundKeys) page(after fanfold.Key, limit int) (keys []fanfold.Key, more, ok bool) {
	i, found := slices.BinarySearchFunc(f.keys, after, fanfold.Key.Compare)
	if found {
		i++
	}
	keys = f.keys[i:]
	more = len(keys) > limit
	return keys[:min(limit, len(keys))], more, after.Compare(f.after) >= 0 && (more || !f.cut)
}

// founds keeps what the last comparisons have found, so that a next page need not look for it again.
type founds struct {
	mu   sync.Mutex
	kept []*foundKeys // the last used at the end
}

// page does what foundKeys.page does, with what is kept of a comparison.
func (fs *founds) page(of comparison, after fanfold.Key, limit int) (keys []fanfold.Key, more, ok bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	i := slices.IndexFunc(fs.kept, func(f *foundKeys) bool { return f.of == of })
	if i < 0 {
		return nil, false, false
	}
	f := fs.kept[i]
	if keys, more, ok = f.page(after, limit); ok {
		fs.kept = append(slices.Delete(fs.kept, i, i+1), f)
		f.timer.Reset(foundTime)
	}
	return keys, more, ok
}

// keep keeps what a comparison has found for a while, in place of what it had found before.
func (fs *founds) keep(f *foundKeys) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	i := slices.IndexFunc(fs.kept, func(other *foundKeys) bool { return other.of == f.of })
	if i < 0 && len(fs.kept) == maxFounds {
		i = 0
	}
	if i >= 0 {
		fs.kept[i].timer.Stop()
		fs.kept = slices.Delete(fs.kept, i, i+1)
	}
	f.timer = time.AfterFunc(foundTime, func() { fs.drop(f) })
	fs.kept = append(fs.kept, f)
}

// drop forgets what a comparison has found.
func (fs *founds) drop(f *foundKeys) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.kept = slices.DeleteFunc(fs.kept, func(other *foundKeys) bool { return other == f })
}
