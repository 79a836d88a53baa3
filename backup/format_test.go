package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files of the latest version anew")

// golden is a backup as a version of the format has it, in testdata.
type golden struct {
	dir   string
	first uint64
	base  *Base
	file  []byte // of the base

	erasure uint64
}

// goldens returns the golden backups.
func goldens() []golden {
	base, file := testBase(2)
	return []golden{{dir: "testdata/backup-v1", first: 1}, {"testdata/backup-v2", 3, base, file, 0}, {"testdata/backup-v3", 3, base, file, 5}}
}

// manifest is what a golden manifest says besides what follows from the events.
func (g *golden) manifest() Manifest {
	return Manifest{Store: testStore, Fold: 8, PositionTime: event(3).Time, Base: g.base, Erasure: g.erasure,
		Groups: []Group{{Name: "mail", Settings: json.RawMessage(`{"partitions":16,"filter":"a < b && c > d"}`), Created: made, Start: fanfold.At(1, 2), Fold: 8,
			Partitions: []Checkpoint{{Partition: 3, Checkpoint: fanfold.At(2, 5), Fold: 8, Parked: []Parked{{From: fanfold.At(1, 0), To: fanfold.At(1, 3)}}}}}},
		Predecessors: fanfold.Origin{{Store: "aaaaaaaa", Last: 2}}}
}

// write writes the backup anew.
func (g *golden) write() error {
	var out bytes.Buffer
	s, err := NewStream(&out, pointAt(g.first-1), made)
	if err == nil && g.base != nil {
		err = s.WriteBase(g.base, writes(g.file))
	}
	for seq := g.first; err == nil && seq <= 7; seq++ {
		err = s.Add(event(seq))
	}
	if err == nil {
		err = s.Finish(g.manifest())
	}
	if err == nil {
		err = os.RemoveAll(g.dir)
	}
	if err == nil {
		err = Unpack(&out, g.dir)
	}
	return err
}

// TestGoldenBackup: a backup of each version of the format is read, and what this program writes has its records and its manifest. The compressed
// bytes may change with the compressor.
func TestGoldenBackup(t *testing.T) {
	for version, g := range goldens() {
		if *rewrite && version+1 == FormatVersion {
			if err := g.write(); err != nil {
				t.Fatal(err)
			}
		}
		requireEvents(t, g.dir, g.first-1, 7)
		if g.base != nil {
			requireBase(t, g.dir, g.base.Seq)
		}
		b, err := Open(g.dir)
		if err != nil {
			t.Fatal(err)
		}
		want := g.manifest()
		want.Format, want.Position, want.Digest, want.Time, want.Segments = version+1, 7, digestUpTo(7), made, b.Segments
		text, err := want.encode()
		golden, readErr := os.ReadFile(filepath.Join(g.dir, manifestFile))
		if err != nil || readErr != nil || !bytes.Equal(text, golden) {
			t.Errorf("the manifest is\n%s\nwant\n%s\n%v %v", text, golden, err, readErr)
		}
		g.requireRecords(t, b)
	}
}

// requireRecords requires that the backup has the records that this program writes.
func (g *golden) requireRecords(t *testing.T, b *Backup) {
	t.Helper()
	var records []byte
	var prev uint64
	var nanos int64
	for seq := g.first; seq <= 7; seq++ {
		records = appendEvent(records, event(seq), prev, nanos)
		prev, nanos = seq, event(seq).Time.UnixNano()
	}
	o, err := newOpener(pointAt(g.first - 1))
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	file, err := b.read(&b.Segments[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := o.check(file, &b.Segments[0], func(*Event) error { return nil }); err != nil || !bytes.Equal(o.space, records) {
		t.Errorf("the records are %q, want %q: %v", records, o.space, err)
	}
}

// TestUnknownVersions: a later format is refused by its version.
func TestUnknownVersions(t *testing.T) {
	dir := unpack(t, bytes.NewReader(stream(t, 0, 10, made)))
	path := filepath.Join(dir, manifestFile)
	if err := os.WriteFile(path, []byte(`{"format":4,"more":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir)
	requireDamage(t, err, "version 4")
	o, err := newOpener(Point{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	_, err = o.read("a", []byte(magic[:len(magic)-1]+"\x02"), nil)
	requireDamage(t, err, "version 2")
}

// damage changes something of a backup.
type damage struct {
	name string
	do   func(t *testing.T, r *rand.Rand, dir string, segments []string)
}

// damages are the damages of TestRandomDamagesToBackups. other is a backup of the same store that went another way, and older one of the same log.
func damages(other, older string) []damage {
	some := func(r *rand.Rand, names []string) string { return names[r.Intn(len(names))] }
	all := func(names []string) []string { return append([]string{manifestFile}, names...) }
	return []damage{
		{"a bit", func(t *testing.T, r *rand.Rand, dir string, segments []string) {
			edit(t, filepath.Join(dir, some(r, all(segments))), func(b []byte) []byte { b[r.Intn(len(b))] ^= 1 << r.Intn(8); return b })
		}},
		{"a byte", func(t *testing.T, r *rand.Rand, dir string, segments []string) {
			edit(t, filepath.Join(dir, some(r, all(segments))), func(b []byte) []byte { b[r.Intn(len(b))] = byte(r.Int()); return b })
		}},
		{"a cut", func(t *testing.T, r *rand.Rand, dir string, segments []string) {
			edit(t, filepath.Join(dir, some(r, all(segments))), func(b []byte) []byte { return b[:r.Intn(len(b))] })
		}},
		{"more bytes", func(t *testing.T, r *rand.Rand, dir string, segments []string) {
			edit(t, filepath.Join(dir, some(r, all(segments))), func(b []byte) []byte { return append(b, b[r.Intn(len(b)):]...) })
		}},
		{"a missing file", func(t *testing.T, r *rand.Rand, dir string, segments []string) {
			if err := os.Remove(filepath.Join(dir, some(r, all(segments)))); err != nil {
				t.Fatal(err)
			}
		}},
		{"a segment in another's place", func(t *testing.T, r *rand.Rand, dir string, segments []string) {
			copyFile(t, filepath.Join(dir, some(r, segments)), filepath.Join(dir, some(r, segments)))
		}},
		{"another log's segment", func(t *testing.T, r *rand.Rand, dir string, segments []string) {
			theirs := segmentsIn(t, other)
			n := r.Intn(min(len(segments), len(theirs)))
			copyFile(t, filepath.Join(other, theirs[n]), filepath.Join(dir, segments[n]))
		}},
		{"another log's manifest", func(t *testing.T, _ *rand.Rand, dir string, _ []string) {
			copyFile(t, filepath.Join(other, manifestFile), filepath.Join(dir, manifestFile))
		}},
		{"an older manifest", func(t *testing.T, _ *rand.Rand, dir string, _ []string) {
			copyFile(t, filepath.Join(older, manifestFile), filepath.Join(dir, manifestFile))
		}},
		{"a manifest that lacks a segment, or has one twice", func(t *testing.T, r *rand.Rand, dir string, _ []string) {
			forge(t, dir, func(m *Manifest) {
				n := r.Intn(len(m.Segments))
				if r.Intn(2) == 0 {
					m.Segments = append(m.Segments[:n:n], m.Segments[n+1:]...)
					return
				}
				m.Segments = append(m.Segments[:n+1:n+1], m.Segments[n:]...)
			})
		}},
		{"a manifest that swaps segments", func(t *testing.T, r *rand.Rand, dir string, _ []string) {
			forge(t, dir, func(m *Manifest) {
				i, j := r.Intn(len(m.Segments)), r.Intn(len(m.Segments))
				m.Segments[i], m.Segments[j] = m.Segments[j], m.Segments[i]
			})
		}},
		{"a manifest with another digest", func(t *testing.T, r *rand.Rand, dir string, _ []string) {
			forge(t, dir, func(m *Manifest) {
				n := r.Intn(len(m.Segments))
				m.Segments[n].Digest[r.Intn(32)] ^= 1
				m.Digest = m.Segments[len(m.Segments)-1].Digest
			})
		}},
	}
}

// forge changes a manifest and gives it the checksum of its new text.
func forge(t *testing.T, dir string, change func(*Manifest)) {
	t.Helper()
	edit(t, filepath.Join(dir, manifestFile), func(b []byte) []byte {
		var m Manifest
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		change(&m)
		b, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// segmentsIn returns the segments' files of a backup, in order.
func segmentsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, segmentsDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, segmentsDir+"/"+filepath.Base(f))
	}
	return names
}

// TestRandomDamagesToBackups: whatever is damaged, Check refuses the backup and names a file, or the backup is one that was made.
func TestRandomDamagesToBackups(t *testing.T) {
	const last = 550
	whole := stream(t, 0, last, made)
	older := unpack(t, bytes.NewReader(stream(t, 0, 300, made)))
	other := otherBackup(t, last)
	kinds := damages(other, older)
	for n := range 300 {
		r := rand.New(rand.NewSource(int64(n)))
		kind := kinds[n%len(kinds)]
		t.Run(fmt.Sprintf("%d %s", n, kind.name), func(t *testing.T) {
			dir := unpack(t, bytes.NewReader(whole))
			kind.do(t, r, dir, segmentsIn(t, dir))
			b, err := Open(dir)
			if err == nil {
				err = b.Check(context.Background(), nil)
			}
			if err == nil {
				requireEvents(t, dir, 0, b.Position)
				return
			}
			if fanfold.CodeOf(err) != fanfold.NotFound { // the manifest is gone
				requireDamage(t, err, "")
			}
		})
	}
}

// otherBackup returns a backup of the same store in which one event is another.
func otherBackup(t *testing.T, last uint64) (dir string) {
	t.Helper()
	var out bytes.Buffer
	s, err := NewStream(&out, Point{}, made)
	s.b.most = testSegment
	for seq := uint64(1); err == nil && seq <= last; seq++ {
		ev := event(seq)
		if seq == 7 {
			ev.Time = ev.Time.Add(time.Nanosecond)
		}
		err = s.Add(ev)
	}
	if err == nil {
		err = s.Finish(Manifest{Store: testStore, Fold: 8})
	}
	if err != nil {
		t.Fatal(err)
	}
	return unpack(t, &out)
}

// FuzzSegment: no bytes make a reader fail in another way than by Damage, and records that are read are those that are written.
func FuzzSegment(f *testing.F) {
	var records []byte
	for seq := uint64(1); seq <= 7; seq++ {
		records = appendEvent(records, event(seq), seq-1, event(seq-1).Time.UnixNano()*min(1, int64(seq-1)))
	}
	f.Add(records)
	f.Add([]byte{5, 1, 0, 1, 'a', 0})
	f.Fuzz(func(t *testing.T, records []byte) {
		o := &opener{}
		var again []byte
		var prev uint64
		var nanos int64
		err := o.events("a", records, func(ev *Event) error {
			again = appendEvent(again, ev, prev, nanos)
			prev, nanos = ev.Seq, ev.Time.UnixNano()
			return nil
		})
		if err != nil {
			requireDamage(t, err, "")
		} else if !bytes.Equal(again, records) {
			t.Errorf("%q is written as %q", records, again)
		}
	})
}

// FuzzUnpack: no stream makes a reader fail in another way than by an error, and a stream that is unpacked has a manifest that can be read.
func FuzzUnpack(f *testing.F) {
	f.Add(stream(f, 0, 3, made))
	f.Add(stream(f, 2, 5, made))
	base, file := testBase(2)
	f.Add(streamOf(f, 2, 5, made, base, file))
	f.Add([]byte("manifest.json"))
	f.Fuzz(func(t *testing.T, in []byte) {
		dir := t.TempDir()
		if err := Unpack(bytes.NewReader(in), dir); err != nil {
			if _, err := Open(dir); err == nil {
				t.Error("a stream that is refused leaves a manifest")
			}
			return
		}
		if _, err := Open(dir); err != nil {
			t.Error(err)
		}
	})
}

// TestSegmentsAreBounded: a segment ends before its bound in bytes and in events, and has one event at least.
func TestSegmentsAreBounded(t *testing.T) {
	var out bytes.Buffer
	s, err := NewStream(&out, Point{}, made)
	for seq := uint64(1); err == nil && seq <= 9; seq++ {
		ev := event(seq)
		ev.Payload = make([]byte, 5<<20)
		if seq == 5 {
			ev.Payload = make([]byte, 20<<20)
		}
		err = s.Add(ev)
	}
	if err == nil {
		err = s.Finish(Manifest{Store: testStore})
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := unpack(t, &out)
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var lasts []uint64
	for _, s := range b.Segments {
		lasts = append(lasts, s.Last)
	}
	if fmt.Sprint(lasts) != "[3 4 5 8 9]" {
		t.Errorf("the segments end with %v", lasts)
	}
	if err := b.Check(context.Background(), nil); err != nil {
		t.Error(err)
	}
	many := unpack(t, bytes.NewReader(stream(t, 0, segmentEvents+1, made)))
	if b, err = Open(many); err != nil || len(b.Segments) != 2 || b.Segments[0].Last != segmentEvents {
		t.Errorf("%d segments: %v", len(b.Segments), err)
	}
}

// TestReadersAreBounded: a file that would need more memory than one of a backup can is refused, and so is an event that no log has.
func TestReadersAreBounded(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := newOpener(Point{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	_, err = o.read("bomb", z.EncodeAll(make([]byte, maxRecords+1), []byte(magic)), nil)
	requireDamage(t, err, "decompressed")
	_, err = decodeManifest(make([]byte, MaxManifest+1))
	requireDamage(t, err, "bytes")
	for name, size := range map[string]int64{manifestFile: MaxManifest + 1, segmentFile(1, 2, fanfold.Digest{}): maxFile + 1, baseFile(1, fanfold.Digest{}): maxBase + 1} {
		var in bytes.Buffer
		if err := tar.NewWriter(&in).WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size}); err != nil {
			t.Fatal(err)
		}
		requireDamage(t, Unpack(&in, t.TempDir()), "bytes")
	}
	for _, name := range []string{"../x", "segments/../x", "/etc/x", "segments/1-2-3.seg", "base/x", "base/../x", manifestFile + "/x"} {
		var in bytes.Buffer
		if err := tar.NewWriter(&in).WriteHeader(&tar.Header{Name: name, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		requireDamage(t, Unpack(&in, t.TempDir()), "is not a file of a backup")
	}
	many := event(1)
	for i := range maxHeaders + 1 {
		many.Headers = append(many.Headers, Header{fmt.Sprintf("Fanfold-%d", i), "x"})
	}
	s, err := NewStream(io.Discard, Point{}, made)
	if err != nil {
		t.Fatal(err)
	}
	large := event(1)
	large.Payload = make([]byte, maxEvent)
	for _, ev := range []*Event{many, large, {Seq: 1}, {Seq: 1, Subject: "a", Headers: []Header{{"Nats-Msg-Id", "x"}}}, {Seq: 1, Subject: "a", Headers: []Header{{headerTime, "1"}}}} {
		if err := s.Add(ev); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%.20v..: %v, want %s", ev.Headers, err, fanfold.Invalid)
		}
	}
	if err := s.Add(event(2)); fanfold.CodeOf(err) != fanfold.LogDamaged {
		t.Errorf("event 2 after none: %v, want %s", err, fanfold.LogDamaged)
	}
}

// TestStreamsThatWereChanged: a stream that is cut before the manifest's end, lacks a file, has one twice, or has another order of files is refused.
func TestStreamsThatWereChanged(t *testing.T) {
	whole := stream(t, 0, 250, made)
	end := bytes.LastIndex(whole, []byte("}\n")) + 2 // of the manifest; what follows are zeros
	for n := range end {
		if n%97 == 0 || n > end-20 {
			requireDamage(t, Unpack(bytes.NewReader(whole[:n]), t.TempDir()), "")
		}
	}
	type file struct {
		name    string
		content []byte
	}
	var files []file
	in := tar.NewReader(bytes.NewReader(whole))
	for h, err := in.Next(); err == nil; h, err = in.Next() {
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{h.Name, content})
	}
	a, b, c, m := files[0], files[1], files[2], files[3]
	for name, list := range map[string][]file{"lacking": {a, c, m}, "twice": {a, b, b, c, m}, "manifest first": {m, a, b, c}, "two manifests": {a, b, c, m, m}, "no manifest": {a, b, c}, "empty": {}} {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, f := range list {
			if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.content))}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(f.content); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			requireDamage(t, Unpack(bytes.NewReader(out.Bytes()), t.TempDir()), "")
			dir := t.TempDir()
			w, err := OpenWriter(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closed(t, w) })
			_, err = w.Receive(context.Background(), bytes.NewReader(out.Bytes()), nil)
			requireDamage(t, err, "")
			if left := segmentsIn(t, dir); len(left) > 0 {
				t.Errorf("%v stay", left)
			}
		})
	}
}

// requireDamage requires an error that is Damage, with a file and some text.
func requireDamage(t testing.TB, err error, text string) {
	t.Helper()
	var d *Damage
	if !errors.As(err, &d) || d.File == "" || !bytes.Contains([]byte(d.Reason), []byte(text)) {
		t.Errorf("%v, want damage that says %q", err, text)
	}
}
