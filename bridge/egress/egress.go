// Package egress dials. It is an HTTP client for addresses that somebody else chose: it parses URLs strictly, refuses to reach
// this machine and its networks, checks every answer of the resolver and connects to nothing else, follows no redirect, and
// bounds what comes back.
//
// It does not judge what is sent or to whom: a GET to a public host carries a secret in its query as well as a POST does. It does
// not make what comes back harmless either: every byte of a Response is third-party text. Use no other client for tools.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"
)

// maxMaxBody bounds Config.MaxBody, in bytes: a body is held in memory.
const maxMaxBody = 1 << 30

// Config of a Client. The zero value reaches any public host and nothing else.
type Config struct {
	AllowPrivate   bool           // this machine and its networks too; cloud metadata and multicast stay refused
	Allow          []string       // "host:port", from the operator: reached whatever its address is
	AllowedDomains []string       // hosts, each with its sub-domains; empty means any
	Resolver       Resolver       // nil means net.DefaultResolver
	RootCAs        *x509.CertPool // nil means the system's
	Timeout        time.Duration  // for the whole exchange, body included; 0 means 30 s
	MaxBody        int64          // bytes, after decompression; 0 means 5 MiB, and 1 GiB is the most
	MaxHeader      int64          // bytes of response header; 0 means 64 KiB
	HostRate       Rate           // requests to one host; the zero Rate means 60 a minute

	Now func() time.Time // for HostRate; nil means time.Now
}

// Resolver finds the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Client does requests. It keeps no connection and no cookie between them, only how many each host had, and is safe for concurrent
// use. There are three ways out: Do for tools, DialContext for a proxy, RoundTripper for a library that has its own http.Client.
// Each makes the same checks.
type Client struct {
	cfg       Config // with defaults filled in
	allow     []string
	domains   []string
	meter     *meter
	transport *http.Transport
}

// New checks the configuration; every fault is returned at once.
func New(cfg Config) (*Client, error) {
	c := &Client{cfg: withDefaults(cfg)}
	var faults *multierror.Error
	for _, pair := range cfg.Allow {
		u, err := ParseURL("http://" + pair)
		if err != nil || !strings.HasSuffix(pair, ":"+u.Port) || u.Path != "/" || strings.HasSuffix(pair, "/") {
			faults = multierror.Append(faults, fmt.Errorf("egress: allow %q: want host:port", pair))
			continue
		}
		c.allow = append(c.allow, net.JoinHostPort(u.Host, u.Port))
	}
	for _, domain := range cfg.AllowedDomains {
		host, err := parseHost(strings.TrimPrefix(strings.TrimPrefix(domain, "*"), "."))
		if err != nil {
			faults = multierror.Append(faults, fmt.Errorf("egress: domain %q: want a host name like example.com", domain))
			continue
		}
		c.domains = append(c.domains, host)
	}
	if r := c.cfg.HostRate; r.N <= 0 || r.N > maxRate || r.Per <= 0 {
		faults = multierror.Append(faults, fmt.Errorf("egress: host rate: want from 1 to %d requests in a positive time", maxRate))
	}
	if cfg.Timeout < 0 || cfg.MaxBody < 0 || cfg.MaxBody > maxMaxBody || cfg.MaxHeader < 0 {
		faults = multierror.Append(faults, errors.New("egress: a limit is negative, or MaxBody over 1 GiB; 0 means the default"))
	}
	if err := faults.ErrorOrNil(); err != nil {
		return nil, err
	}
	c.meter = newMeter(c.cfg.HostRate, c.cfg.Now)
	c.transport = c.newTransport()
	return c, nil
}

func withDefaults(cfg Config) Config {
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 5 << 20
	}
	if cfg.MaxHeader == 0 {
		cfg.MaxHeader = 64 << 10
	}
	if cfg.HostRate == (Rate{}) {
		cfg.HostRate = defaultRate
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg
}

func (c *Client) newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // a proxy from the environment would resolve, and connect, behind the check
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.cfg.RootCAs},
		TLSHandshakeTimeout:    c.cfg.Timeout, // a handshake may outlive the request; all else ends with its context
		MaxResponseHeaderBytes: c.cfg.MaxHeader,
		DisableKeepAlives:      true, // each request is checked anew, and none outlives its Do
	}
}

// excepted says whether the operator lets this host and port be reached at any address.
func (c *Client) excepted(host, port string) bool {
	return slices.Contains(c.allow, net.JoinHostPort(host, port))
}

// HostAllowed says whether host is one of the domains or a sub-domain of one. No domain allows nothing. An address is only equal
// to itself.
func HostAllowed(host string, domains []string) bool {
	host, err := parseHost(host)
	if err != nil {
		return false
	}
	_, notAddr := netip.ParseAddr(host)
	for _, d := range domains {
		d, err := parseHost(strings.TrimPrefix(strings.TrimPrefix(d, "*"), "."))
		if err == nil && (host == d || notAddr != nil && strings.HasSuffix(host, "."+d)) {
			return true
		}
	}
	return false
}
