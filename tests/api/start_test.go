package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// readerFile makes a file with the public NKey of one reader.
func readerFile(t *testing.T) string {
	t.Helper()
	_, public := harness.NewNKey(t)
	path := filepath.Join(t.TempDir(), "readers")
	if err := os.WriteFile(path, []byte("# who may\n"+public+" # me\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// starts wants that a node starts, and closes it.
func starts(t *testing.T, configure func(cfg *node.Config)) {
	t.Helper()
	cfg := node.Config{Data: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0", Durability: "interval", Logger: slog.New(slog.DiscardHandler)}
	configure(&cfg)
	n, err := node.Open(t.Context(), cfg)
	if err != nil {
		t.Errorf("%+v does not start: %v", cfg, err)
		return
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// TestWhoMayStart: a node that others reach starts with a key and with TLS, or where its flags say that it is meant without.
func TestWhoMayStart(t *testing.T) {
	suite.Parallel(t)
	admin, _ := harness.NewKeyFile(t)
	cert := harness.NewCertificate(t, t.TempDir())
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		refusedStart(t, "--tls-cert FILE --tls-key FILE, or --plaintext", func(cfg *node.Config) { cfg.Listen, cfg.AdminKeyFile = listen, admin })
		refusedStart(t, "fanfold keys create --data DIR, or give one by --admin-key-file", func(cfg *node.Config) { cfg.Listen, cfg.Plaintext = listen, true })
		refusedStart(t, "fanfold keys create --data DIR, or give one by --admin-key-file", func(cfg *node.Config) { cfg.Listen, cfg.TLSCert, cfg.TLSKey = listen, cert.File, cert.KeyFile })
		starts(t, func(cfg *node.Config) { cfg.Listen, cfg.Plaintext, cfg.AdminKeyFile = listen, true, admin })
		starts(t, func(cfg *node.Config) {
			cfg.Listen, cfg.TLSCert, cfg.TLSKey, cfg.AdminKeyFile = listen, cert.File, cert.KeyFile, admin
		})
		starts(t, func(cfg *node.Config) { cfg.Listen, cfg.Insecure = listen, true })
	}
	refusedStart(t, "leave one of them out", func(cfg *node.Config) { cfg.Plaintext, cfg.TLSCert, cfg.TLSKey = true, cert.File, cert.KeyFile })
	refusedStart(t, "--admin-key-file", func(cfg *node.Config) { cfg.AdminKeyFile = cert.File })
	refusedStart(t, "--max-auth-age", func(cfg *node.Config) { cfg.MaxAuthAge = 1 })
	refusedStart(t, "--shutdown-delay", func(cfg *node.Config) { cfg.API.ShutdownDelay = -1 })
	refusedStart(t, "--host", func(cfg *node.Config) { cfg.Hosts = []string{"*"} })
}

// TestWhoMayStartBesideAKey: keys that are there already are found before others are let in: in the directory, and on outside servers,
// where nothing is made for the question.
func TestWhoMayStartBesideAKey(t *testing.T) {
	suite.Parallel(t)
	servers := natsserver.Start(t, 1)[0]
	for name, log := range map[string]string{"embedded": "", "outside": servers} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			exposed := func(cfg *node.Config) {
				if cfg.Listen, cfg.Plaintext, cfg.NATS = "0.0.0.0:0", true, log; log != "" {
					cfg.Replicas = 1
				}
			}
			refusedStart(t, "for there is no key", exposed)
			if log != "" {
				wantNoStreams(t, log)
			}
			s := harness.Open(t, harness.Options{Dir: dir, NATS: log})
			s.Put("books", "b", "{}")
			s.Close()
			cfg := node.Config{Data: dir, Durability: "interval", Logger: slog.New(slog.DiscardHandler)}
			exposed(&cfg)
			if n, err := node.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "for there is no key") {
				t.Errorf("a log without a key is shown to others: %v, %v", n, err)
			}
			s = harness.Open(t, harness.Options{Dir: dir, NATS: log})
			harness.KeyOfAnotherNode(t, s.Node)
			s.Close()
			starts(t, func(cfg *node.Config) {
				exposed(cfg)
				cfg.Data = dir
			})
			// --insecure lets it start, and opens nothing.
			s = harness.Open(t, harness.Options{Dir: dir, NATS: log, Configure: func(cfg *node.Config) { cfg.Insecure, cfg.Listen = true, "0.0.0.0:0" }})
			s.Want(http.StatusUnauthorized, http.MethodGet, "/v1/books/b", "")
			s.Close()
		})
	}
}

// wantNoStreams fails the test where a NATS server has streams.
func wantNoStreams(t *testing.T, url string) {
	t.Helper()
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		t.Errorf("a start that is refused has made the stream %s", name)
	}
	if names.Err() != nil {
		t.Error(names.Err())
	}
}

// TestOpenHouseSaysSo: the log of a node says that nobody needs a key, and how to change that; the log of a closed one does not.
func TestOpenHouseSaysSo(t *testing.T) {
	suite.Parallel(t)
	admin, _ := harness.NewKeyFile(t)
	for want, configure := range map[string]func(cfg *node.Config){
		"level=INFO msg=\"the store is open: whoever reaches it on this machine": func(*node.Config) {},
		"level=WARN msg=\"the store is open, and others reach it":                func(cfg *node.Config) { cfg.Listen, cfg.Insecure = "0.0.0.0:0", true },
		"": func(cfg *node.Config) { cfg.AdminKeyFile = admin },
	} {
		said := &syncBuffer{}
		s := harness.Open(t, harness.Options{Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(said, nil)), Configure: configure})
		s.Close()
		if text := said.String(); strings.Contains(text, "the store is open") != (want != "") || !strings.Contains(text, want) ||
			want != "" && !strings.Contains(text, "make a key with fanfold keys create --data DIR, or give one by --admin-key-file FILE") {
			t.Errorf("the log should have %q, and has\n%s", want, text)
		}
	}
}

// TestWhoMayReadTheLog: where the store is closed, or others reach the address, clients of --nats-listen need NKeys; there TLS, too.
func TestWhoMayReadTheLog(t *testing.T) {
	suite.Parallel(t)
	admin, _ := harness.NewKeyFile(t)
	readers, cert := readerFile(t), harness.NewCertificate(t, t.TempDir())
	far := "0.0.0.0:" + strings.Split(harness.FreeAddress(t), ":")[1]
	refusedStart(t, "--nats-auth FILE", func(cfg *node.Config) { cfg.NATSListen = far })
	refusedStart(t, "--nats-auth FILE", func(cfg *node.Config) { cfg.NATSListen, cfg.AdminKeyFile = harness.FreeAddress(t), admin })
	refusedStart(t, "--tls-cert FILE --tls-key FILE, or --plaintext", func(cfg *node.Config) { cfg.NATSListen, cfg.NATSAuth = far, readers })
	refusedStart(t, "give an address there", func(cfg *node.Config) { cfg.NATSAuth = readers })
	refusedStart(t, "--nats-listen", func(cfg *node.Config) { cfg.NATSListen = "nowhere" })
	starts(t, func(cfg *node.Config) { cfg.NATSListen = harness.FreeAddress(t) })
	starts(t, func(cfg *node.Config) { cfg.NATSListen, cfg.NATSAuth, cfg.Plaintext = far, readers, true })
	starts(t, func(cfg *node.Config) {
		cfg.NATSListen, cfg.NATSAuth, cfg.TLSCert, cfg.TLSKey = far, readers, cert.File, cert.KeyFile
	})
	starts(t, func(cfg *node.Config) { cfg.NATSListen, cfg.Insecure = far, true })
	starts(t, func(cfg *node.Config) {
		cfg.NATSListen, cfg.AdminKeyFile, cfg.NATSAuth = harness.FreeAddress(t), admin, readers
	})

	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	harness.KeyOfAnotherNode(t, s.Node)
	s.Close()
	if n, err := node.Open(t.Context(), node.Config{Data: dir, Listen: "127.0.0.1:0", NATSListen: harness.FreeAddress(t), Insecure: true, Durability: "interval", Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "--nats-auth FILE") {
		t.Errorf("a closed store shows its log: %v, %v", n, err)
	}
}

// TestWrongReaderFiles: a file of --nats-auth has public NKeys of users, at most 1,000.
func TestWrongReaderFiles(t *testing.T) {
	suite.Parallel(t)
	var many bytes.Buffer
	seed := ""
	for i := range 1001 {
		user, public := harness.NewNKey(t)
		fmt.Fprintln(&many, public)
		if i == 0 {
			secret, err := user.Seed()
			if err != nil {
				t.Fatal(err)
			}
			seed = string(secret)
		}
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	public, err := account.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	all := many.String()
	path := filepath.Join(t.TempDir(), "readers")
	for want, text := range map[string]string{"has 1001 NKeys, 1000 is the most": all, "has no NKey": "# nobody\n\n", "line 2": "# a seed\n" + seed,
		"line 1": public, "more than 1048576 bytes": strings.Repeat("#"+strings.Repeat("x", 1000)+"\n", 1050)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		refusedStart(t, want, func(cfg *node.Config) { cfg.NATSListen, cfg.NATSAuth = harness.FreeAddress(t), path })
	}
	first, rest, _ := strings.Cut(all, "\n")
	if err := os.WriteFile(path, []byte(rest+"\n# twice\n"+strings.Split(rest, "\n")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	starts(t, func(cfg *node.Config) { cfg.NATSListen, cfg.NATSAuth = harness.FreeAddress(t), path })
	refusedStart(t, "no such file", func(cfg *node.Config) { cfg.NATSListen, cfg.NATSAuth = harness.FreeAddress(t), path+first })
}

// TestRefusedStartsExitWith2: the program says what is missing, with the exit code of a mistake in what it was given.
func TestRefusedStartsExitWith2(t *testing.T) {
	program, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	for want, args := range map[string][]string{"--plaintext": {"--listen=0.0.0.0:0"}, "fanfold keys create --data DIR": {"--listen=0.0.0.0:0", "--plaintext"},
		"--nats-auth FILE": {"--listen=127.0.0.1:0", "--nats-listen=0.0.0.0:4222"}, "belong together": {"--tls-cert=x"}} {
		out, err := exec.CommandContext(context.Background(), program, append([]string{"serve", "--data", dir}, args...)...).CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, %s", args, err, out)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%v: the data directory was made: %v", args, err)
		}
	}
}

// TestBothMissingAreNamedAtOnce: a start without TLS and without a key says both.
func TestBothMissingAreNamedAtOnce(t *testing.T) {
	for _, want := range []string{"--tls-cert FILE --tls-key FILE, or --plaintext", "fanfold keys create --data DIR", "--admin-key-file FILE"} {
		refusedStart(t, want, func(cfg *node.Config) { cfg.Listen = "0.0.0.0:0" })
	}
}

// TestDataIsPrivate: no directory that a node makes lets others of the machine in.
func TestDataIsPrivate(t *testing.T) {
	suite.Parallel(t)
	dir := filepath.Join(t.TempDir(), "data")
	s := harness.Open(t, harness.Options{Dir: dir})
	s.Put("books", "b", `{}`)
	made := 0
	for _, top := range []string{dir, filepath.Join(dir, "nats"), filepath.Join(dir, "readmodel")} {
		if info, err := os.Stat(top); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", top, info.Mode(), err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // a file of SQLite's or the server's that has gone
		}
		info, err := d.Info()
		if made++; err == nil && info.Mode().Perm()&0o007 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || made < 4 {
		t.Errorf("%d directories, %v", made, err)
	}
	s.Close()
}
