package egress

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		addr            string
		public, private bool // reached by default; reached with AllowPrivate
	}{
		{"8.8.8.8", true, true},
		{"1.1.1.1", true, true},
		{"100.63.255.255", true, true},
		{"100.128.0.0", true, true},
		{"172.15.255.255", true, true},
		{"172.32.0.0", true, true},
		{"223.255.255.255", true, true},
		{"2606:4700::1111", true, true},
		{"2a00:1450::1", true, true},
		{"::ffff:8.8.8.8", true, true}, // as some resolvers write an IPv4 answer
		{"64:ff9b::808:808", true, true},
		{"2002:808:808::1", true, true},

		{"127.0.0.1", false, true},
		{"127.255.255.254", false, true},
		{"10.0.0.1", false, true},
		{"172.16.0.1", false, true},
		{"172.31.255.255", false, true},
		{"192.168.1.1", false, true},
		{"100.64.0.1", false, true},
		{"100.127.255.255", false, true},
		{"::1", false, true},
		{"fc00::1", false, true},
		{"fd12:3456::1", false, true},
		{"::ffff:127.0.0.1", false, true},
		{"::ffff:10.0.0.1", false, true},
		{"64:ff9b::7f00:1", false, true},
		{"2002:7f00:1::", false, true},
		{"2002:a00:1::1", false, true},

		{"169.254.169.254", false, false},
		{"169.254.0.1", false, false},
		{"::ffff:169.254.169.254", false, false},
		{"64:ff9b::a9fe:a9fe", false, false},
		{"2002:a9fe:a9fe::", false, false},
		{"100.100.100.200", false, false},
		{"168.63.129.16", false, false},
		{"fd00:ec2::254", false, false},
		{"0.0.0.0", false, false},
		{"0.1.2.3", false, false},
		{"192.0.0.192", false, false},
		{"192.0.2.1", false, false},
		{"192.88.99.1", false, false},
		{"198.18.0.1", false, false},
		{"198.19.255.255", false, false},
		{"198.51.100.1", false, false},
		{"203.0.113.1", false, false},
		{"224.0.0.1", false, false},
		{"239.255.255.250", false, false},
		{"240.0.0.1", false, false},
		{"255.255.255.255", false, false},
		{"::", false, false},
		{"::127.0.0.1", false, false},
		{"::ffff:0:7f00:1", false, false},
		{"64:ff9b:1::7f00:1", false, false},
		{"100::1", false, false},
		{"2001::1", false, false},
		{"2001:db8::1", false, false},
		{"3fff::1", false, false},
		{"5f00::1", false, false},
		{"fe80::1", false, false},
		{"fe80::1%eth0", false, false},
		{"2606:4700::1111%eth0", false, false},
		{"fec0::1", false, false},
		{"ff02::1", false, false},
	} {
		addr := netip.MustParseAddr(c.addr)
		if what := forbidden(addr, false); (what == "") != c.public {
			t.Errorf("%s: %q", c.addr, what)
		}
		if what := forbidden(addr, true); (what == "") != c.private {
			t.Errorf("%s with private ones allowed: %q", c.addr, what)
		}
	}
	if forbidden(netip.Addr{}, true) == "" {
		t.Error("no address passed")
	}
}

// TestOnlyGlobalAddressesPass compares with the library, over all addresses and all ways to hide one.
func TestOnlyGlobalAddressesPass(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v4 := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(rt, "v4"))
		plain := netip.AddrFrom4(v4)
		mapped := netip.AddrFrom16(plain.As16())
		six := [16]byte{0x20, 0x02, v4[0], v4[1], v4[2], v4[3]}
		nat := [16]byte{0, 0x64, 0xff, 0x9b, 12: v4[0], 13: v4[1], 14: v4[2], 15: v4[3]}
		want := forbidden(plain, false)
		for _, addr := range []netip.Addr{mapped, netip.AddrFrom16(six), netip.AddrFrom16(nat)} {
			if got := forbidden(addr, false); got != want {
				rt.Fatalf("%s: %q, but %s: %q", addr, got, plain, want)
			}
		}
		any := netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, "v6")))
		for _, addr := range []netip.Addr{plain, any} {
			if forbidden(addr, false) == "" && (!addr.IsGlobalUnicast() || addr.IsPrivate()) {
				rt.Fatalf("%s passed", addr)
			}
		}
	})
}
