package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers as an engine's does: a service's name has the addresses of its running containers.
type nameServer struct {
	conn net.PacketConn

	mu        sync.Mutex
	addresses map[string][]netip.Addr
}

// listenNames starts a name server on a free UDP port of an address. The caller runs and closes it.
func listenNames(ip netip.Addr) (*nameServer, error) {
	conn, err := net.ListenPacket("udp", netip.AddrPortFrom(ip, 0).String())
	if err != nil {
		return nil, err
	}
	return &nameServer{conn: conn, addresses: map[string][]netip.Addr{}}, nil
}

// set sets the addresses that a name has.
func (s *nameServer) set(name string, addresses []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses[name+"."] = addresses
}

// Run answers until ctx ends, and returns nil then.
func (s *nameServer) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })()
	for buf := make([]byte, 4096); ; {
		n, from, err := s.conn.ReadFrom(buf)
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return nil //nolint:nilerr // the end that was asked for
		}
		if err != nil {
			return err
		}
		if answer, err := s.answer(buf[:n]); err == nil {
			_, _ = s.conn.WriteTo(answer, from) // one that is lost is asked for again
		}
	}
}

// answer returns the answer to a query: for a name that no service has, that there is none.
func (s *nameServer) answer(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	addresses, known := s.addresses[q.Name.String()]
	s.mu.Unlock()
	m := dnsmessage.Message{Questions: []dnsmessage.Question{q},
		Header: dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true, RecursionDesired: header.RecursionDesired}}
	if !known || len(addresses) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addresses {
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Body: &dnsmessage.AResource{A: a.As4()},
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}})
		}
	}
	return m.Pack()
}

// loopback returns the n-th address of a network of the loopback interface, whose addresses all are this machine's.
func loopback(network [3]byte, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{network[0], network[1], network[2], byte(n)})
}

// freeNetwork returns a network of the loopback interface on which nobody listens at the ports. It starts looking at seed.
func freeNetwork(seed uint16, ports ...int) ([3]byte, error) {
	for i := range uint16(64) {
		at := seed + i
		network := [3]byte{127, 64 + byte(at>>8)%128, byte(at)}
		if free(network, ports) {
			return network, nil
		}
	}
	return [3]byte{}, fmt.Errorf("no network of 127.0.0.0/8 is free: this needs Linux, where all of these addresses are the machine's own, and nobody who listens on all addresses at one of the ports %v", ports)
}

// free tells whether the first addresses of a network can be listened on.
func free(network [3]byte, ports []int) bool {
	for _, port := range append(ports, 0) {
		for n := 1; n <= 16; n++ {
			l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", loopback(network, n), port))
			if err != nil {
				return false
			}
			_ = l.Close()
		}
	}
	return true
}
