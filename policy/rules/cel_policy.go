package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/hashicorp/go-multierror"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

// A File is one policy file. Name is what errors print.
type File struct {
	Name string
	Data []byte

	// Standing says that the file is there for every task, so that a rule of it which
	// is about none of the tools is nothing to warn of.
	Standing bool
}

// A FileError is one fault of a file, at the place where it can be mended.
type FileError = source.Fault

// A Policy is the compiled rules of some files. It is immutable and safe for
// concurrent use. A nil Policy has no rules, and so no objection to any call: it
// narrows what the other gates decided and cannot widen it.
type Policy struct {
	rules  []*rule // sorted by name, so that the order of files decides nothing
	files  int
	given  []string // the parameters of the task, sorted
	digest string
}

// Compile compiles policy files with the parameters that the task gives. It
// returns the faults of all files together, each a *[FileError], and then no
// policy: a part of a policy is none.
func Compile(params map[string]any, files ...File) (*Policy, error) {
	var errs *multierror.Error
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int {
		return strings.Compare(a.Name+"\x00"+string(a.Data), b.Name+"\x00"+string(b.Data))
	})
	p := &Policy{given: slices.Sorted(maps.Keys(params))}
	names := map[string]*rule{}
	for _, f := range files {
		if !f.Standing {
			p.files++
		}
		docs, d := readPolicies(f)
		for _, doc := range docs {
			u := compileRule(d, doc, params)
			u.standing = f.Standing
			if first, ok := names[u.name]; ok && u.name != "" {
				d.Fail(doc.name.Node, "duplicate policy %q: it is also at %s:%d", u.name, first.src, first.line)
			}
			names[u.name] = u
			p.rules = append(p.rules, u)
		}
		errs = multierror.Append(errs, d.Errs...)
	}
	var err error
	if p.digest, err = digestOf(params, files); err != nil {
		errs = multierror.Append(errs, err)
	}
	if errs.ErrorOrNil() != nil {
		return nil, errs
	}
	slices.SortFunc(p.rules, func(a, b *rule) int { return strings.Compare(a.name, b.name) })
	return p, nil
}

// digestOf covers all that a verdict depends on. Each part has its length in front
// of it, so that no two inputs run together to the same bytes.
func digestOf(params map[string]any, files []File) (string, error) {
	b, err := json.Marshal(params)
	if err != nil {
		return "", fmt.Errorf("policy: parameters: %w", err)
	}
	if len(params) == 0 {
		b = []byte("{}") // none given and none there are the same
	}
	h := sha256.New()
	fmt.Fprintf(h, "codeact policy 1\n%d %s\n", len(b), b)
	for _, f := range files {
		fmt.Fprintf(h, "%d %s\n%d %s\n", len(f.Name), f.Name, len(f.Data), f.Data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Files is the number of files.
func (p *Policy) Files() int {
	if p == nil {
		return 0
	}
	return p.files
}

// Rules is the number of policies in those files.
func (p *Policy) Rules() int {
	if p == nil {
		return 0
	}
	n := 0
	for _, r := range p.rules {
		if !r.standing {
			n++
		}
	}
	return n
}

// Digest is the SHA-256 of parameters and files, in an order of its own; "" for a
// nil Policy.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// A Note is what a rule wants seen without a say in the verdict.
type Note struct {
	Policy string `json:"policy"`
	Kind   string `json:"kind"` // warn or audit
	Key    string `json:"key"`  // the key of an audit annotation, or which validation
	Text   string `json:"text"`
}

// Judge returns the strictest verdict of all rules, whatever their order. A rule
// that cannot be evaluated denies.
func (p *Policy) Judge(r policy.Request) policy.Decision { return p.judge(&r, nil) }

// JudgeAll is Judge, with the notes of the rules that were about the call.
func (p *Policy) JudgeAll(r policy.Request) (policy.Decision, []Note) {
	var notes []Note
	d := p.judge(&r, func(n Note) { notes = append(notes, n) })
	return d, notes
}

func (p *Policy) judge(r *policy.Request, note func(Note)) policy.Decision {
	d := policy.Allowed("policy")
	if p == nil {
		return d
	}
	var decided *rule
	var by *clause
	a := newActivation(r, nil)
	for _, u := range p.rules {
		*a = activation{r: r, rule: u}
		skipped := u.judge(a, func(f finding) {
			if f.action.verdict() == policy.Allow {
				if note != nil {
					note(u.note(f))
				}
				return
			}
			e := u.decision(f)
			if e.Verdict < d.Verdict {
				decided, by = u, f.clause
			}
			d = d.Narrow(e)
		})
		if skipped == "" && note != nil {
			u.annotate(a, note)
		}
	}
	if decided != nil {
		d.Values = decided.values(r, by)
	}
	return d
}

// A finding is what one clause has to say against a call.
type finding struct {
	clause *clause
	action action
	reason string
	failed bool // the clause could not be evaluated
}

// judge reports what the rule finds. Where the call is none of its business it
// returns why.
func (u *rule) judge(a *activation, report func(finding)) (skipped string) {
	if why := u.match.mismatch(&a.r.Tool); why != "" {
		return why
	}
	var failed []finding
	for _, c := range u.conditions {
		switch ok, err := a.holds(c); {
		case err != nil:
			failed = append(failed, finding{clause: c, reason: u.unevaluated(err), failed: true})
		case !ok:
			return c.unmet()
		}
	}
	for _, f := range failed {
		report(f)
	}
	if len(failed) > 0 {
		return ""
	}
	for _, v := range u.validations {
		switch ok, err := a.holds(v.clause); {
		case err != nil:
			f := finding{clause: v.clause, action: v.action, reason: u.unevaluated(err), failed: true}
			if v.action == actAsk {
				f.action = actDeny
			}
			report(f)
		case !ok:
			report(finding{clause: v.clause, action: v.action, reason: v.reason(a)})
		}
	}
	return ""
}

// unmet says that the condition c does not hold.
func (c *clause) unmet() string { return fmt.Sprintf("condition %q is false", c.name) }

func (u *rule) unevaluated(err error) string {
	return fmt.Sprintf("the rule %s could not be evaluated: %v", u.name, err)
}

// reason is the message for people and for the model. A message that cannot be
// made does not hide that the validation failed.
func (v *validation) reason(a *activation) string {
	if v.messageExpr != nil {
		if out, err := a.eval(v.messageExpr); err == nil {
			if s, ok := out.Value().(string); ok && strings.TrimSpace(s) != "" {
				return s
			}
		}
	}
	if v.message != "" {
		return v.message
	}
	return "this must be true and is not: " + v.text.S
}

func (u *rule) decision(f finding) policy.Decision {
	return policy.Decision{Verdict: f.action.verdict(), Gate: "policy", Rule: u.name, Reason: f.reason}
}

func (u *rule) note(f finding) Note {
	return Note{Policy: u.name, Kind: f.action.String(), Key: f.clause.label, Text: f.reason}
}

// annotate evaluates the audit annotations. One that is null says nothing; one
// that fails is noted with its error.
func (u *rule) annotate(a *activation, note func(Note)) {
	for _, c := range u.annotations {
		n := Note{Policy: u.name, Kind: "audit", Key: c.name}
		out, err := a.eval(c)
		switch {
		case err != nil:
			n.Text = u.unevaluated(err)
		case out.Type() == types.NullType:
			continue
		default:
			n.Text = fmt.Sprint(out.Value())
		}
		note(n)
	}
}

// decide is the verdict of one rule alone, and why it was not about the call.
func (u *rule) decide(r *policy.Request) (policy.Decision, string) {
	d := policy.Allowed("policy")
	skipped := u.judge(newActivation(r, u), func(f finding) { d = d.Narrow(u.decision(f)) })
	return d, skipped
}

// examples judges the examples, and makes a fault of each that fails. Without run
// only their parameters are checked, since the rule is not whole.
func (u *rule) examples(d reader, es []sample, known map[string]paramType, run bool) {
	for _, e := range es {
		params := maps.Clone(u.params)
		for name, v := range e.params {
			t, ok := known[name]
			if !ok {
				d.Fail(e.places[name], "params.%s is not declared%s", name, orNone(name, slices.Sorted(maps.Keys(known))))
				continue
			}
			r, err := t.convert(v)
			if err != nil {
				d.Fail(e.places[name], "params.%s: %v", name, err)
				continue
			}
			params["params."+name] = r
		}
		if !run || len(d.Errs) > 0 {
			run = false
			continue
		}
		u.example(d, e, params)
	}
}

func (u *rule) example(d reader, e sample, params map[string]ref.Val) {
	v := *u
	v.params = params
	got, skipped := v.decide(&e.req)
	u.exercised = u.exercised || skipped == ""
	for _, c := range u.conditions {
		u.skipped[c.name] = u.skipped[c.name] || skipped == c.unmet()
	}
	if got.Verdict == e.expect {
		return
	}
	why := got.Reason
	if skipped != "" {
		why = "the rule is not about it: " + skipped
	}
	d.Fail(e.node, "the example %q fails: expected %s, got %s: %s", e.name.S, e.expect, got.Verdict, why)
}
