package servers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/smallfile"
)

// Credentials say by what a node is known to outside NATS servers, and by what it knows them. Secrets stand in files, which
// are read again for each connection, so that they may be replaced while the node runs. The zero value is none.
type Credentials struct {
	User         string // with PasswordFile
	PasswordFile string
	TokenFile    string
	CredsFile    string // a JWT and its seed, as nsc writes them
	NKeyFile     string // a seed
	CAFile       string // certificates of the authorities that servers are to be signed by, PEM
	CertFile     string // the client's certificate, PEM, with KeyFile
	KeyFile      string
}

// Bounds of the files of credentials, in bytes.
const (
	maxSecretBytes      = 4 << 10
	maxCredsBytes       = 64 << 10
	maxCertificateBytes = 1 << 20
)

// given returns the flags of the ways by which the node shows who it is.
func (c Credentials) given() (flags []string) {
	if c.User != "" || c.PasswordFile != "" {
		flags = append(flags, "--nats-user and --nats-password-file")
	}
	for _, f := range []struct{ value, flag string }{{c.TokenFile, "--nats-token-file"}, {c.CredsFile, "--nats-creds"}, {c.NKeyFile, "--nats-nkey"}} {
		if f.value != "" {
			flags = append(flags, f.flag)
		}
	}
	return flags
}

// Any returns whether anything is given.
func (c Credentials) Any() bool { return c != Credentials{} }

// options returns the connection's options. The error is Invalid, and names the flag.
func (c Credentials) options(urls []string) ([]nats.Option, error) {
	if flags := c.given(); len(flags) > 1 {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s are two ways to say who the node is: give one", strings.Join(flags, ", "))
	}
	if (c.User == "") != (c.PasswordFile == "") {
		return nil, fanfold.Errorf(fanfold.Invalid, "--nats-user and --nats-password-file go together: give both")
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, fanfold.Errorf(fanfold.Invalid, "--nats-cert and --nats-key go together: give both")
	}
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil && u.User != nil && len(c.given()) > 0 {
			return nil, fanfold.Errorf(fanfold.Invalid, "the URL of %s has a user in it, and %s is given: give one", ShownURL(text), c.given()[0])
		}
	}
	opts, err := c.identity()
	if err != nil {
		return nil, err
	}
	secure, err := c.transport()
	return append(opts, secure...), err
}

// identity returns the options that say who the node is. The error is Invalid.
func (c Credentials) identity() ([]nats.Option, error) {
	switch {
	case c.User != "":
		password := func() (string, error) { return readSecret("--nats-password-file", c.PasswordFile, maxSecretBytes) }
		_, err := password()
		return []nats.Option{nats.UserInfoHandler(func() (string, string) {
			text, _ := password() // where it cannot be read the server refuses the node, which comes back
			return c.User, text
		})}, err
	case c.TokenFile != "":
		token := func() (string, error) { return readSecret("--nats-token-file", c.TokenFile, maxSecretBytes) }
		_, err := token()
		return []nats.Option{nats.TokenHandler(func() string {
			text, _ := token() // as above
			return text
		})}, err
	case c.CredsFile != "":
		_, err := c.sign("--nats-creds", c.CredsFile, maxCredsBytes, nil)
		if err == nil {
			_, err = c.jwt()
		}
		return []nats.Option{nats.UserJWT(c.jwt, func(nonce []byte) ([]byte, error) {
			return c.sign("--nats-creds", c.CredsFile, maxCredsBytes, nonce)
		})}, err
	case c.NKeyFile != "":
		key, err := seedIn("--nats-nkey", c.NKeyFile, maxSecretBytes)
		if err != nil {
			return nil, err
		}
		public, err := key.PublicKey()
		if err != nil {
			return nil, fanfold.Errorf(fanfold.Invalid, "--nats-nkey %s has a seed that cannot be used", c.NKeyFile)
		}
		return []nats.Option{nats.Nkey(public, func(nonce []byte) ([]byte, error) {
			return c.sign("--nats-nkey", c.NKeyFile, maxSecretBytes, nonce)
		})}, nil
	}
	return nil, nil
}

// jwt returns the JWT in the file of --nats-creds. The error is Invalid.
func (c Credentials) jwt() (string, error) {
	text, err := readSecret("--nats-creds", c.CredsFile, maxCredsBytes)
	if err != nil {
		return "", err
	}
	jwt, err := nkeys.ParseDecoratedJWT([]byte(text))
	if err != nil {
		return "", fanfold.Errorf(fanfold.Invalid, "--nats-creds %s has no user JWT as nsc writes it", c.CredsFile)
	}
	return jwt, nil
}

// sign signs a server's nonce with the seed in a file. The error is Invalid.
func (c Credentials) sign(flag, path string, most int64, nonce []byte) ([]byte, error) {
	key, err := seedIn(flag, path, most)
	if err != nil {
		return nil, err
	}
	defer key.Wipe()
	return key.Sign(nonce)
}

// seedIn returns the key whose seed is in a file. The error is Invalid, and shows nothing of the file.
func seedIn(flag, path string, most int64) (nkeys.KeyPair, error) {
	text, err := readSecret(flag, path, most)
	if err != nil {
		return nil, err
	}
	key, err := nkeys.ParseDecoratedNKey([]byte(text))
	if err != nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s %s has no seed of a user's NKey, which begins with SU", flag, path)
	}
	return key, nil
}

// transport returns the options for TLS. The error is Invalid.
func (c Credentials) transport() ([]nats.Option, error) {
	var cert nats.TLSCertHandler
	var roots nats.RootCAsHandler
	if c.CertFile != "" {
		cert = c.certificate
		if _, err := cert(); err != nil {
			return nil, err
		}
	}
	if c.CAFile != "" {
		roots = c.roots
		if _, err := roots(); err != nil {
			return nil, err
		}
	}
	if cert == nil && roots == nil {
		return nil, nil
	}
	return []nats.Option{nats.ClientTLSConfig(cert, roots)}, nil
}

// certificate reads the client's certificate and key. The error is Invalid.
func (c Credentials) certificate() (tls.Certificate, error) {
	cert, err := readSecret("--nats-cert", c.CertFile, maxCertificateBytes)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readSecret("--nats-key", c.KeyFile, maxCertificateBytes)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		return pair, fanfold.Wrap(err, fanfold.Invalid, "--nats-cert %s and --nats-key %s are not a certificate and its key in PEM: %v", c.CertFile, c.KeyFile, err)
	}
	return pair, nil
}

// roots reads the authorities' certificates. The error is Invalid.
func (c Credentials) roots() (*x509.CertPool, error) {
	text, err := readSecret("--nats-ca", c.CAFile, maxCertificateBytes)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(text)) {
		return nil, fanfold.Errorf(fanfold.Invalid, "--nats-ca %s has no certificate in PEM", c.CAFile)
	}
	return pool, nil
}

// readSecret returns what a file has, without line ends at its end. The error is Invalid, and names the flag and the file.
func readSecret(flag, path string, most int64) (string, error) {
	text, _, err := smallfile.Read(path, most, smallfile.Regular)
	if err != nil {
		return "", fanfold.Wrap(err, fanfold.Invalid, "%s %s", flag, fanfold.MessageOf(err))
	}
	out := strings.TrimRight(string(text), "\r\n")
	if out == "" {
		return "", fanfold.Errorf(fanfold.Invalid, "%s %s is empty", flag, path)
	}
	return out, nil
}

// explain returns what an error of connecting means, and which flag is to be looked at. It shows no secret.
func (c Credentials) explain(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	alert := remoteError(err)
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return "nobody answers there"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired), errors.Is(err, nats.ErrNkeysNotSupported):
		if flags := c.given(); len(flags) > 0 {
			return "the server refuses what " + flags[0] + " say who the node is (" + err.Error() + ")"
		}
		return "the server wants to know who the node is (" + err.Error() + "): give --nats-user and --nats-password-file, --nats-token-file, --nats-creds, --nats-nkey, or --nats-cert and --nats-key"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the server does not speak TLS, which --nats-ca, --nats-cert or a tls:// URL asks for"
	case errors.As(err, &unknown):
		return "the server's certificate is signed by nobody known: check --nats-ca (" + unknown.Error() + ")"
	case errors.As(err, &host), errors.As(err, &invalid):
		return "the server's certificate cannot be accepted: " + err.Error() + "; check the host in --nats, and --nats-ca"
	case alert != nil && c.CertFile == "":
		return "the server wants a client certificate (" + alert.Err.Error() + "): give --nats-cert and --nats-key"
	case alert != nil:
		return "the server refuses the certificate of --nats-cert (" + alert.Err.Error() + ")"
	case errors.Is(err, nats.ErrTLS): // it closed the connection after the handshake, and its reason came too late to be read
		return err.Error() + "; check --nats-cert and --nats-key, for the server may want a client certificate"
	}
	return err.Error()
}

// remoteError returns what a TLS server says is wrong, nil where it has said nothing. Beside it may stand the error of a write to
// the connection that it has closed.
func remoteError(err error) *net.OpError {
	if op, ok := err.(*net.OpError); ok && op.Op == "remote error" { //nolint:errorlint // each is looked at, and errors.As finds the first only
		return op
	}
	switch e := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		return remoteError(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if found := remoteError(part); found != nil {
				return found
			}
		}
	}
	return nil
}
