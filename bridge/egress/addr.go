package egress

import "net/netip"

// network is a block of addresses that a request from a model must not reach.
type network struct {
	prefix  netip.Prefix
	what    string
	private bool // AllowPrivate opens it
}

func block(prefix, what string, private bool) network {
	return network{netip.MustParsePrefix(prefix), what, private}
}

// networks are the blocks of the IANA special-purpose registries (RFC 6890 and its updates) that are not public, and the addresses
// of clouds for their machines. The first that matches decides.
var networks = []network{
	block("127.0.0.0/8", "this machine", true),
	block("10.0.0.0/8", "a private network", true),
	block("172.16.0.0/12", "a private network", true),
	block("192.168.0.0/16", "a private network", true),
	block("100.100.100.200/32", "cloud metadata", false), // before the rest of its block
	block("100.64.0.0/10", "a carrier's network (CGNAT)", true),
	block("169.254.0.0/16", "a link-local address, as of cloud metadata", false),
	block("168.63.129.16/32", "the host of a cloud machine", false), // Azure's wire server answers at a public address
	block("0.0.0.0/8", "an unspecified address", false),
	block("192.0.0.0/24", "a protocol assignment", false),
	block("192.0.2.0/24", "an address for documentation", false),
	block("198.51.100.0/24", "an address for documentation", false),
	block("203.0.113.0/24", "an address for documentation", false),
	block("192.88.99.0/24", "a 6to4 relay", false),
	block("198.18.0.0/15", "a network for benchmarks", false),
	block("224.0.0.0/4", "a multicast address", false),
	block("240.0.0.0/4", "a reserved or broadcast address", false),
	block("::1/128", "this machine", true),
	block("fd00:ec2::/32", "cloud metadata", false), // before the rest of its block
	block("fc00::/7", "a private network (ULA)", true),
	block("fe80::/10", "a link-local address", false),
	block("fec0::/10", "a site-local address", false),
	block("ff00::/8", "a multicast address", false),
	block("2001::/23", "a protocol assignment (Teredo and others)", false),
	block("2001:db8::/32", "an address for documentation", false),
	block("3fff::/20", "an address for documentation", false),
}

var (
	sixToFour  = netip.MustParsePrefix("2002::/16")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	globalIPv6 = netip.MustParsePrefix("2000::/3") // all that IANA has given out
)

// forbidden says what an address is, if it must not be reached; "" lets it pass. An IPv4 address inside an IPv6 one is judged
// as what it leads to.
func forbidden(addr netip.Addr, allowPrivate bool) string {
	if !addr.IsValid() {
		return "no address"
	}
	if addr.Zone() != "" {
		return "an address of one interface"
	}
	addr = embedded(addr.Unmap())
	for _, n := range networks {
		if n.prefix.Contains(addr) {
			if n.private && allowPrivate {
				return ""
			}
			return n.what
		}
	}
	if addr.Is6() && !globalIPv6.Contains(addr) {
		return "an address outside the public IPv6 space"
	}
	return ""
}

// embedded is the IPv4 address that a 6to4 or NAT64 gateway sends to, else addr itself.
func embedded(addr netip.Addr) netip.Addr {
	b := addr.As16()
	switch {
	case addr.Is4():
		return addr
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16]))
	}
	return addr
}
