// Searchindex keeps a search index right by the change feed: which words each document has, derived fields included. The
// index is a file, which also holds the position up to which it is right.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"unicode"

	"github.com/fanfold/fanfold/client"
)

// index is what the file holds. Position and documents are written together, so that they always fit each other.
type index struct {
	Position  string              `json:"position"`  // everything up to here is in the index
	Documents map[string][]string `json:"documents"` // words by <collection>/<id>
}

func main() {
	server := flag.String("server", cmp.Or(os.Getenv("FANFOLD_SERVER"), "http://127.0.0.1:8080"), "URL of the server")
	file := flag.String("index", "index.json", "file of the index")
	collections := flag.String("collections", "books", "what is indexed, separated by commas")
	filter := flag.String("filter", "", "only documents of which this CEL expression is true, such as doc.lang == 'en'")
	word := flag.String("search", "", "print the documents that have this word, and end")
	once := flag.Bool("once", false, "end when the index is up to date")
	flag.Parse()
	ix, err := load(*file)
	if err == nil && *word != "" {
		ix.search(*word)
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = ix.follow(ctx, *server, client.ChangesOptions{Collections: strings.Split(*collections, ","), Filter: *filter, Once: *once, MustConnect: *once}, *file)
		stop()
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// follow brings the index up to date, and keeps it so until ctx ends or, with opt.Once, there is no more.
func (ix *index) follow(ctx context.Context, server string, opt client.ChangesOptions, file string) error {
	c, err := client.New(server, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		opt.Since, opt.Mode, opt.IncludeDocs = ix.Position, client.Latest, true
		err := ix.apply(ctx, c, opt, file)
		var failure *client.Error
		if !errors.As(err, &failure) || failure.Status != 410 {
			return err
		}
		// The position means nothing any more: another store, or a history that is gone. Nothing can be caught up with, so
		// that the index is made anew from the beginning.
		log.Printf("%v: the index is made anew", failure)
		*ix = index{Position: "0", Documents: map[string][]string{}}
	}
}

// apply applies changes, and saves the index when it is up to date and after every hundredth change.
func (ix *index) apply(ctx context.Context, c *client.Client, opt client.ChangesOptions, file string) error {
	unsaved := 0
	var saving error
	opt.OnPosition = func(position string) {
		ix.Position = position
		saving = errors.Join(saving, ix.save(file))
	}
	for change, err := range c.Changes(ctx, opt) {
		if err = errors.Join(err, saving); err != nil {
			return err
		}
		key := change.Collection + "/" + change.ID
		if change.Gone() { // deleted, erased or, with a filter, not matching any more
			delete(ix.Documents, key)
		} else if ix.Documents[key], err = words(change.Doc); err != nil {
			return err
		}
		ix.Position = change.Seq
		if unsaved++; unsaved >= 100 {
			unsaved = 0
			saving = ix.save(file)
		}
	}
	return saving
}

// words returns the words in a document's strings.
func words(doc json.RawMessage) ([]string, error) {
	members, err := client.Decode[map[string]any](doc)
	if err != nil {
		return nil, err
	}
	delete(members, "_meta")
	found := map[string]bool{}
	var collect func(value any)
	collect = func(value any) {
		switch v := value.(type) {
		case string:
			for _, word := range strings.FieldsFunc(strings.ToLower(v), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				found[word] = true
			}
		case []any:
			for _, element := range v {
				collect(element)
			}
		case map[string]any:
			for _, member := range v {
				collect(member)
			}
		}
	}
	collect(members)
	return slices.Sorted(maps.Keys(found)), nil
}

// search prints the documents that have a word.
func (ix *index) search(word string) {
	for _, key := range slices.Sorted(maps.Keys(ix.Documents)) {
		if slices.Contains(ix.Documents[key], strings.ToLower(word)) {
			fmt.Println(key)
		}
	}
}

// load reads the index, which is empty and at the beginning where there is no file.
func load(file string) (*index, error) {
	ix := &index{Position: "0", Documents: map[string][]string{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return ix, nil
	}
	if err != nil {
		return nil, err
	}
	return ix, json.Unmarshal(text, ix)
}

// save writes the index under another name first, so that the file is always whole.
func (ix *index) save(file string) error {
	text, err := json.Marshal(ix)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
