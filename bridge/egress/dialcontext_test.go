package egress

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/egress/egresstest"
)

// FuzzSplitDial holds that what a program asks its proxy for is read as the host of a URL is, or refused.
func FuzzSplitDial(f *testing.F) {
	for _, a := range egresstest.Attacks("80") {
		if hostport, ok := a.HostPort(); ok {
			f.Add(hostport)
		}
	}
	f.Add("bücher.example:443")
	f.Add("[2606:4700::1111]:8443")
	f.Fuzz(func(t *testing.T, hostport string) {
		host, port, err := splitDial(hostport)
		if err != nil {
			if !errors.Is(err, ErrRefused) {
				t.Fatalf("%q: %v is not a refusal", hostport, err)
			}
			return
		}
		u, err := ParseURL("https://" + hostport + "/")
		if err != nil || u.Host != host || u.Port != port {
			t.Fatalf("%q is %s and %s, but in a URL %+v: %v", hostport, host, port, u, err)
		}
		again, port2, err := splitDial(net.JoinHostPort(host, port))
		if err != nil || again != host || port2 != port || strings.ContainsAny(host, "@/\\%?# ") {
			t.Fatalf("%q became %s and %s, which became %s and %s: %v", hostport, host, port, again, port2, err)
		}
	})
}
