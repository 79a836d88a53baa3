package writer

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// CheckIndexes returns an Unprocessable where a document, as it is to be stored, would have entries of more than
// model.MaxIndexBytes in its collection's indexes. c may be nil. An index without an array has one entry, and is not counted.
func CheckIndexes(c *model.Collection, document func() *jsondoc.Tree) error {
	if c == nil {
		return nil
	}
	var t *jsondoc.Tree
	total := 0
	for _, x := range c.Indexes {
		if x.Array() == nil {
			continue
		}
		if t == nil {
			t = document()
		}
		n := x.MostBytes(t)
		if total+n > model.MaxIndexBytes { // only then the keys are made
			n = 0
			keys, _ := x.Keys(nil, model.IndexFacts{Doc: t})
			for _, key := range keys {
				n += len(key)
			}
		}
		if total += n; total > model.MaxIndexBytes {
			return fanfold.Errorf(fanfold.Unprocessable, "the document would have entries of %d bytes in the indexes of %s up to %s, %d of them in this one; at most %d are taken: shorten what stands beside the array %s, or give it fewer elements",
				total, c.Name, x.Name, n, model.MaxIndexBytes, x.Array())
		}
	}
	return nil
}
