package policy

import (
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/policy/match"
)

// An AuthorityConfig is what is known before a run starts.
type AuthorityConfig struct {
	User         []string // the goal, the parameters, user messages, the instructions of a trusted task
	Destinations []string // named by the operator: exact values, "*@example.com", hosts
	Identity     []string // the user's own addresses and accounts
}

// An Authority is what the user and the operator named, and the records that tool
// results brought. [Named] only reads it; it grows by [Authority.Say] and
// [Authority.Learn]. The nil Authority names nothing.
//
// It is folded from the events of a run, in their order, so that a resumed or
// replayed run decides the same. Say and Learn must not run at the same time as
// each other or as any other method.
type Authority struct {
	user     *match.Wording
	operator map[string]bool // by id of the value
	mailOf   map[string]bool // hosts of the "*@host" patterns
	hosts    map[string]bool // hosts whose every URL is named
	identity map[string]bool

	records   records
	directory map[string]bool // entries of an account's own directory
	results   []kept          // texts of the results, for the question only
	bytes     int             // bytes in results
}

// NewAuthority indexes what c names.
func NewAuthority(c AuthorityConfig) *Authority {
	a := &Authority{
		user:      match.NewWording(),
		operator:  make(map[string]bool),
		mailOf:    make(map[string]bool),
		hosts:     make(map[string]bool),
		identity:  make(map[string]bool),
		directory: make(map[string]bool),
		records:   newRecords(),
	}
	for _, s := range c.User {
		a.Say(s)
	}
	for _, s := range c.Destinations {
		a.permit(strings.TrimSpace(s))
	}
	for _, s := range c.Identity {
		include(a.identity, match.TextTerm(strings.TrimSpace(s)))
	}
	return a
}

// Say takes a later message of the user.
func (a *Authority) Say(text string) { a.user.Add(text) }

func (a *Authority) permit(s string) {
	if host, ok := strings.CutPrefix(s, "*@"); ok {
		a.mailOf[match.Fold(host)] = true
		return
	}
	t := match.TextTerm(s)
	include(a.operator, t)
	if t.Kind() == match.Address && !strings.Contains(s, "://") {
		a.hosts[t.Loose()] = true
	}
}

func include(set map[string]bool, t match.Term) {
	if k := t.Loose(); k != "" {
		set[k] = true
	}
}

// names reports whether t, the value of parameter param of a tool, is named by
// rules 1 to 5 or 7. id says that the parameter holds an id.
func (a *Authority) names(tool, param string, t match.Term, id bool) bool {
	return t.Kind() == match.Neutral || a != nil && (a.byUser(tool, param, t, id) || a.byOperator(t) ||
		a.records.name(a.user, param, t) || a.directory[t.ID()])
}

// byUser is rule 1.
func (a *Authority) byUser(tool, param string, t match.Term, id bool) bool {
	if id && !hasLetter(t.Loose()) {
		return a.user.NamesID(t, tool, param)
	}
	return a.user.Names(t)
}

// byOperator is rules 2 and 3, except for paths.
func (a *Authority) byOperator(t match.Term) bool {
	k := t.Loose()
	switch {
	case k == "":
		return false
	case a.operator[k] || a.identity[k]:
		return true
	case t.Kind() == match.Email:
		return a.mailOf[t.Host()]
	}
	return a.hosts[t.Host()]
}

// found reports whether the user or the operator wrote t, which need not be a
// destination.
func (a *Authority) found(tool, param string, t match.Term, id bool) bool {
	return t.Kind() == match.Neutral || a != nil && (a.byUser(tool, param, t, id) || a.byOperator(t))
}

func hasLetter(s string) bool {
	return slices.ContainsFunc([]rune(s), func(r rune) bool { return r >= 'a' && r <= 'z' || r > 0x7f })
}
