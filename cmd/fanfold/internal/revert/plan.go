// Package revert goes back with all that was written between two states of a store. It uses the public API alone: what differs
// says what to write, and transactions write it, each document under the condition that it is as the difference showed it.
package revert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// Options say what goes back, and to which state.
type Options struct {
	At, Until   string   // the state to go back to, and the one up to which writes are undone; "" as Until stands for the present
	Collections []string // nil for all that may be read
	// Resume takes documents that were written after Until, and are as they were at At, for what an earlier run wrote.
	Resume      bool
	AllowFanout bool
	Progress    func(done, all int) // is told of documents that are through; nil for nobody
}

// step is a document that goes back.
type step struct {
	key     fanfold.Key
	op      string // what happened to it meanwhile: create, change or delete
	tag     string // its ETag in the later state; "" where it was not there
	offset  int64  // of its body in the file of bodies
	size    int
	targets []int // the steps of documents to which the body refers
	done    bool
}

// Plan has the documents that differ between two states. The caller closes it.
type Plan struct {
	At, Until string // the positions of both states
	c         *client.Client
	opt       Options
	steps     []step
	byKey     map[fanfold.Key]int
	bodies    *os.File // as they are to be written; of a document to be deleted, as it is. In order of steps
	end       int64
	model     *model.Model // nil for none, and where it may not be read
}

// Compare finds the documents that were written between two states, and differ. Their bodies are kept in a temporary file. It returns
// the errors of Client.Diff, of reading the model, and of the file.
func Compare(ctx context.Context, c *client.Client, opt Options) (p *Plan, err error) {
	p = &Plan{c: c, opt: opt, byKey: map[fanfold.Key]int{}}
	if p.bodies, err = os.CreateTemp("", "fanfold-revert-"); err != nil {
		return nil, err
	}
	if err = os.Remove(p.bodies.Name()); err == nil { // the system frees it with the last descriptor, however the process ends
		err = p.read(ctx)
	}
	if err == nil {
		err = p.findTargets(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close gives up the temporary file.
func (p *Plan) Close() error { return p.bodies.Close() }

// read reads what differs.
func (p *Plan) read(ctx context.Context) (err error) {
	p.At, p.Until, err = p.eachDifference(ctx, p.opt.At, p.opt.Until, p.add)
	return err
}

// eachDifference calls fn with each document that was written between two states, and differs. It returns the positions of both states.
func (p *Plan) eachDifference(ctx context.Context, from, to string, fn func(*client.DocumentDifference) error) (first, last string, err error) {
	d := client.DiffOptions{From: from, To: to, Collections: p.opt.Collections, NoDerived: true}
	for cursor := ""; ; {
		page, err := p.c.DiffPage(ctx, cursor, d, client.View("referenced"))
		if err != nil {
			return "", "", err
		}
		for _, difference := range page.Differences {
			if err := fn(difference); err != nil {
				return "", "", err
			}
		}
		if cursor = page.Next; cursor == "" {
			return page.From, page.To, nil
		}
		d.From, d.To = page.From, page.To
	}
}

// add adds a document that differs.
func (p *Plan) add(d *client.DocumentDifference) error {
	s := step{key: fanfold.Key{Collection: d.Collection, ID: d.ID}, op: d.Op, offset: p.end}
	body := d.Before
	if d.Op == "create" {
		body = d.After
	}
	if body == nil {
		return fanfold.Errorf(fanfold.TooLarge, "%s is too large in both states to come with the differences: go back with it alone, and leave its collection out here", s.key)
	}
	if d.Op != "delete" {
		var after struct {
			Meta struct {
				Rev      uint64
				Position fanfold.Bookmark
			} `json:"_meta"`
		}
		if err := json.Unmarshal(d.After, &after); err != nil {
			return err
		}
		after.Meta.Position.Fold = 0 // a tag has it elsewhere, and needs none
		s.tag = fmt.Sprintf(`"%d.%s"`, after.Meta.Rev, after.Meta.Position)
	}
	body = withoutMeta(body)
	s.size = len(body)
	if _, err := p.bodies.WriteAt(body, p.end); err != nil {
		return err
	}
	p.end += int64(s.size)
	p.byKey[s.key] = len(p.steps)
	p.steps = append(p.steps, s)
	return nil
}

// withoutMeta returns a document without the member _meta, with which a list ends it.
func withoutMeta(body []byte) []byte {
	at := bytes.LastIndex(body, []byte(`,"_meta":`))
	if at < 0 {
		return body
	}
	return append(body[:at:at], '}')
}

// body returns the body of a step.
func (p *Plan) body(s *step) ([]byte, error) {
	body := make([]byte, s.size)
	_, err := p.bodies.ReadAt(body, s.offset)
	return body, err
}

// findTargets finds which documents of the plan others of it refer to.
func (p *Plan) findTargets(ctx context.Context) error {
	applied, err := p.c.Model(ctx)
	switch {
	case errors.Is(err, client.Forbidden): // what comes too early is written once its targets are there
		return nil
	case err != nil || len(applied.Source) == 0:
		return err
	}
	m, err := modelfile.ParseAccepted(applied.Source)
	if err != nil {
		return fmt.Errorf("the store's model: %w", err)
	}
	p.model = m
	var t jsondoc.Tree
	for i := range p.steps {
		s := &p.steps[i]
		relations := writtenRelations(m, s.key.Collection)
		if len(relations) == 0 {
			continue
		}
		body, err := p.body(s)
		if err != nil {
			return err
		}
		if t.Parse(body) != nil {
			continue // it is refused when it is written
		}
		for _, rel := range relations {
			for _, id := range rel.Targets(&t) {
				if target, ok := p.byKey[fanfold.Key{Collection: rel.To, ID: id}]; ok {
					s.targets = append(s.targets, target)
				}
			}
		}
	}
	return nil
}

// writtenRelations returns the relations of a collection whose ids are written.
func writtenRelations(m *model.Model, collection string) (all []*model.Relation) {
	for _, c := range m.Collections {
		if c.Name != collection {
			continue
		}
		for _, rel := range c.Relations {
			if !rel.Derived() {
				all = append(all, rel)
			}
		}
	}
	return all
}

// Count says how many documents of a collection go back.
type Count struct {
	Collection string `json:"collection"`
	Change     int    `json:"change"`  // to what they were
	Restore    int    `json:"restore"` // that were deleted
	Delete     int    `json:"delete"`  // that were created
}

// Counts returns how many documents go back, by collection.
func (p *Plan) Counts() (counts []Count) {
	for i := range p.steps { // in order of collection
		s := &p.steps[i]
		if len(counts) == 0 || counts[len(counts)-1].Collection != s.key.Collection {
			counts = append(counts, Count{Collection: s.key.Collection})
		}
		switch n := &counts[len(counts)-1]; s.op {
		case "create":
			n.Delete++
		case "delete":
			n.Restore++
		default:
			n.Change++
		}
	}
	return counts
}

// Len returns how many documents go back.
func (p *Plan) Len() int { return len(p.steps) }
