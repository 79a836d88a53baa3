package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/schema"
)

// readBody reads the body of a write to one document.
func (s *Server) readBody(c echo.Context, media ...string) (body []byte, contentType string, err error) {
	return s.readAny(c, s.opt.MaxBody, media...)
}

// mediaType checks the request's content type against those that the route reads.
func mediaType(c echo.Context, media ...string) (string, error) {
	contentType, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderContentType), ";")
	contentType = strings.ToLower(strings.TrimSpace(contentType))
	if !slices.Contains(media, contentType) {
		return "", fanfold.Errorf(fanfold.UnsupportedMedia, "Content-Type %q is not read here: send %s", contentType, strings.Join(media, " or "))
	}
	if c.Request().Header.Get("Content-Encoding") != "" {
		return "", fanfold.Errorf(fanfold.UnsupportedMedia, "Content-Encoding is not supported: send the body as it is")
	}
	return contentType, nil
}

// readAny reads a body of at most most bytes in one of the media types.
func (s *Server) readAny(c echo.Context, most int64, media ...string) (body []byte, contentType string, err error) {
	if contentType, err = mediaType(c, media...); err != nil {
		return nil, "", err
	}
	length := c.Request().ContentLength
	if length > most {
		return nil, "", fanfold.Errorf(fanfold.TooLarge, "the body has %d bytes; at most %d are taken", length, most)
	}
	limited := http.MaxBytesReader(c.Response(), c.Request().Body, most)
	if body, err = receive(c, limited, most); err != nil {
		return nil, "", err
	}
	return body, contentType, arrived(c)
}

// checkJSON checks JSON text against what we take.
func (s *Server) checkJSON(body []byte) error { return s.checkDepth(body, s.opt.MaxDepth) }

func (s *Server) checkDepth(body []byte, most int) error {
	err := jsondoc.Check(body, most)
	var syntax *jsondoc.SyntaxError
	if errors.As(err, &syntax) {
		code := fanfold.Invalid
		if syntax.Depth {
			code = fanfold.Unprocessable
		}
		return fanfold.Errorf(code, "the body is not a JSON value that is taken: %v", syntax)
	}
	return err
}

// document checks a written document against its key, drops what the store owns and gives it
// its id. An empty id in key is taken from the body, or made. t is the body as it came.
func (s *Server) document(body []byte, key *fanfold.Key) (t *jsondoc.Tree, source []byte, dropped []string, err error) {
	t, hasID, err := s.parse(body, key, "_meta", "_expanded")
	if err != nil {
		return nil, nil, nil, err
	}
	_, shape := s.shape(key.Collection)
	source, dropped = shape.Strip(t)
	dropped = slices.DeleteFunc(dropped, func(p string) bool { return p == "/_meta" || p == "/_expanded" })
	if !hasID {
		source = jsondoc.WithFirst(source, "id", jsondoc.Quote(key.ID))
		if int64(len(source)) > s.opt.MaxBody {
			return nil, nil, nil, fanfold.Errorf(fanfold.TooLarge, "with its id the document has %d bytes; at most %d are taken", len(source), s.opt.MaxBody)
		}
	}
	return t, source, dropped, nil
}

// exact checks a document that is stored as it is: one that _export wrote, whose members may be
// hidden by derived ones.
func (s *Server) exact(body []byte, key *fanfold.Key) ([]byte, error) {
	_, hasID, err := s.parse(body, key)
	if err == nil && !hasID {
		err = fanfold.Errorf(fanfold.Unprocessable, "the document has no id")
	}
	return body, err
}

// shapes are those of one model's collections, made when they are first asked for.
type shapes struct {
	model      *fanfold.Model
	undeclared *fanfold.Shape
	declared   map[string]*fanfold.Shape
	schemas    map[string]*schema.Schema
}

// shape returns what the model says of a collection, nil where it is not declared, and what of its
// documents is the store's own.
func (s *Server) shape(name string) (*fanfold.Collection, *fanfold.Shape) {
	all := s.shapesNow()
	if shape := all.declared[name]; shape != nil {
		return all.model.Collection(name), shape
	}
	return nil, all.undeclared
}

// misfit is an error where a document, as it is to be stored, does not fit its collection's schema.
func (s *Server) misfit(collection string, source []byte) error {
	compiled, declared := s.shapesNow().schemas[collection]
	if !declared {
		return nil
	}
	if compiled == nil {
		return fanfold.Errorf(fanfold.Internal, "the schema of %s cannot be read", collection)
	}
	problems := compiled.Check(source)
	if problems == nil {
		return nil
	}
	return &fanfold.Error{Code: fanfold.Unprocessable, Message: "the document does not fit the schema of " + collection, Problems: problems}
}

func (s *Server) shapesNow() *shapes {
	m, _, reserved := s.models.Model()
	all := s.shapes.Load()
	if all == nil || all.model != m {
		own := []string{"_meta", "_expanded"}
		all = &shapes{model: m, undeclared: fanfold.NewShape(nil, own), declared: map[string]*fanfold.Shape{}, schemas: map[string]*schema.Schema{}}
		for _, c := range m.Collections {
			if c.Schema != nil {
				compiled, err := schema.Compile(c.Schema)
				if err != nil { // it was compiled when the model was applied, by this version or another
					s.opt.Logger.Error("a schema that was accepted cannot be read: documents of its collection are refused", "collection", c.Name, "err", err)
				}
				all.schemas[c.Name] = compiled
			}
			all.declared[c.Name] = fanfold.NewShape(c, append(own, reserved[c.Name]...))
		}
		for name, paths := range reserved {
			if all.declared[name] == nil {
				all.declared[name] = fanfold.NewShape(nil, append(own, paths...))
			}
		}
		s.shapes.Store(all)
	}
	return all
}

// parse checks what any document must be. Of the store's own members it lets through those
// that are dropped later.
func (s *Server) parse(body []byte, key *fanfold.Key, dropped ...string) (t *jsondoc.Tree, hasID bool, err error) {
	if err := s.checkJSON(body); err != nil {
		return nil, false, err
	}
	t = jsondoc.MustParse(body)
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, false, fanfold.Errorf(fanfold.Invalid, "the body must be a JSON object, the document")
	}
	if hasID, err = documentID(t, key); err != nil {
		return nil, false, err
	}
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		if name := t.Key(n); strings.HasPrefix(name, "_") && !slices.Contains(dropped, name) {
			return nil, false, fanfold.Errorf(fanfold.Unprocessable, "member %q: names that begin with _ are the store's own at the top level", name)
		}
	}
	return t, hasID, nil
}

// documentID compares the body's id with the key's, or gives the key its id.
func documentID(t *jsondoc.Tree, key *fanfold.Key) (hasID bool, err error) {
	n := t.Member(jsondoc.Root, "id")
	if n == jsondoc.None {
		if key.ID == "" {
			key.ID, err = newID()
		}
		return false, err
	}
	if kind := t.Kind(n); kind != jsondoc.String && kind != jsondoc.Number {
		return true, fanfold.Errorf(fanfold.Unprocessable, "member \"id\" must be a string or a number")
	}
	id := t.Text(n)
	if err := fanfold.CheckID(id); err != nil {
		return true, err
	}
	if key.ID == "" {
		key.ID = id
	}
	if id != key.ID {
		return true, fanfold.Errorf(fanfold.Unprocessable, "the body's id %q is not %q, under which it is written", id, key.ID)
	}
	return true, nil
}

// checkRelations refuses a document with more ids than a relation takes.
func checkRelations(c *fanfold.Collection, t *jsondoc.Tree) error {
	if c == nil {
		return nil
	}
	for _, r := range c.Relations {
		if n := len(r.Path.AppendIDs(nil, t, jsondoc.Root)); n > fanfold.MaxRelationIDs {
			return fanfold.Errorf(fanfold.Unprocessable, "relation %s holds %d ids at %s; at most %d are taken", r.Name, n, r.Path, fanfold.MaxRelationIDs)
		}
	}
	return nil
}
