package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
)

// accessModel lets support read every book, and everybody else those that are theirs. One in a hundred is rare's, and the others are ann's.
const accessModel = `{"collections":{"authors":{},"books":{"indexes":{"byOwner":["owner"]},
"access":{"read":{"roles":["support"],"where":"doc.owner == auth.sub && auth.sub in doc.members"},"create":["support"],"delete":["support"],
"update":{"roles":["support"],"where":"old.owner == auth.sub && doc.owner == old.owner"}}}}}`

// accessBooks is how many books there are.
const accessBooks = 10_000

// ownedBook returns a book of a kilobyte with its owner.
func ownedBook(i int) string {
	owner := "ann"
	if i%100 == 0 {
		owner = "rare"
	}
	return fmt.Sprintf(`{"id":"%d","title":"Book %d","owner":"%s","members":["bob","eve","%s"],"summary":"%0900d"}`, i, i, owner, owner, i)
}

// withKey sends a key with requests that have no body.
func withKey(key string, path func(n int) string) request {
	return func(dst []byte, worker, n int) []byte {
		dst = append(append(dst, "GET "...), path(worker*7919+n*31)...)
		return append(append(append(dst, " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "...), key...), "\r\n\r\n"...)
	}
}

// accessBook is the number of one of ann's books.
func accessBook(i int) int { return i%accessBooks/100*100 + 1 + i%99 }

// rewritesWithKey writes ann's books by a key. Each request of a round writes other content, and so does each round.
func rewritesWithKey(key string, round int) request {
	return func(dst []byte, worker, n int) []byte {
		i := accessBook(worker*7919 + n*31)
		body := ownedBook(i)
		body = fmt.Sprintf(`%s,"round":"%s %d %d"}`, body[:len(body)-1], key[:8], round, n)
		return appendBody(dst, "PUT /v1/books/"+strconv.Itoa(i), "application/json\r\nAuthorization: Bearer "+key, []byte(body))
	}
}

// benchAccess compares reads and writes under rules that judge each document with those under an unconditional right.
func benchAccess(ctx context.Context, b *bench) error {
	s := benchStore{model: accessModel, authors: 1, books: accessBooks, text: ownedBook}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		secret := map[string]string{}
		for _, k := range []keys.Settings{{Name: "ops", Roles: []string{"admin"}}, {Name: "support", Roles: []string{"support"}}, {Name: "ann", Sub: "ann", Roles: []string{"member"}}, {Name: "rare", Sub: "rare", Roles: []string{"member"}}} {
			_, key, err := n.Keys().Create(ctx, k)
			if err != nil {
				return err
			}
			secret[k.Name] = key.Text()
		}
		one := func(i int) string { return "/v1/books/" + strconv.Itoa(accessBook(i)) }
		list := func(int) string { return "/v1/books?limit=50" }
		for _, row := range []struct {
			name, who string
			path      func(int) string
			conns     int
		}{
			{"GET under a rule", "ann", one, 64}, {"lists of 50 under a rule, nearly all visible", "ann", list, 16},
			{"lists of 50 under a rule, one in a hundred visible by an index", "rare", list, 16},
		} {
			if err := b.pair(pair{name: fmt.Sprintf("%s, %d connections", row.name, row.conns), unit: "req/s", limit: "the same with a right to all",
				ours:  rateOf(ctx, n.Addr(), row.conns, withKey(secret[row.who], row.path)),
				plain: rateOf(ctx, n.Addr(), row.conns, withKey(secret["support"], row.path))}); err != nil {
				return err
			}
		}
		if err := keyBesideOpen(ctx, b, n.Addr(), secret["support"], one); err != nil {
			return err
		}
		put := func(who string) func(round int) (float64, error) {
			return func(round int) (float64, error) {
				return rateOf(ctx, n.Addr(), 64, rewritesWithKey(secret[who], round))(round)
			}
		}
		return b.pair(pair{name: "durable PUT under a rule, 64 connections", unit: "writes/s", limit: "the same with a right to all", ours: put("ann"), plain: put("support")})
	})
}

// openModel lets everybody do everything, as accessModel lets support.
const openModel = `{"collections":{"authors":{},"books":{"indexes":{"byOwner":["owner"]}}}}`

// keyBesideOpen compares reads by a key with reads in a store without keys.
func keyBesideOpen(ctx context.Context, b *bench, addr, key string, path func(int) string) error {
	open := benchStore{model: openModel, authors: 1, books: accessBooks, text: ownedBook}
	return open.run(ctx, filepath.Join(b.dir, "open"), func(ctx context.Context, n *node.Node, _ *client.Client) error {
		return b.pair(pair{name: "GET with a key, 64 connections", unit: "req/s", limit: "the same in a store without keys",
			ours: rateOf(ctx, addr, 64, withKey(key, path)), plain: rateOf(ctx, n.Addr(), 64, gets(path))})
	})
}

// accessFeedModel lets everybody read every book, by a rule.
const accessFeedModel = `{"collections":{"authors":{},"books":{"access":{"read":{"roles":["support"],"where":"doc.id != auth.sub"},"write":["support"]}}}}`

// accessFeed compares the time from acknowledgements to rows beside 1,000/scale subscribers under a rule with the one beside as many with a right to all.
func accessFeed(ctx context.Context, b *bench) error {
	most := 1000 / b.scale
	secret, err := b.keyed(ctx, min(most, keys.MaxKeys-2))
	if err != nil {
		return err
	}
	return withServer(ctx, b.dir, func(s *server) error {
		all := by(s.addr, secret[0])
		var judged []sender
		for _, x := range secret[1:] {
			judged = append(judged, by(s.addr, x))
		}
		p99 := func(readers []sender) func(int) (float64, error) {
			return func(int) (float64, error) {
				m, err := s.round(ctx, manyRound{subscribers: most}, senders{all, readers})
				return m.p99, err
			}
		}
		err := b.pair(pair{name: fmt.Sprintf("feed, %d subscribers of one key under a rule, p99", most), unit: "ms", limit: "the same with a right to all; less is faster", rounds: 3, cold: true,
			ours: p99(judged[:1]), plain: p99([]sender{all})})
		if err != nil {
			return err
		}
		for _, readers := range [][]sender{{all}, judged[:1], judged} {
			m, err := s.round(ctx, manyRound{subscribers: most}, senders{all, readers})
			if err != nil {
				return err
			}
			last := &b.results[len(b.results)-1]
			last.Notes = append(last.Notes, fmt.Sprintf("with %d principals: %s", len(readers), m))
		}
		return nil
	})
}

// keyed makes a store with keys, and returns their secrets: one with a right to all, then others under a rule.
func (b *bench) keyed(ctx context.Context, others int) (secret []string, err error) {
	err = (benchStore{model: accessFeedModel, authors: 1, books: 10_000 / b.scale}).run(ctx, b.dir, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		all := []keys.Settings{{Name: "ops", Roles: []string{"admin"}}, {Name: "support", Roles: []string{"support"}}}
		for i := range others {
			all = append(all, keys.Settings{Name: fmt.Sprintf("reader %d", i), Sub: fmt.Sprintf("reader-%d", i), Roles: []string{"member"}})
		}
		for _, k := range all {
			_, key, err := n.Keys().Create(ctx, k)
			if err != nil {
				return err
			}
			if k.Name != "ops" {
				secret = append(secret, key.Text())
			}
		}
		return nil
	})
	return secret, err
}
