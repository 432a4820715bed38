package bridge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
)

// minQuoted is the shortest sensitive value that is taken out of a reason, in
// bytes: a shorter one stands in ordinary text by chance.
const minQuoted = 4

// take sets the arguments and everything that is computed from them alone.
func (p *passage) take(args map[string]any) error {
	if p.tool != nil {
		args = p.tool.Params.fill(args)
	}
	if args == nil {
		args = map[string]any{}
	}
	p.args, p.masked, p.public, p.text, p.hash = nil, nil, nil, nil, ""
	p.quoted, p.targets, p.lease, p.level = nil, nil, leases.Lease{}, policy.AlwaysAsk
	text, err := plain.Append(nil, args)
	if err == nil {
		p.args, p.text = args, text
		p.masked, err = p.mask()
	}
	if err != nil {
		p.args, p.text = nil, nil
		p.request()
		return err
	}
	if p.masking() {
		text, _ = plain.Append(nil, p.masked) // no deeper than args, and its new leaves are texts
	}
	sum := sha256.Sum256(text)
	p.hash = hex.EncodeToString(sum[:])
	if p.tool != nil {
		p.level = p.tier()
	}
	p.request()
	return nil
}

// request fills in what the gates judge, but for the facts.
func (p *passage) request() {
	d, s := p.d, p.d.run.State
	mode := "unattended"
	if d.run.Attended {
		mode = "interactive"
	}
	sec := d.b.cfg.Security
	sec.Attended = d.run.Attended
	p.req = policy.Request{Call: p.id, Args: p.args, ArgsBytes: len(p.text), Held: s.Held, Turn: p.turn, Seen: s.Seen, Control: s.Held,
		Run:     policy.RunView{ID: d.run.ID, Mode: mode, BytesSent: s.BytesSent, CallsThisStep: p.n, ToolCalls: s.Calls, CostUSD: s.CostUSD},
		Session: d.run.Session, Labels: d.run.Labels, Now: d.b.cfg.Now(), Security: sec, Authority: s.Authority,
		Tool: policy.ToolView{Name: p.call.Tool}}
	if p.tool != nil {
		p.req.Tool = p.tool.view(p.level)
	}
	p.trace()
}

// masking reports whether some arguments are never shown. Those of an unknown
// tool are not: nobody said which are secret.
func (p *passage) masking() bool {
	return p.tool == nil || p.unknown || len(p.tool.Sensitive) > 0
}

// mask replaces what is sensitive by its type, length and keyed hash, and so lets
// hashes into the trace that cannot be searched for a value.
func (p *passage) mask() (map[string]any, error) {
	switch {
	case !p.masking():
		return p.args, nil
	case p.tool != nil && !p.unknown:
		return redact.Sensitive(p.args, p.tool.Sensitive, p.fingerprint)
	}
	masked := make(map[string]any, len(p.args))
	for name, v := range p.args {
		m, _ := redact.Sensitive(map[string]any{"v": v}, []string{"v"}, p.fingerprint) // v is replaced, so nothing in it can be too deep
		masked[name] = m["v"]
	}
	return masked, nil
}

func (p *passage) fingerprint(v []byte) string {
	if len(v) >= minQuoted {
		p.quoted = append(p.quoted, string(v))
	}
	mac := hmac.New(sha256.New, p.d.run.Key)
	mac.Write(v)
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// covers reports whether an argument, or a part of it, is never shown.
func (p *passage) covers(param string) bool {
	return p.masking() && !reflect.DeepEqual(p.args[param], p.masked[param])
}

// shown is the arguments as anyone but the tool sees them.
func (p *passage) shown() map[string]any {
	if p.public == nil {
		clean, _ := p.b.cfg.Redactor.Value(p.masked)
		p.public, _ = clean.(map[string]any)
	}
	return p.public
}

// quote makes a text that may quote arguments fit to be recorded and read.
func (p *passage) quote(s string) string {
	if s == "" {
		return ""
	}
	for _, v := range p.quoted {
		s = strings.ReplaceAll(s, v, "[sensitive]")
	}
	s, _ = scan.HeadTail(p.d.text(s), maxError)
	return s
}

func (p *passage) quoteDecision(d policy.Decision) policy.Decision {
	d.Reason = p.quote(d.Reason)
	if len(d.Values) > 0 {
		d.Values = slices.Clone(d.Values)
		for i := range d.Values {
			d.Values[i].Value = p.quote(d.Values[i].Value)
		}
	}
	return d
}

// shownFacts is paths and URLs as anyone but the tool and the gates sees them.
func (p *passage) shownFacts() ([]policy.PathFact, []policy.URLFact) {
	paths, urls := slices.Clone(p.req.Paths), slices.Clone(p.req.URLs)
	for i := range paths {
		f := &paths[i]
		if f.Rel, f.Abs = p.quote(f.Rel), p.quote(f.Abs); p.covers(f.Param) {
			f.Rel, f.Abs = "[sensitive]", "[sensitive]"
		}
	}
	for i := range urls {
		f := &urls[i]
		if f.Raw, f.Path, f.Err = p.quote(f.Raw), p.quote(f.Path), p.quote(f.Err); p.covers(f.Param) {
			*f = policy.URLFact{Param: f.Param, Raw: "[sensitive]"}
		}
	}
	return paths, urls
}

// shownShell is what a command was classified as, likewise.
func (p *passage) shownShell() *policy.ShellFact {
	if p.req.Shell == nil {
		return nil
	}
	f := *p.req.Shell
	f.Reason, f.Writes = p.quote(f.Reason), slices.Clone(f.Writes)
	for i := range f.Writes {
		f.Writes[i] = p.quote(f.Writes[i])
	}
	return &f
}

// meant is the arguments that a hook hands back. It saw placeholders for what is
// sensitive or a secret: one that comes back as it was stands for the value.
func (p *passage) meant(args map[string]any) map[string]any {
	out := make(map[string]any, len(args))
	for k, v := range args {
		out[k] = v
		if _, given := p.args[k]; given {
			out[k] = restore(v, p.shown()[k], p.args[k])
		}
	}
	return out
}

// restore puts real in the place of what was shown of it, at any depth.
func restore(v, shown, real any) any {
	if reflect.DeepEqual(v, shown) {
		return real
	}
	switch v := v.(type) {
	case map[string]any:
		was, ok := shown.(map[string]any)
		had, also := real.(map[string]any)
		if !ok || !also {
			return v
		}
		out := maps.Clone(v)
		for k, e := range v {
			if _, there := had[k]; there {
				out[k] = restore(e, was[k], had[k])
			}
		}
		return out
	case []any:
		was, ok := shown.([]any)
		had, also := real.([]any)
		if !ok || !also || len(v) != len(was) {
			return v
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = restore(e, was[i], had[i])
		}
		return out
	}
	return v
}

// unreadable ends a call whose arguments have no canonical form: nothing can
// judge or hash them.
func (p *passage) unreadable(cause error) error {
	p.bad = true
	p.decisions = []policy.Decision{{Gate: "schema", Rule: "unreadable", Reason: fmt.Sprintf("its arguments cannot be read: %v", cause)}}
	return p.decided()
}
