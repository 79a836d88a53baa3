package revert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// holder is a document that refers to one that came later, and that stays as it is. It cannot keep its reference while that one is deleted: the
// delete would delete or change it.
type holder struct {
	key  fanfold.Key
	body []byte // as it is to be
	tag  string // of what is there before
}

// maxHolders bounds the holders from which references are taken for one delete.
const maxHolders = maxOperations

// created tells whether the plan deletes a document.
func (p *Plan) created(key fanfold.Key) bool {
	i, ok := p.byKey[key]
	return ok && p.steps[i].op == "create"
}

// withoutReferences returns a body without its references to documents that go, each with the innermost array's element around it. It is the
// body itself where there are none.
func (p *Plan) withoutReferences(key fanfold.Key, body []byte, goes func(target fanfold.Key) bool) []byte {
	var t jsondoc.Tree
	if p.model == nil || t.Parse(body) != nil {
		return body
	}
	remove := map[jsondoc.Node]string{}
	for _, rel := range writtenRelations(p.model, key.Collection) {
		for _, id := range rel.Targets(&t) {
			if !rel.OnDelete.AffectsHolders() || !goes(fanfold.Key{Collection: rel.To, ID: id}) {
				continue
			}
			rel.Path.Find(&t, id, func(node, elem jsondoc.Node, pointer, elemPointer string) {
				if elem != jsondoc.None {
					node, pointer = elem, elemPointer
				}
				remove[node] = pointer
			})
		}
	}
	return withoutNodes(body, remove)
}

// withoutNodes returns a body without nodes, given with their pointers. It is the body itself where there are none.
func withoutNodes(body []byte, remove map[jsondoc.Node]string) []byte {
	nodes := make([]jsondoc.Node, 0, len(remove))
	for n := range remove {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes) // as they stand in the document, each before what is inside it
	var ops []string
	last := ""
	for _, n := range nodes {
		if pointer := remove[n]; last == "" || !strings.HasPrefix(pointer, last+"/") {
			ops = append(ops, fmt.Sprintf(`{"op":"remove","path":%s}`, jsondoc.AppendQuote(nil, pointer)))
			last = pointer
		}
	}
	slices.Reverse(ops) // so that the pointers stay right
	for some := range slices.Chunk(ops, jsondoc.MaxOperations) {
		patch, err := jsondoc.ParsePatch([]byte("[" + strings.Join(some, ",") + "]"))
		if err != nil {
			return body
		}
		if body, err = jsondoc.Apply(body, patch); err != nil {
			return body
		}
	}
	return body
}

// noteApart notes a document from which an earlier run has taken references, and which is not in the plan.
func (w *writing) noteApart(d *client.DocumentDifference) error {
	if !w.opt.Resume || d.Before == nil || d.After == nil {
		return nil
	}
	key, body, now := fanfold.Key{Collection: d.Collection, ID: d.ID}, withoutMeta(d.Before), withoutMeta(d.After)
	if !bytes.Equal(now, body) && bytes.Equal(now, w.withoutReferences(key, body, w.created)) {
		w.apart = append(w.apart, holder{key: key, body: bytes.Clone(body)})
	}
	return nil
}

// deleteApart deletes a document that came later than documents that refer to it. It takes their references away in the same transaction,
// and puts them back in the next ones. apart is false where that does not go; why is the reason then, "" for the refusal's own.
func (w *writing) deleteApart(ctx context.Context, s *step, refused *client.Error) (apart bool, why string, err error) {
	var holders []holder
	known := map[fanfold.Key]bool{s.key: true}
	operations := []client.Operation{client.Delete(s.key.Collection, s.key.ID).IfMatch(s.tag)}
	for refused != nil {
		more, why, err := w.holdersAsThen(ctx, s, refused, known)
		switch {
		case err != nil || why != "":
			return false, why, err
		case len(more) == 0 && w.dry && w.allGoBack(refused):
			return true, "", nil
		case len(more) == 0:
			return false, "", nil
		case len(holders)+len(more) > maxHolders:
			return false, about(refused, more[0].key.String()) + fmt.Sprintf(" refers to it as more than %d others do", maxHolders), nil
		}
		for _, h := range more {
			known[h.key] = true
			without := w.withoutReferences(h.key, h.body, func(target fanfold.Key) bool { return target == s.key })
			operations = append(operations, client.Put(h.key.Collection, h.key.ID, json.RawMessage(without)).IfMatch(h.tag))
		}
		holders = append(holders, more...)
		err = w.transactApart(ctx, operations, known)
		brought := refused
		refused = nil
		if now, ok := errors.AsType[*client.Error](err); ok && now.Code == client.Restricted {
			refused = now
		} else if ok && isRefusal(now.Code) {
			return false, about(brought, more[0].key.String()) + " cannot do without its reference: " + now.Detail, nil
		} else if err != nil {
			return false, "", err
		}
	}
	if w.dry {
		return true, "", nil
	}
	return true, "", w.putBack(ctx, holders)
}

// transactApart makes operations that delete a document and take references to it away, or would make them. The error is Restricted where the
// delete would bring other writes with it.
func (w *writing) transactApart(ctx context.Context, operations []client.Operation, known map[fanfold.Key]bool) error {
	opts := w.options()
	result, err := w.c.Transact(ctx, operations, append(slices.Clone(opts), client.DryRun())...)
	if err == nil {
		err = w.checkBrought(known, result.Report)
	}
	if err == nil && !w.dry {
		_, err = w.c.Transact(ctx, operations, opts...)
	}
	return err
}

// allGoBack tells whether the documents that a refusal names are in the plan, and have yet to go back.
func (w *writing) allGoBack(refused *client.Error) bool {
	return !slices.ContainsFunc(refused.Problems, func(p client.Problem) bool { return !w.goesBack(p.Path) })
}

// holdersAsThen returns the holders that a refusal names and that refer to the document themselves, as they are. why says what stands in the way: one
// of them is not as it was at At. Those in known are left out, and so are those that a dry run takes for going back.
func (w *writing) holdersAsThen(ctx context.Context, s *step, refused *client.Error, known map[fanfold.Key]bool) (holders []holder, why string, err error) {
	for _, p := range refused.Problems {
		collection, id, _ := strings.Cut(p.Path, "/")
		key := fanfold.Key{Collection: collection, ID: id}
		if known[key] || w.dry && w.goesBack(p.Path) {
			continue
		}
		docs := client.Collection[json.RawMessage](w.c, collection)
		now, err := docs.Get(ctx, id, client.View("referenced"))
		if errors.Is(err, client.NotFound) {
			continue
		}
		if errors.Is(err, client.Forbidden) {
			return nil, about(refused, p.Path) + " may not be read", nil
		}
		if err != nil {
			return nil, "", err
		}
		then, err := docs.Get(ctx, id, client.View("referenced"), client.AsOf(w.At))
		switch {
		case err != nil && !errors.Is(err, client.NotFound):
			return nil, "", err
		case err != nil || !bytes.Equal(then.Value, now.Value):
			if until, err := fanfold.ParseBookmark(w.Until); err == nil && now.Revision > until.Seq() {
				return nil, about(refused, p.Path) + " was written after " + w.Until, nil
			}
			return nil, about(refused, p.Path) + " is not as it was", nil
		case bytes.Equal(now.Value, w.withoutReferences(key, now.Value, func(target fanfold.Key) bool { return target == s.key })):
			continue // it goes with another holder
		}
		holders = append(holders, holder{key, now.Value, now.ETag})
	}
	return holders, "", nil
}

// about begins the reason for a refusal with the document that stands in the way.
func about(refused *client.Error, path string) string {
	if strings.HasPrefix(refused.Detail, wouldBring) {
		return wouldBring + path + ", which"
	}
	return refused.Detail + "; " + path
}

// wouldBring is what the reason for a refusal begins with that checkBrought makes.
const wouldBring = "its delete would change or delete "

// putBack writes holders as they were, byte for byte.
func (w *writing) putBack(ctx context.Context, holders []holder) error {
	for _, h := range holders {
		docs := client.Collection[json.RawMessage](w.c, h.key.Collection)
		now, err := docs.Get(ctx, h.key.ID, client.View("referenced"))
		if err != nil {
			return fmt.Errorf("%s is to get its reference back: %w", h.key, err)
		}
		written, err := docs.Revert(ctx, h.key.ID, w.At, client.IfMatch(now.ETag))
		if err != nil {
			return fmt.Errorf("%s is to get its reference back: %w", h.key, err)
		}
		w.position = written.Position
	}
	return nil
}
