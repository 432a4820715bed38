package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// maxAddresses bounds the attempts to connect: a name may have hundreds of answers.
const maxAddresses = 8

// dial resolves once, checks every answer, and connects to those answers only: a name that is resolved again between check and
// connection can change its mind (DNS rebinding).
func (c *Client) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	addrs, err := c.resolve(ctx, host, port)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{ControlContext: c.control(host, port)}
	var faults []error
	for i, addr := range addrs {
		conn, err := attempt(ctx, dialer, network, net.JoinHostPort(addr.String(), port), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// attempt connects to one address, in its share of the time that is left.
func attempt(ctx context.Context, dialer net.Dialer, network, hostport string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		dialer.Timeout = time.Until(deadline) / time.Duration(left)
	}
	return dialer.DialContext(ctx, network, hostport)
}

// resolve returns the addresses of a host. One bad answer among good ones refuses them all: who mixes them is trying.
func (c *Client) resolve(ctx context.Context, host, port string) ([]netip.Addr, error) {
	addrs, err := c.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("lookup %s: no address", host)
	}
	for i := range addrs {
		if err := c.check(host, port, addrs[i]); err != nil {
			return nil, err
		}
		addrs[i] = addrs[i].Unmap()
	}
	return addrs[:min(len(addrs), maxAddresses)], nil
}

func (c *Client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := c.cfg.Resolver.LookupNetIP(ctx, "ip", host)
	return slices.Clone(addrs), err
}

func (c *Client) check(host, port string, addr netip.Addr) error {
	if c.excepted(host, port) {
		return nil
	}
	if what := forbidden(addr, c.cfg.AllowPrivate); what != "" {
		return refuse(host, "it leads to "+what+", which tools must not reach; use a public host, or ask the operator to allow "+net.JoinHostPort(host, port))
	}
	return nil
}

// control checks again at the last moment, on the address that the socket is about to connect to.
func (c *Client) control(host, port string) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return refuse(host, "its address cannot be checked")
		}
		return c.check(host, port, at.Addr())
	}
}
