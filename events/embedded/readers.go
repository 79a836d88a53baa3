package embedded

import (
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/nats-io/nuid"
)

// The user names of this process: in the log's account, and in the readers'. Every other client is a reader.
const (
	nodeUser  = "fanfold"
	makerUser = "fanfold-consumers"
)

// nodeInbox begins the subjects on which this process is answered; readers learn nothing of them.
const nodeInbox = "_FANFOLD"

// readerInbox begins the subjects to which a consumer of a reader may deliver: the server neither stores nor obeys what is sent there.
const readerInbox = "_INBOX."

// readerName is the name of the readers' account, and of the user that a client is without credentials.
const readerName = "reader"

// readerRequests returns the subjects on which readers may ask the account of the log. None of them makes the server store
// anything: an event that Fanfold did not write would stop every projector for good. None is about another stream, for buckets
// have what is not for readers.
func readerRequests(stream string) []string {
	return []string{"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO." + stream,
		"$JS.API.STREAM.MSG.GET." + stream, "$JS.API.DIRECT.GET." + stream, "$JS.API.DIRECT.GET." + stream + ".>",
		"$JS.API.CONSUMER.NAMES." + stream, "$JS.API.CONSUMER.LIST." + stream, "$JS.API.CONSUMER.INFO." + stream + ".*",
		"$JS.API.CONSUMER.MSG.NEXT." + stream + ".*", "$JS.API.CONSUMER.DELETE." + stream + ".*",
		"$JS.ACK." + stream + ".>", "$JS.FC." + stream + ".>"}
}

// readerEvents returns the subjects of the account of the log that readers may hear: what a consumer pushes, and what the
// server says of consumers.
func readerEvents(stream string) []string {
	return []string{readerInbox + ">", "$JS.EVENT.ADVISORY.CONSUMER.*." + stream + ".>"}
}

// Readers says which ordinary NATS clients may connect, to read the log alone.
type Readers struct {
	Address string      // at which the server listens for them; "" for none
	Keys    []string    // the public NKeys of those who may; nil where whoever reaches the address may
	TLS     *tls.Config // nil for none
	// Closed tells, where there are no keys, whether nobody may connect. It must not block; nil for never.
	Closed func() bool
}

// clientAccess says who a client of the embedded server is: this process, or a reader. Readers have an account of their own,
// because the server answers a request on whatever subject the request names. In the log's account an answer could itself be
// a request to delete the log.
type clientAccess struct {
	stream   string                         // the log's
	who      Readers                        // may connect
	password string                         // of this process
	readers  atomic.Pointer[server.Account] // nil until it is there
	maker    atomic.Pointer[server.User]    // of the consumerMaker, as well
}

// newClientAccess returns the access of a server that no reader may connect to yet.
func newClientAccess(stream string, who Readers) *clientAccess {
	return &clientAccess{stream: stream, who: who, password: nuid.Next()}
}

// Check accepts this process, and as readers clients that have signed with a known key, or without credentials. The server calls it for each connection.
func (a *clientAccess) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	switch given.Username {
	case nodeUser: // in the account that has the log
		return a.isOurs(given)
	case makerUser:
		maker := a.maker.Load()
		if maker == nil || !a.isOurs(given) {
			return false
		}
		c.RegisterUser(maker)
		return true
	}
	account, name := a.readers.Load(), readerName
	if account == nil || given.Username != "" && given.Username != readerName || given.Password != "" || given.Token != "" || given.JWT != "" {
		return false
	}
	switch {
	case len(a.who.Keys) > 0:
		if name = given.Nkey; !slices.Contains(a.who.Keys, name) || !signed(name, c.GetNonce(), given.Sig) {
			return false
		}
	case a.who.Closed != nil && a.who.Closed():
		return false
	}
	c.RegisterUser(&server.User{Username: name, Account: account, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: append(readerRequests(a.stream), consumerRequests(a.stream)...)},
		Subscribe: &server.SubjectPermission{Allow: []string{">"}}}})
	return true
}

// signed tells whether a signature signs a nonce, by the holder of a public key.
func signed(public string, nonce []byte, signature string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil { // as older clients write it
		if raw, err = base64.StdEncoding.DecodeString(signature); err != nil {
			return false
		}
	}
	key, err := nkeys.FromPublicKey(public)
	return err == nil && len(nonce) > 0 && key.Verify(nonce, raw) == nil
}

// isOurs tells whether a client has the password of this process.
func (a *clientAccess) isOurs(given *server.ClientOpts) bool {
	return subtle.ConstantTimeCompare([]byte(given.Password), []byte(a.password)) == 1
}

// makeAccount makes the readers' account on a server that has started. Readers are let in by admit.
func (a *clientAccess) makeAccount(s *server.Server) (*server.Account, error) {
	log, err := s.LookupAccount(server.DEFAULT_GLOBAL_ACCOUNT)
	if err != nil {
		return nil, err
	}
	readers, _ := s.LookupOrRegisterAccount(readerName)
	for _, subject := range readerRequests(a.stream) {
		err = errors.Join(err, log.AddServiceExportWithResponse(subject, server.Streamed, []*server.Account{readers}),
			readers.AddServiceImport(log, subject, subject))
	}
	for _, subject := range readerEvents(a.stream) {
		err = errors.Join(err, log.AddStreamExport(subject, []*server.Account{readers}), readers.AddStreamImport(log, subject, ""))
	}
	a.maker.Store(&server.User{Username: makerUser, Account: readers, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{"$JS.>", "$SYS.>"}}, // a reader chooses where it is answered
		Subscribe: &server.SubjectPermission{Allow: consumerRequests(a.stream)}}})
	return readers, err
}

// EndStrangers cuts the connections of readers that gave no key.
func (e *Server) EndStrangers() {
	e.mu.Lock()
	s := e.server
	e.mu.Unlock()
	if s == nil || e.access == nil {
		return
	}
	for {
		found, err := s.Connz(&server.ConnzOptions{Username: true, User: readerName, Account: readerName, Limit: strangersAtOnce})
		if err != nil || len(found.Conns) == 0 {
			return
		}
		for _, c := range found.Conns {
			_ = s.DisconnectClientByID(c.Cid) // it may have gone by itself
		}
	}
}

// strangersAtOnce is how many connections are looked up at a time.
const strangersAtOnce = 1024
