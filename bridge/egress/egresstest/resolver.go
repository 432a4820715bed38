package egresstest

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
)

// A Resolver answers every name alike: the first lookup with the first of Answers, and so on, those after the last with the last.
// It is safe for concurrent use.
type Resolver struct {
	Answers []string // each a list of addresses, with spaces between them
	asked   atomic.Int64
}

// LookupNetIP makes it an egress.Resolver. Without Answers no name is known.
func (r *Resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n := int(r.asked.Add(1)) - 1
	if len(r.Answers) == 0 {
		return nil, fmt.Errorf("lookup %s: no such host", host)
	}
	var addrs []netip.Addr
	for text := range strings.FieldsSeq(r.Answers[min(n, len(r.Answers)-1)]) {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, err
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// Asked is the number of lookups.
func (r *Resolver) Asked() int { return int(r.asked.Load()) }
