package embedded

import (
	"crypto/subtle"
	"errors"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nuid"
)

// nodeUser is the user name of this process. Every other client is a reader.
const nodeUser = "fanfold"

// nodeInbox begins the subjects on which this process is answered, of which readers learn nothing.
const nodeInbox = "_FANFOLD"

// readerName is the name of the readers' account, and of the user that a client is without credentials.
const readerName = "reader"

// readerRequests are the subjects on which readers may ask the log's account. None of them changes the log: an event that
// Fanfold did not write would stop every projector for good.
var readerRequests = []string{"$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST",
	"$JS.API.STREAM.MSG.GET.>", "$JS.API.DIRECT.GET.>", "$JS.API.CONSUMER.>", "$JS.ACK.>", "$JS.FC.>"}

// clientAccess says who a client of the embedded server is: this process, or a reader. Readers have an account of their own,
// because the server answers a request on whatever subject the request names: in the log's account an answer could itself be
// a request to delete the log.
type clientAccess struct {
	password string                      // of this process
	readers  atomic.Pointer[server.User] // nil until their account is there
}

// newClientAccess returns the access of a server that no reader may connect to yet.
func newClientAccess() *clientAccess { return &clientAccess{password: nuid.Next()} }

// Check accepts this process, and as readers clients without credentials. The server calls it for each connection.
func (a *clientAccess) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	if given.Username == nodeUser {
		return subtle.ConstantTimeCompare([]byte(given.Password), []byte(a.password)) == 1 // in the account that has the log
	}
	user := a.readers.Load()
	if user == nil || given.Username != "" && given.Username != readerName || given.Password != "" || given.Token != "" {
		return false
	}
	c.RegisterUser(user)
	return true
}

// admitReaders makes the readers' account on a server that has started, and lets readers connect.
func (a *clientAccess) admitReaders(s *server.Server) error {
	log, err := s.LookupAccount(server.DEFAULT_GLOBAL_ACCOUNT)
	if err != nil {
		return err
	}
	readers, _ := s.LookupOrRegisterAccount(readerName)
	for _, subject := range readerRequests {
		err = errors.Join(err, log.AddServiceExportWithResponse(subject, server.Streamed, []*server.Account{readers}),
			readers.AddServiceImport(log, subject, subject))
	}
	for _, subject := range []string{"_INBOX.>", "$JS.EVENT.>"} { // what a consumer pushes, and what the server says of itself
		err = errors.Join(err, log.AddStreamExport(subject, []*server.Account{readers}), readers.AddStreamImport(log, subject, ""))
	}
	a.readers.Store(&server.User{Username: readerName, Account: readers, Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: readerRequests}, Subscribe: &server.SubjectPermission{Allow: []string{">"}}}})
	return err
}
