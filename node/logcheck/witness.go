package logcheck

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/datadir"
)

// Witness says what a node has seen of the log. It is kept beside the read model, which may be rebuilt or removed, so that
// a log that lost events since is found out all the same. The zero value is none.
type Witness struct {
	Seq    uint64
	Event  fanfold.Digest // of the event at Seq
	Digest fanfold.Digest // of all events up to it
	Synced uint64         // the last event that was durable, folded or not; 0 where nobody knew
	AsOf   fanfold.AsOf   // with which lists Digest was made. One of format 2 knows of none
}

// witnessFile is the name of the witness's file in the data directory.
const witnessFile = "log-witness"

// witnessText is what a witness's file says, before the hash of it.
const witnessText = "fanfold log 3\nseq %d\nevent %s\ndigest %s\nsynced %d\nerasure %d\n"

// witnessText2 is what a witness's file of format 2 says, which earlier programs wrote.
const witnessText2 = "fanfold log 2\nseq %d\nevent %s\ndigest %s\nsynced %d\n"

// text returns the witness as its file has it, without the hash of this text that follows it there.
func (w Witness) text() string {
	return fmt.Sprintf(witnessText, w.Seq, w.Event, w.Digest, w.Synced, w.AsOf)
}

// parse reads what text returns, or what it returned in format 2. It does not check that there is nothing else.
func (w *Witness) parse(text string, event, digest *string) (canonical func() string, err error) {
	if _, err = fmt.Sscanf(text, witnessText, &w.Seq, event, digest, &w.Synced, &w.AsOf); err == nil {
		return func() string { return w.text() }, nil // of what is decoded until then
	}
	*w = Witness{}
	_, err = fmt.Sscanf(text, witnessText2, &w.Seq, event, digest, &w.Synced)
	return func() string { return fmt.Sprintf(witnessText2, w.Seq, w.Event, w.Digest, w.Synced) }, err
}

// Write replaces the witness in a data directory, durably. A crash leaves the old one or the new one.
func (w Witness) Write(data string) error {
	sum := sha256.Sum256([]byte(w.text()))
	return datadir.WriteFile(filepath.Join(data, witnessFile), []byte(w.text()+"sha256 "+hex.EncodeToString(sum[:])+"\n"), 0o644, nil)
}

// errWitness is the error of a witness whose file is damaged.
var errWitness = errors.New("the file is damaged")

// readWitness returns the witness of a data directory, none where there is no file. It returns errWitness, or the error
// of reading the file.
func readWitness(data string) (w Witness, err error) {
	b, err := os.ReadFile(filepath.Join(data, witnessFile))
	if errors.Is(err, os.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	var event, digest string
	text, hash, _ := strings.Cut(string(b), "sha256 ")
	canonical, err := w.parse(text, &event, &digest)
	if err != nil {
		return Witness{}, errWitness
	}
	_, err1 := hex.Decode(w.Event[:], []byte(event)[:min(len(event), 2*len(w.Event))])
	_, err2 := hex.Decode(w.Digest[:], []byte(digest)[:min(len(digest), 2*len(w.Digest))])
	sum := sha256.Sum256([]byte(text))
	if err1 != nil || err2 != nil || canonical() != text || strings.TrimSpace(hash) != hex.EncodeToString(sum[:]) {
		return Witness{}, errWitness
	}
	return w, nil
}
