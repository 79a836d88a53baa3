package harness

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
)

// Certificate is a self-made certificate of 127.0.0.1 and localhost, in two files.
type Certificate struct {
	File, KeyFile string
	Serial        *big.Int
	Pool          *x509.CertPool // trusts it
}

// NewCertificate makes a certificate that holds for an hour, in two files of a directory, which it replaces.
func NewCertificate(t testing.TB, dir string) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := Certificate{File: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"), Serial: big.NewInt(time.Now().UnixNano()), Pool: x509.NewCertPool()}
	template := &x509.Certificate{SerialNumber: c.Serial, Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	c.Pool.AppendCertsFromPEM(public)
	for path, text := range map[string][]byte{c.File: public, c.KeyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Client returns a client that trusts the certificate, and speaks a version of HTTP, 1 or 2.
func (c Certificate) Client(version int) *http.Client {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(version == 1)
	protocols.SetHTTP2(version == 2)
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{Protocols: protocols, MaxIdleConnsPerHost: 256, TLSClientConfig: &tls.Config{RootCAs: c.Pool}}}
}

// Speak makes a store's client one that trusts the certificate, and speaks a version of HTTP.
func (s *Store) Speak(c Certificate, version int) {
	s.HTTP.CloseIdleConnections()
	s.HTTP = c.Client(version)
}

// OpenTLS opens a store with TLS, whose client speaks HTTP/2. At the test's end it is verified and closed.
func OpenTLS(t testing.TB, opt Options) (*Store, Certificate) {
	t.Helper()
	c := NewCertificate(t, t.TempDir())
	opt.API.Runtime = cmp.Or(opt.API.Runtime, "go1.26.9") // tests do no harm to an older one
	configure := opt.Configure
	opt.Configure = func(cfg *node.Config) {
		cfg.TLSCert, cfg.TLSKey = c.File, c.KeyFile
		if configure != nil {
			configure(cfg)
		}
	}
	opt.Dir = t.TempDir()
	s := Open(t, opt)
	s.Speak(c, 2)
	t.Cleanup(func() {
		s.Verify()
		s.Close()
	})
	return s, c
}
