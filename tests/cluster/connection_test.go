package cluster_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// secret is what must be seen nowhere.
const secret = "correct-horse-battery"

// fileWith returns the path of a new file.
func fileWith(t *testing.T, text string) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// connects starts a node with the credentials, writes and reads, and fails the test where the secret is seen.
func connects(t *testing.T, url string, cred servers.Credentials) {
	t.Helper()
	var logged harness.LockedBuffer
	s, err := harness.Start(t, harness.Options{Dir: t.TempDir(), NATS: url, Configure: func(cfg *node.Config) { cfg.Credentials = cred }, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	harness.AwaitReady(t, s, http.StatusOK)
	s.Put("books", "b", `{"x":1}`)
	s.WantDoc("books", "b", `{"id":"b","x":1}`)
	if status := string(s.Want(http.StatusOK, "GET", "/v1/_status", "").Body); strings.Contains(status, secret) || !strings.Contains(status, "127.0.0.1:") {
		t.Errorf("_status says %s", status)
	}
	s.Close()
	if strings.Contains(logged.String(), secret) {
		t.Errorf("the secret was logged: %s", &logged)
	}
}

// refused starts a node with the credentials, and fails the test unless it says all of want and does not show the secret.
func refused(t *testing.T, url string, cred servers.Credentials, want ...string) {
	t.Helper()
	var logged harness.LockedBuffer
	s, err := harness.Start(t, harness.Options{Dir: t.TempDir(), NATS: url, Configure: func(cfg *node.Config) { cfg.Credentials = cred }, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err == nil {
		s.Close()
		t.Fatalf("the node started; want it to say %q", want)
	}
	text := err.Error()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the node says %q; want %q", text, w)
		}
	}
	if all := text + logged.String(); strings.Contains(all, secret) {
		t.Errorf("the secret is shown: %s", all)
	}
}

// TestServersThatWantCredentials: a node shows each kind of server who it is. A wrong or missing credential is an error at the start that
// names the flag. No secret is ever shown.
func TestServersThatWantCredentials(t *testing.T) {
	suite.Parallel(t)
	wrong := fileWith(t, "wrong-"+secret)
	t.Run("user", func(t *testing.T) {
		url := natsserver.StartWith(t, func(o *server.Options) { o.Username, o.Password = "fan", secret })
		connects(t, url, servers.Credentials{User: "fan", PasswordFile: fileWith(t, secret+"\n")})
		refused(t, url, servers.Credentials{User: "fan", PasswordFile: wrong}, "--nats-user and --nats-password-file")
		refused(t, url, servers.Credentials{}, "--nats-user", "--nats-token-file", "--nats-creds", "--nats-nkey")
		host := strings.TrimPrefix(url, "nats://")
		connects(t, "nats://fan:"+secret+"@"+host, servers.Credentials{})
		refused(t, "nats://fan:no-"+secret+"@"+host, servers.Credentials{}, "nats://"+host)
		refused(t, "nats://fan:"+secret+"@"+host, servers.Credentials{User: "fan", PasswordFile: wrong}, "has a user in it")
	})
	t.Run("token", func(t *testing.T) {
		url := natsserver.StartWith(t, func(o *server.Options) { o.Authorization = secret })
		connects(t, url, servers.Credentials{TokenFile: fileWith(t, secret)})
		refused(t, url, servers.Credentials{TokenFile: wrong}, "--nats-token-file")
		host := strings.TrimPrefix(url, "nats://")
		connects(t, "nats://"+secret+"@"+host, servers.Credentials{})
		refused(t, "nats://no-"+secret+"@"+host, servers.Credentials{}, "nats://"+host)
	})
	t.Run("nkey", func(t *testing.T) {
		public, seed := userKey(t)
		_, other := userKey(t)
		url := natsserver.StartWith(t, func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: public}} })
		connects(t, url, servers.Credentials{NKeyFile: fileWith(t, seed)})
		refused(t, url, servers.Credentials{NKeyFile: fileWith(t, other)}, "--nats-nkey")
		refused(t, url, servers.Credentials{NKeyFile: wrong}, "--nats-nkey", "seed")
	})
	t.Run("creds", func(t *testing.T) {
		creds, other, set := trusted(t)
		url := natsserver.StartWith(t, set)
		connects(t, url, servers.Credentials{CredsFile: fileWith(t, creds)})
		refused(t, url, servers.Credentials{CredsFile: fileWith(t, other)}, "--nats-creds")
		refused(t, url, servers.Credentials{CredsFile: wrong}, "--nats-creds", "seed")
	})
}

// TestServersWithTLS: a node knows a server by --nats-ca, and a server that wants a client certificate gets it.
func TestServersWithTLS(t *testing.T) {
	suite.Parallel(t)
	ca, foreign := newAuthority(t), newAuthority(t)
	serverPair, err := tls.X509KeyPair(ca.issue(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	caFile, foreignFile := fileWith(t, string(ca.pem)), fileWith(t, string(foreign.pem))
	url := natsserver.StartWith(t, func(o *server.Options) {
		o.TLS, o.TLSTimeout, o.TLSConfig = true, 5, &tls.Config{Certificates: []tls.Certificate{serverPair}}
	})
	connects(t, url, servers.Credentials{CAFile: caFile})
	refused(t, url, servers.Credentials{}, "--nats-ca", "signed by nobody known")
	refused(t, url, servers.Credentials{CAFile: foreignFile}, "--nats-ca")
	refused(t, url, servers.Credentials{CAFile: fileWith(t, secret)}, "--nats-ca", "PEM")
	plain := natsserver.Start(t, 1)[0]
	refused(t, plain, servers.Credentials{CAFile: caFile}, "does not speak TLS", "--nats-ca")

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.pem)
	strict := natsserver.StartWith(t, func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, 5
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{serverPair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	})
	cert, key := ca.issue(t, "fanfold")
	certFile, keyFile := fileWith(t, string(cert)), fileWith(t, string(key))
	connects(t, strict, servers.Credentials{CAFile: caFile, CertFile: certFile, KeyFile: keyFile})
	refused(t, strict, servers.Credentials{CAFile: caFile}, "--nats-cert and --nats-key")
	cert, key = foreign.issue(t, "fanfold")
	refused(t, strict, servers.Credentials{CAFile: caFile, CertFile: fileWith(t, string(cert)), KeyFile: fileWith(t, string(key))}, "--nats-cert")
	refused(t, strict, servers.Credentials{CAFile: caFile, CertFile: certFile, KeyFile: fileWith(t, string(key))}, "--nats-cert", "--nats-key")
}

// TestCredentialsThatCannotBe: what contradicts itself, or cannot be read, is refused before anything is started.
func TestCredentialsThatCannotBe(t *testing.T) {
	suite.Parallel(t)
	big := fileWith(t, strings.Repeat("x", 2<<20))
	const url = "nats://127.0.0.1:1"
	for _, c := range []struct {
		url  string
		cred servers.Credentials
		want string
	}{
		{"", servers.Credentials{User: "a", PasswordFile: big}, "--nats"},
		{url, servers.Credentials{User: "a"}, "--nats-password-file"},
		{url, servers.Credentials{User: "a", PasswordFile: big}, "more than 4096 bytes"},
		{url, servers.Credentials{TokenFile: big}, "more than 4096 bytes"},
		{url, servers.Credentials{NKeyFile: big}, "more than 4096 bytes"},
		{url, servers.Credentials{CredsFile: big}, "more than 65536 bytes"},
		{url, servers.Credentials{CAFile: big}, "more than 1048576 bytes"},
		{url, servers.Credentials{CertFile: big, KeyFile: big}, "more than 1048576 bytes"},
		{url, servers.Credentials{CertFile: big}, "go together"},
		{url, servers.Credentials{TokenFile: t.TempDir()}, "is not a file"},
		{url, servers.Credentials{TokenFile: filepath.Join(t.TempDir(), "none")}, "--nats-token-file"},
		{url, servers.Credentials{TokenFile: fileWith(t, "\n")}, "is empty"},
		{url, servers.Credentials{TokenFile: big, CredsFile: big}, "two ways"},
		{"nats://u:" + secret + "@%zz:1", servers.Credentials{}, "URL 1 of --nats"},
		{"http://u:" + secret + "@h:1", servers.Credentials{}, "URL 1 of --nats"},
		{url + ",nats://" + strings.Repeat("h", 3000), servers.Credentials{}, "URL 2 of --nats"},
		{strings.Repeat(url+",", 17), servers.Credentials{}, "17 URLs"},
		{",", servers.Credentials{}, "0 URLs"},
	} {
		_, err := harness.Start(t, harness.Options{Dir: t.TempDir(), NATS: c.url, Configure: func(cfg *node.Config) { cfg.Credentials = c.cred }})
		if fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%.60q %+v: %v; want %q", c.url, c.cred, err, c.want)
		}
	}
}

// userKey returns a new NKey of a user, and its seed.
func userKey(t *testing.T) (public, seed string) {
	t.Helper()
	key, public := harness.NewNKey(t)
	b, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	return public, string(b)
}

// trusted returns the credentials of a user whom a server trusts by its operator, of one whom it does not, and what
// sets that server's options.
func trusted(t *testing.T) (creds, other string, set func(o *server.Options)) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	operator, err := nkeys.CreateOperator()
	must(err)
	account, err := nkeys.CreateAccount()
	must(err)
	stranger, err := nkeys.CreateAccount()
	must(err)
	operatorKey, err := operator.PublicKey()
	must(err)
	accountKey, err := account.PublicKey()
	must(err)
	oc := jwt.NewOperatorClaims(operatorKey)
	_, err = oc.Encode(operator)
	must(err)
	ac := jwt.NewAccountClaims(accountKey)
	ac.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	resolver := &server.MemAccResolver{}
	system, err := nkeys.CreateAccount()
	must(err)
	systemKey, err := system.PublicKey()
	must(err)
	for _, claims := range []*jwt.AccountClaims{ac, jwt.NewAccountClaims(systemKey)} {
		text, err := claims.Encode(operator)
		must(err)
		must(resolver.Store(claims.Subject, text))
	}
	user := func(signer nkeys.KeyPair) string {
		public, seed := userKey(t)
		token, err := jwt.NewUserClaims(public).Encode(signer)
		must(err)
		file, err := jwt.FormatUserConfig(token, []byte(seed))
		must(err)
		return string(file)
	}
	return user(account), user(stranger), func(o *server.Options) {
		o.TrustedOperators, o.AccountResolver, o.SystemAccount = []*jwt.OperatorClaims{oc}, resolver, systemKey
	}
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// newAuthority makes one.
func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)}
	der, key := a.sign(t, a.cert)
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.key, a.pem = parsed, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// sign returns a certificate with a key of its own, signed by that where the authority has none yet.
func (a *authority) sign(t *testing.T, template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

// issue returns a certificate for this machine, and its key, in PEM.
func (a *authority) issue(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	der, private := a.sign(t, &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	b, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: b})
}
