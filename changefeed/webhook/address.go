package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"github.com/fanfold/fanfold"
)

// MaxAllowed bounds the networks that an operator allows.
const MaxAllowed = 100

// ParseAllowed reads a network that may be posted to though it is private, such as 10.1.0.0/16. The error is Invalid.
func ParseAllowed(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || p != p.Masked() || p.Addr().Is4In6() {
		return netip.Prefix{}, fanfold.Errorf(fanfold.Invalid, "%q is no network such as 10.1.0.0/16 or fd00:1::/64, with zeros after its length", fanfold.Clip(text))
	}
	return p, nil
}

// special are networks that no receiver on the Internet has: this host's, private and shared ones, and one link's. Others are for
// documents, for measuring or for multicast, or their addresses stand for other ones.
var special = prefixes("0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 " +
	"198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 2001::/23 2001:db8::/32 2002::/16 3fff::/20")

// global are the addresses of IPv6 that the Internet has; fd00::/8, fe80::/10, 64:ff9b::/96 and ::1 are not among them.
var global = netip.MustParsePrefix("2000::/3")

// prefixes reads networks with blanks between them.
func prefixes(text string) (out []netip.Prefix) {
	for one := range strings.FieldsSeq(text) {
		out = append(out, netip.MustParsePrefix(one))
	}
	return out
}

// within reports whether a network has an address.
func within(all []netip.Prefix, a netip.Addr) bool {
	for _, p := range all {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// allows reports whether posts may go to an address, and without TLS.
func (o *Options) allows(a netip.Addr, plain bool) bool {
	a = a.Unmap() // ::ffff:10.0.0.1 is 10.0.0.1
	switch {
	case !a.IsValid() || a.Zone() != "":
		return false
	case within(o.Allow, a):
		return true
	}
	return !plain && !within(special, a) && (a.Is4() || global.Contains(a))
}

// forbiddenError says that no address of a host may be posted to. It does not tell which addresses these are.
type forbiddenError struct{}

// Error returns the error's text.
func (*forbiddenError) Error() string { return "no address of the host may be posted to" }

// dialer connects to addresses that are allowed. A name is looked up once, and the connection goes to what was found then: whatever
// the name means a moment later, nobody asks.
type dialer struct {
	opt   *Options
	plain bool // for connections without TLS
}

// dial connects to a host and a port.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := d.opt.Resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	err = &forbiddenError{}
	for _, a := range found[:min(len(found), maxLookedUp)] {
		if !d.opt.allows(a, d.plain) {
			continue
		}
		var conn net.Conn
		if conn, err = (&net.Dialer{Control: d.control}).DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// control refuses a socket to an address that is not allowed, whatever has led to it.
func (d *dialer) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !d.opt.allows(at.Addr(), d.plain) {
		return errors.Join(&forbiddenError{}, err)
	}
	return nil
}

// resolve looks up the addresses of a host, which may be an address.
func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}
