package basefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
)

// horizon is the one of the files here.
var horizon = fanfold.Horizon{Seq: 7, Event: fanfold.Digest{1}, Digest: fanfold.Digest{2}, Position: fanfold.At(6, 1), Changes: 9, Time: time.Unix(5, 6).UTC()}

// twoTables returns a file with two tables.
func twoTables(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, horizon, 0, []Table{{"a", []string{"x", "y"}}, {"b", []string{"z"}}})
	if err == nil {
		err = errors.Join(w.Row([]any{int64(-1 << 63), "text"}), w.Row([]any{nil, []byte{}}), w.EndTable(), w.Row([]any{""}), w.EndTable(), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readAll returns the rows of a file as text.
func readAll(from io.Reader) (rows []string, err error) {
	r, err := NewReader(from)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		table, values, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, fmt.Sprintf("%s %#v", r.Header.Tables[table].Name, values))
	}
}

// TestSalt: a file with a salt before it reads as without, and is another one each time.
func TestSalt(t *testing.T) {
	file := twoTables(t)
	salted := append(Salt(), file...)
	got, err := readAll(bytes.NewReader(salted))
	want, err2 := readAll(bytes.NewReader(file))
	if err != nil || err2 != nil || !slices.Equal(got, want) {
		t.Errorf("with a salt it has %q, and without %q; errors %v, %v", got, want, err, err2)
	}
	if bytes.Equal(salted[:len(salted)-len(file)], Salt()) {
		t.Error("two salts are the same")
	}
}

// TestFile: a file comes back as it was written.
func TestFile(t *testing.T) {
	file := twoTables(t)
	rows, err := readAll(bytes.NewReader(file))
	want := `a []interface {}{-9223372036854775808, "text"}
a []interface {}{interface {}(nil), []uint8{}}
b []interface {}{""}`
	if got := strings.Join(rows, "\n"); err != nil || got != want {
		t.Fatalf("the rows are\n%s\n%v, want\n%s", got, err, want)
	}
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Header.Horizon.At() != horizon {
		t.Errorf("the horizon is %+v, want %+v", r.Header.Horizon.At(), horizon)
	}
}

// TestDamagedFiles: a file that was cut at any byte, or has any other bit, is refused; an error of the reader is told as it is.
func TestDamagedFiles(t *testing.T) {
	file := twoTables(t)
	want, err := readAll(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, damaged []byte) {
		t.Helper()
		got, err := readAll(bytes.NewReader(damaged))
		if err == nil && fmt.Sprint(got) == fmt.Sprint(want) {
			return // the bit says nothing: the compression has some
		}
		if fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	plain := decompressed(t, file)
	for i := range file {
		if _, err := readAll(bytes.NewReader(file[:i])); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("cut at byte %d: %v", i, err)
		}
		for bit := range 8 {
			damaged := bytes.Clone(file)
			damaged[i] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d", bit, i), damaged)
		}
	}
	for i := range plain { // with a compression that is whole
		if _, err := readAll(bytes.NewReader(compressed(t, plain[:i]))); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("cut at byte %d before the compression: %v", i, err)
		}
		for bit := range 8 {
			damaged := bytes.Clone(plain)
			damaged[i] ^= 1 << bit
			if got, err := readAll(bytes.NewReader(compressed(t, damaged))); fanfold.CodeOf(err) != fanfold.Invalid {
				t.Errorf("bit %d of byte %d before the compression: %v, %v", bit, i, got, err)
			}
		}
	}
	if _, err := readAll(bytes.NewReader(compressed(t, append(bytes.Clone(plain), 0)))); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("a byte after the end: %v", err)
	}
	broken := errors.New("the network is gone")
	if _, err := readAll(io.MultiReader(bytes.NewReader(file[:len(file)/2]), &failsWith{broken})); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// failsWith is a reader that fails.
type failsWith struct{ err error }

// Read fails.
func (f *failsWith) Read([]byte) (int, error) { return 0, f.err }

// decompressed returns a file without its compression.
func decompressed(t testing.TB, file []byte) []byte {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out, err := z.DecodeAll(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// encoder is of use for many files.
var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<16), zstd.WithEncoderLevel(zstd.SpeedFastest))
})

// compressed returns the file of what is compressed.
func compressed(t testing.TB, plain []byte) []byte {
	t.Helper()
	z, err := encoder()
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(plain, nil)
}

// headed returns a file with a header and what follows.
func headed(t testing.TB, header string, rest ...byte) []byte {
	t.Helper()
	return compressed(t, append(append(binary.AppendUvarint(nil, uint64(len(header))), header...), rest...))
}

// TestBoundsOfFiles: what is over a bound is refused, and takes no memory.
func TestBoundsOfFiles(t *testing.T) {
	digest := strings.Repeat("0", 64)
	header := func(version int, tables string) string {
		return fmt.Sprintf(`{"format":"fanfold-base","version":%d,"horizon":{"seq":7,"event":%q,"digest":%q,"position":%q,"changes":9,"time":5},"tables":[%s]}`, version, digest, digest, "6-1", tables)
	}
	columns := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%q", strings.Repeat("x", i+1)))
		}
		return strings.Join(list, ",")
	}
	var many []string
	for i := range MaxTables + 1 {
		many = append(many, fmt.Sprintf(`{"name":%q,"columns":["x"]}`, strings.Repeat("a", i%60+1)+strings.Repeat("b", i/60)))
	}
	long := binary.AppendUvarint(nil, MaxRow+1)
	for what, file := range map[string][]byte{
		"a header too long":       compressed(t, binary.AppendUvarint(nil, MaxHeader+1)),
		"a length without an end": compressed(t, bytes.Repeat([]byte{0xff}, 20)),
		"tables":                  headed(t, header(1, strings.Join(many, ","))),
		"columns":                 headed(t, header(1, `{"name":"a","columns":[`+columns(MaxColumns+1)+`]}`)),
		"no columns":              headed(t, header(1, `{"name":"a","columns":[]}`)),
		"a table's name":          headed(t, header(1, fmt.Sprintf(`{"name":%q,"columns":["x"]}`, strings.Repeat("a", MaxName+1)))),
		"a name with a quote":     headed(t, header(1, `{"name":"a'","columns":["x"]}`)),
		"a column's name":         headed(t, header(1, `{"name":"a","columns":["x y"]}`)),
		"a table twice":           headed(t, header(1, `{"name":"a","columns":["x"]},{"name":"a","columns":["x"]}`)),
		"a newer version":         headed(t, header(Version+1, `{"name":"a","columns":["x"]}`)),
		"version 0":               headed(t, header(0, `{"name":"a","columns":["x"]}`)),
		"another member":          headed(t, strings.Replace(header(1, ""), `"changes"`, `"other":1,"changes"`, 1)),
		"a row too long":          headed(t, header(1, `{"name":"a","columns":["x"]}`), long...),
		"a row that is cut":       headed(t, header(1, `{"name":"a","columns":["x"]}`), binary.AppendUvarint(nil, MaxRow)...),
		"a text that is cut":      headed(t, header(1, `{"name":"a","columns":["x"]}`), 2, kindText, 7),
		"a kind of value":         headed(t, header(1, `{"name":"a","columns":["x"]}`), 1, 9),
		"too many values":         headed(t, header(1, `{"name":"a","columns":["x"]}`), 2, kindNull, kindNull),
		"too few values":          headed(t, header(1, `{"name":"a","columns":["x","y"]}`), 1, kindNull),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAll(bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		if fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", what, err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<20 {
			t.Errorf("%s took %d bytes", what, taken)
		}
	}
	r, err := NewReader(bytes.NewReader(twoTables(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.rows[0] = MaxRows
	if _, _, err := r.Next(); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("a row more than a table may have: %v", err)
	}
}

// TestWideWindow: a compression that takes more memory than the bound is refused.
func TestWideWindow(t *testing.T) {
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(2*maxWindow), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z.Reset(&out)
	_, err = z.Write(make([]byte, 4*maxWindow))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(&out); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("the error is %v", err)
	}
}

// FuzzReader checks that no file makes the reader panic, or fail by another error than Invalid, and that what it takes is whole.
func FuzzReader(f *testing.F) {
	file := twoTables(f)
	f.Add(decompressed(f, file))
	f.Add([]byte("\x02{}"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		for _, file := range [][]byte{plain, compressed(t, plain)} {
			if _, err := readAll(bytes.NewReader(file)); err != nil && fanfold.CodeOf(err) != fanfold.Invalid {
				t.Fatal(err)
			}
		}
	})
}
