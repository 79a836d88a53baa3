package embedded

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Bounds of the consumers of readers.
const (
	maxReaderConsumers  = 500       // at a time: the server has no more than a thousand a stream, and the node may need some
	maxConsumerInactive = time.Hour // how long one stays that nobody uses
	maxConsumerRequest  = 32 << 10  // bytes of a request for one
	consumerTime        = 5 * time.Second
)

// consumerRequests returns the subjects on which readers ask for a consumer. No account but the readers' sees them. A consumer
// delivers to whatever subject its maker names, in the account of the log: that could be a bucket's subject, or a request.
func consumerRequests(stream string) []string {
	return []string{"$JS.API.CONSUMER.CREATE." + stream, "$JS.API.CONSUMER.CREATE." + stream + ".>", durableRequests + stream + ".*"}
}

// durableRequests begins the subjects of requests for durable consumers alone.
const durableRequests = "$JS.API.CONSUMER.DURABLE.CREATE."

// consumerMaker makes the consumers for which readers ask, where they may have them. It passes on what it has understood, and
// never what came.
type consumerMaker struct {
	readers, log *nats.Conn // connections to the readers' account, and to the log's
	stream       string     // the log's
}

// startConsumerMaker returns a maker that answers. The caller closes it. Errors are the server's.
func startConsumerMaker(readers, log *nats.Conn, stream string) (*consumerMaker, error) {
	m := &consumerMaker{readers: readers, log: log, stream: stream}
	for _, subject := range consumerRequests(stream) {
		if _, err := readers.Subscribe(subject, m.answer); err != nil {
			return nil, err
		}
	}
	return m, readers.Flush()
}

// close ends the maker's connections.
func (m *consumerMaker) close() {
	m.readers.Close()
	m.log.Close()
}

// answer answers a request for a consumer.
func (m *consumerMaker) answer(request *nats.Msg) {
	if request.Reply == "" {
		return
	}
	answer, refused := m.make(request)
	if refused != "" {
		answer = encodedJSON(server.JSApiConsumerCreateResponse{ApiResponse: server.ApiResponse{Type: server.JSApiConsumerCreateResponseType,
			Error: &server.ApiError{Code: http.StatusForbidden, ErrCode: uint16(server.JSConsumerCreateErrF), Description: refused}}})
	}
	_ = m.readers.Publish(request.Reply, answer) // where the connection is lost, the reader asks again
}

// make makes the consumer that a request asks for, and returns the server's answer, or why it is refused.
func (m *consumerMaker) make(request *nats.Msg) (answer []byte, refused string) {
	if strings.HasPrefix(request.Subject, durableRequests) {
		return nil, noDurable
	}
	asked, refused := allowedConsumer(request.Data, m.stream)
	if refused != "" {
		return nil, refused
	}
	if full, err := m.full(); err != nil {
		return nil, "the log does not answer: " + err.Error()
	} else if full {
		return nil, fmt.Sprintf("the log has %d consumers, which is the most", maxReaderConsumers)
	}
	got, err := m.log.Request(request.Subject, encodedJSON(asked), consumerTime)
	if err != nil {
		return nil, "the log does not answer: " + err.Error()
	}
	return got.Data, ""
}

// full tells whether the log has as many consumers as it may have.
func (m *consumerMaker) full() (bool, error) {
	got, err := m.log.Request("$JS.API.STREAM.INFO."+m.stream, nil, consumerTime)
	if err != nil {
		return false, err
	}
	var info server.JSApiStreamInfoResponse
	if err := json.Unmarshal(got.Data, &info); err != nil {
		return false, err
	}
	return info.StreamInfo != nil && info.State.Consumers >= maxReaderConsumers, nil
}

const noDurable = "a reader has no durable consumer: keep the sequence that you have read to, and begin after it"

// allowedConsumer returns a request for the consumer that the body of a request asks for, as the server reads it, or why it is
// refused. The consumer is kept in memory, is new, and delivers to the one who pulls, or to an inbox.
func allowedConsumer(body []byte, stream string) (request server.CreateConsumerRequest, refused string) {
	if len(body) > maxConsumerRequest {
		return request, fmt.Sprintf("a request for a consumer has at most %d bytes", maxConsumerRequest)
	}
	var asked server.CreateConsumerRequest
	if err := json.Unmarshal(body, &asked); err != nil {
		return request, "the request is no JSON of a consumer: " + err.Error()
	}
	c := asked.Config
	switch {
	case asked.Stream != stream:
		return request, "a reader has consumers of the stream " + stream + " alone"
	case c.Durable != "":
		return request, noDurable
	case c.DeliverSubject != "" && !strings.HasPrefix(c.DeliverSubject, readerInbox):
		return request, "a consumer of a reader delivers to a subject that begins with " + readerInbox + ", or is pulled"
	case c.InactiveThreshold > maxConsumerInactive:
		return request, fmt.Sprintf("a consumer of a reader that nobody uses stays for at most %v", maxConsumerInactive)
	}
	allowed := server.ConsumerConfig{Name: c.Name, Description: c.Description, DeliverPolicy: c.DeliverPolicy, OptStartSeq: c.OptStartSeq, OptStartTime: c.OptStartTime,
		AckPolicy: c.AckPolicy, AckWait: c.AckWait, MaxDeliver: c.MaxDeliver, BackOff: c.BackOff, FilterSubject: c.FilterSubject, FilterSubjects: c.FilterSubjects,
		ReplayPolicy: c.ReplayPolicy, RateLimit: c.RateLimit, MaxWaiting: c.MaxWaiting, MaxAckPending: c.MaxAckPending, FlowControl: c.FlowControl,
		HeadersOnly: c.HeadersOnly, MaxRequestBatch: c.MaxRequestBatch, MaxRequestExpires: c.MaxRequestExpires, MaxRequestMaxBytes: c.MaxRequestMaxBytes,
		DeliverSubject: c.DeliverSubject, DeliverGroup: c.DeliverGroup, Heartbeat: c.Heartbeat, InactiveThreshold: c.InactiveThreshold, Metadata: c.Metadata,
		Replicas: c.Replicas, MemoryStorage: c.MemoryStorage}
	if !reflect.DeepEqual(allowed, c) { // settings that are added some day are refused until somebody has looked at them
		return request, "a consumer of a reader has no other settings than those of reading"
	}
	allowed.MemoryStorage = true
	return server.CreateConsumerRequest{Stream: stream, Config: allowed, Action: server.ActionCreate, Pedantic: asked.Pedantic}, ""
}

// encodedJSON returns a value of the server's as JSON.
func encodedJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values have nothing that JSON lacks
	}
	return text
}
