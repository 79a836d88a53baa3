package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bystanders measures what requests for other documents see while one event rewrites many copies.
type bystanders struct {
	*bench
	on     *nodes
	copies int
	others int              // books after the copies, which no rename reaches
	book   func(int) string // the text of a book
}

// benchBystanders measures requests beside renames of 10,000, 100,000 and so on copies, up to what the command line asks for.
func benchBystanders(ctx context.Context, b *bench) error {
	for copies := 10_000 / b.scale; ; copies *= 10 {
		copies = min(copies, b.documents)
		if b.nodes.nats != "" || b.nodes.steps > 1 {
			copies = b.documents // the log is filled once
		}
		by, steps := bystanders{bench: b, copies: copies, others: 10_000 / b.scale}, b.nodes.steps
		s := benchStore{model: publisherModel, authors: benchAuthors, books: copies + by.others, publisher: func(i int) int {
			if i < copies {
				return i % steps // so many publishers are renamed one after the other, and have the copies between them
			}
			return steps + i%(benchAuthors-steps)
		}}
		by.book = s.book
		err := b.nodes.run(ctx, filepath.Join(b.dir, strconv.Itoa(copies)), s, func(n *nodes) error {
			by.on = n
			return by.run(ctx)
		})
		if err != nil || copies == b.documents {
			return err
		}
	}
}

const (
	bystanderRate = 100 // requests of each kind a second, however many are unanswered
	mostWaiting   = 2000
	quietPhase    = 3 * time.Second
	aftermath     = 2 * time.Second
)

// bystander is a kind of request for a document that no rename reaches.
type bystander struct {
	name, method, query string
	header              [2]string
	statuses            []int // that say that all is well; the last one, that the fold was waited for too long
}

// bystanderKinds are the kinds, the one that gives the result its figure first.
var bystanderKinds = []bystander{
	{"PUT", http.MethodPut, "", [2]string{}, []int{http.StatusNoContent, http.StatusAccepted}},
	{"PUT, respond-async", http.MethodPut, "", [2]string{"Prefer", "respond-async"}, []int{http.StatusAccepted, 0}},
	{"GET", http.MethodGet, "", [2]string{}, []int{http.StatusOK, 0}},
	{"GET, consistency=strong", http.MethodGet, "?consistency=strong", [2]string{}, []int{http.StatusOK, http.StatusGatewayTimeout}},
}

// seen is what the requests of one kind saw in some time.
type seen struct {
	millis []float64 // from when each was due to its answer, sorted
	late   int       // answers that say that the fold was waited for too long
}

// String returns the figures.
func (s seen) String() string {
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms, longest %.0f ms", percentile(s.millis, 50), percentile(s.millis, 99), percentile(s.millis, 100))
}

// run renames, over and over if there are few copies. It adds the figures of each kind of request beside the figures
// of the same requests before.
func (b bystanders) run(ctx context.Context) error {
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(bystanderKinds) * mostWaiting}}
	defer web.CloseIdleConnections()
	if _, err := b.phase(ctx, web, func() error { return b.rename(ctx, web, "warm-up") }); err != nil {
		return err
	}
	pass := func(length time.Duration) ([]seen, error) {
		return b.phase(ctx, web, func() error { time.Sleep(length); return nil })
	}
	after, err := pass(aftermath)
	if err != nil {
		return err
	}
	quiet, err := pass(quietPhase)
	if err != nil {
		return err
	}
	rounds := min(20, max(1, 500_000/b.copies))
	busy := make([]seen, len(bystanderKinds))
	var took time.Duration
	var disk int64
	cpu := b.on.cpu()
	for i := range rounds {
		began := time.Now()
		var more []seen
		most, err := b.on.mostRows(func() (err error) {
			more, err = b.phase(ctx, web, func() error { return b.rename(ctx, web, fmt.Sprint("Press", i)) })
			return err
		})
		if err != nil {
			return err
		}
		took, disk = took+time.Since(began), max(disk, most)
		for k := range more {
			busy[k].millis, busy[k].late = append(busy[k].millis, more[k].millis...), busy[k].late+more[k].late
		}
		if i+1 < rounds { // requests that waited are answered, and what they stored is folded
			time.Sleep(100 * time.Millisecond)
		}
	}
	b.report(quiet, busy, fmt.Sprintf("rename, and what had to wait for it: %.2f s, CPU of the first node %.2f s, and %.0f bytes a copy more on its disk at most",
		took.Seconds()/float64(rounds), (b.on.cpu()[0]-cpu[0]).Seconds()/float64(rounds), float64(disk)/float64(b.copies)),
		fmt.Sprintf("in the %v after a rename, while SQLite moves its log into its file: PUT longest %.0f ms, GET longest %.0f ms",
			aftermath, percentile(after[0].millis, 100), percentile(after[2].millis, 100)))
	return nil
}

// report adds what requests saw before and during renames.
func (b bystanders) report(quiet, busy []seen, notes ...string) {
	for k := range busy {
		slices.Sort(busy[k].millis)
	}
	name := fmt.Sprintf("PUT beside a rename of %d copies, p99", b.copies)
	if b.nodes.steps > 1 {
		name = fmt.Sprintf("PUT beside %d renames of %d copies, p99", b.nodes.steps, b.copies/b.nodes.steps)
	}
	notes = append([]string{fmt.Sprintf("limit: the same %d requests a second of each kind before; less is faster", bystanderRate)}, notes...)
	for k, kind := range bystanderKinds {
		note := fmt.Sprintf("%s: %v; before: %v", kind.name, busy[k], quiet[k])
		if late := kind.statuses[1]; late != 0 {
			note += fmt.Sprintf("; %d of %d answered %d", busy[k].late, len(busy[k].millis), late)
		}
		notes = append(notes, note)
	}
	most := 0
	for _, s := range b.on.servers {
		most = max(most, s.memory("VmHWM"))
	}
	notes = append(notes, fmt.Sprintf("%d nodes, each request to the next one; most memory of one: %d MB", len(b.on.servers), most/1024))
	b.one(name, "ms", percentile(busy[0].millis, 99), percentile(quiet[0].millis, 99), notes...)
}

// rename gives publishers a new name, and returns once every node has folded it.
func (b bystanders) rename(ctx context.Context, web *http.Client, name string) error {
	for step := range b.nodes.steps {
		url := fmt.Sprintf("%s/v1/publishers/%d", b.on.servers[0].url(), step)
		req, err := http.NewRequestWithContext(ctx, http.MethodPatch, url+"?allowFanout=true", strings.NewReader(`{"name":"`+name+`"}`))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/merge-patch+json")
		req.Header.Set("Prefer", "respond-async")
		_, header, err := answer(web, req, http.StatusAccepted)
		if err != nil {
			return err
		}
		for i := range b.on.servers {
			url := fmt.Sprintf("%s/v1/publishers/%d", b.on.servers[i].url(), step)
			if err := awaitPosition(ctx, web, url, header.Get("Fanfold-Position")); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitPosition returns once a node has folded a position; it asks the node for a document.
func awaitPosition(ctx context.Context, web *http.Client, url, position string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		req.Header.Set("Fanfold-Min-Position", position)
		req.Header.Set("Fanfold-Timeout", "60")
		status, _, err := answer(web, req, http.StatusOK, http.StatusGatewayTimeout)
		if err != nil || status == http.StatusOK {
			return err
		}
	}
}

// phase lets requests of every kind come, each at its time whether the one before is answered or not, until until returns.
// It returns what they saw, the kinds in the order of bystanderKinds, once all are answered.
func (b bystanders) phase(ctx context.Context, web *http.Client, until func() error) ([]seen, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	out, errs := make([]seen, len(bystanderKinds)), make([]error, len(bystanderKinds))
	var wg sync.WaitGroup
	for k := range bystanderKinds {
		wg.Go(func() { out[k], errs[k] = b.stand(ctx, running, web, k) })
	}
	err := until()
	stop()
	wg.Wait()
	return out, errors.Join(append(errs, err)...)
}

// stand sends the requests of one kind until running ends.
func (b bystanders) stand(ctx, running context.Context, web *http.Client, k int) (s seen, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	room := make(chan struct{}, mostWaiting)
	began := time.Now()
	for n := 0; running.Err() == nil; n++ {
		due := began.Add(time.Duration(n) * time.Second / bystanderRate)
		select {
		case <-running.Done():
		case <-time.After(time.Until(due)):
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			late, failed := b.send(ctx, web, k, n)
			mu.Lock()
			defer mu.Unlock()
			s.millis = append(s.millis, time.Since(due).Seconds()*1000)
			if late {
				s.late++
			}
			err = errors.Join(err, failed)
		})
	}
	wg.Wait()
	slices.Sort(s.millis)
	return s, err
}

// send sends request n of a kind to the next node, and returns whether it is answered that the fold was waited for too long.
func (b bystanders) send(ctx context.Context, web *http.Client, k, n int) (late bool, err error) {
	kind := bystanderKinds[k]
	book := b.copies + (n*len(bystanderKinds)+k)*31%b.others
	var body io.Reader = http.NoBody
	if kind.method == http.MethodPut {
		body = strings.NewReader(fmt.Sprintf(`%s,"write":%d}`, strings.TrimSuffix(b.book(book), "}"), time.Now().UnixNano())) // another one each time, or nothing is stored
	}
	url := b.on.servers[n%len(b.on.servers)].url() + "/v1/books/" + strconv.Itoa(book) + kind.query
	req, err := http.NewRequestWithContext(ctx, kind.method, url, body)
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	if kind.header[0] != "" {
		req.Header.Set(kind.header[0], kind.header[1])
	}
	status, _, err := answer(web, req, kind.statuses...)
	return err == nil && status == kind.statuses[1], err
}
