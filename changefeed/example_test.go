package changefeed_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/model"
)

// Example asks a feed for the changes after a position.
func Example() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"results":[
	// {"seq":"2-0","collection":"books","id":"b2","op":"create","rev":2,"time":"2026-01-02T03:04:02Z"}
	// ],"last_seq":"2-0","pending":0}
}

func run() (err error) {
	feed := changefeed.New(newMemoryStore(create(1, "b1"), create(2, "b2")), changefeed.Options{})
	defer feed.Close()
	m := model.Empty()
	rights := access.NewJudge(access.Everybody{}, func() *model.Model { return m }).Of(access.Open)
	q := changefeed.Query{Rights: rights, Since: "1-0", Selection: changefeed.Selection{AllChanges: true}}
	w := httptest.NewRecorder()
	if err := feed.Serve(w, httptest.NewRequest(http.MethodGet, "/v1/_changes", nil), q); err != nil {
		return err
	}
	fmt.Print(w.Body)
	return nil
}
