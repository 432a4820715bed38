package leases

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/codeact-dev/codeact/policy"
)

// Why a call has no lease.
var (
	ErrNone    = errors.New("no lease")
	ErrExpired = errors.New("lease expired")
	ErrSpent   = errors.New("lease spent")
	ErrRevoked = errors.New("lease revoked")
)

// An Error says which tool's lease failed and how. It wraps one of the
// package's sentinels.
type Error struct {
	Tool  string
	Lease string // "" when there is none
	Err   error
}

func (e *Error) Error() string {
	if e.Lease == "" {
		return fmt.Sprintf("leases: %s: %v", e.Tool, e.Err)
	}
	return fmt.Sprintf("leases: %s: %s: %v", e.Tool, e.Lease, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// A Book holds the leases of one conversation. It is safe for concurrent use.
//
// Time comes in with every call and is the run's active time: a clock that
// stands still while a person is waited for.
type Book struct {
	mu     *sync.Mutex // shared with every book attenuated from this one
	leases []*entry    // guarded by mu; in the order they were granted
}

// An entry is a lease with its counter. A child's entry keeps its parent's, so
// that a spend counts in both and neither is a snapshot of the other.
type entry struct {
	Lease
	revoked bool
	parent  *entry
}

// NewBook returns a book without any lease.
func NewBook() *Book { return &Book{mu: new(sync.Mutex)} }

// Grant adds a lease. It refuses one that allows nothing, and an id that is
// already there.
func (b *Book) Grant(l Lease) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.grant(&entry{Lease: l})
}

func (b *Book) grant(e *entry) error {
	switch {
	case e.ID == "" || e.Tool == "":
		return &Error{e.Tool, e.ID, errors.New("a lease needs an id and a tool")}
	case e.Uses <= 0:
		return &Error{e.Tool, e.ID, fmt.Errorf("%w: it has no uses", ErrSpent)}
	case slices.ContainsFunc(b.leases, func(o *entry) bool { return o.ID == e.ID }):
		return &Error{e.Tool, e.ID, errors.New("a lease with this id was granted already")}
	}
	b.leases = append(b.leases, e)
	return nil
}

// Peek returns the first lease that could serve a call of tool now and that fits
// accepts, and takes nothing. fits may be nil. Without one, the error says how
// close the nearest came: revoked, spent or expired, else [ErrNone].
func (b *Book) Peek(tool string, tier policy.Tier, now time.Time, fits func(Lease) bool) (Lease, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	near := &Error{Tool: tool, Err: ErrNone}
	for _, e := range b.leases {
		if !e.Names(tool) || !e.Serves(tier) {
			continue
		}
		l := e.view()
		if err := e.check(now); err != nil {
			near = &Error{tool, e.ID, err}
			continue
		}
		if fits == nil || fits(l) {
			return l, nil
		}
	}
	return Lease{}, near
}

// Spend takes one use of the lease, in this book and in those it was attenuated
// from, or nothing at all. Its *Error wraps ErrNone, ErrRevoked, ErrExpired or
// ErrSpent.
func (b *Book) Spend(id string, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.find(id)
	if e == nil {
		return &Error{Lease: id, Err: ErrNone}
	}
	if err := e.check(now); err != nil {
		return &Error{e.Tool, id, err}
	}
	for p := e; p != nil; p = p.parent {
		p.Uses--
	}
	return nil
}

// Revoke ends the lease for good, and with it every lease cut from it. It
// reports whether the lease was there and still stood.
func (b *Book) Revoke(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.find(id)
	if e == nil || e.revoked {
		return false
	}
	e.revoked = true
	return true
}

// Attenuate returns a book for a child: each wanted lease, cut down to the first
// lease of b that could serve it. A use of the child's lease is a use of the
// parent's. Its error names every wanted lease that b does not cover, by its
// place; the book then holds the others.
func (b *Book) Attenuate(want ...Lease) (*Book, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	child := &Book{mu: b.mu}
	var errs []error
	for i, w := range want {
		if err := b.lend(child, w); err != nil {
			errs = append(errs, fmt.Errorf("lease %d: %w", i, err))
		}
	}
	return child, errors.Join(errs...)
}

func (b *Book) lend(child *Book, w Lease) error {
	err := error(&Error{w.Tool, w.ID, ErrNone})
	for _, e := range b.leases {
		if e.revoked {
			continue
		}
		l, cut := w.within(e.view())
		if cut == nil {
			return child.grant(&entry{Lease: l, parent: e})
		}
		if e.Names(w.Tool) {
			err = &Error{w.Tool, w.ID, cut}
		}
	}
	return err
}

// All returns the leases with what is left of each, in the order of the grants,
// revoked ones left out.
func (b *Book) All() []Lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ls []Lease
	for _, e := range b.leases {
		if !e.revoked {
			ls = append(ls, e.view())
		}
	}
	return ls
}

func (b *Book) find(id string) *entry {
	for _, e := range b.leases {
		if e.ID == id {
			return e
		}
	}
	return nil
}

// view is the lease with the uses that the whole chain still allows.
func (e *entry) view() Lease {
	l := e.Lease
	for p := e.parent; p != nil; p = p.parent {
		l.Uses = min(l.Uses, p.Uses)
	}
	return l
}

// check says why e cannot be spent now, looking at its parents too.
func (e *entry) check(now time.Time) error {
	for p := e; p != nil; p = p.parent {
		switch {
		case p.revoked:
			return ErrRevoked
		case !now.Before(p.Expires):
			return ErrExpired
		case p.Uses <= 0:
			return ErrSpent
		}
	}
	return nil
}
