package membership

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/fanfold/fanfold"

	"github.com/fanfold/fanfold/internal/wire"
)

// nodeRecord is the value of a node's key.
type nodeRecord struct {
	ID       string `json:"id"`
	Instance string `json:"instance"` // random, of one run of the program
	wire.NodeState
	HoldRequest string   `json:"asks,omitempty"`  // the token of its hold request
	HoldsFor    []string `json:"holds,omitempty"` // the hold requests of others for which it holds its writes
}

// Bounds of what is read from the bucket. A larger entry counts as one that cannot be read.
const (
	maxRecordBytes = 16 << 10 // bytes
	maxTextBytes   = 255      // bytes of an address, a version or a token
	// MaxNodes bounds the nodes of one log. A node more does not come to write.
	MaxNodes = 200
)

// prefix is what the keys of nodes begin with.
const prefix = "node"

var idRE = regexp.MustCompile(`^[a-z2-7]{16}$`)

// ValidID tells whether a text is the id of a node: 16 characters of lower-case base32.
func ValidID(id string) bool { return idRE.MatchString(id) }

// NewID returns a random id.
func NewID() string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return strings.ToLower(base32.StdEncoding.EncodeToString(random[:]))
}

// readNodeRecord reads the entry of a node. The error says why it cannot be read.
func readNodeRecord(e fanfold.Entry) (out nodeRecord, err error) {
	id := strings.TrimPrefix(e.Key, prefix+".")
	if len(e.Value) > maxRecordBytes {
		return out, fanfold.Errorf(fanfold.Invalid, "the entry of node %.16q has %d bytes; at most %d are read", id, len(e.Value), maxRecordBytes)
	}
	if err := json.Unmarshal(e.Value, &out); err != nil {
		return out, fanfold.Wrap(err, fanfold.Invalid, "the entry of node %.16q is not JSON of a node", id)
	}
	long := len(out.HoldsFor) > MaxNodes
	for _, text := range append([]string{out.Address, out.Version, out.Instance, out.HoldRequest}, out.HoldsFor...) {
		long = long || len(text) > maxTextBytes
	}
	if !ValidID(id) || out.ID != id || long || out.LagSeconds < 0 {
		return out, fanfold.Errorf(fanfold.Invalid, "the entry of node %.16q is not one of a node", id)
	}
	return out, nil
}
