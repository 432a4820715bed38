package celenv

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/urls"
)

// The Go types behind the CEL variables that have no type of their own. A view of
// the request costs nothing to make, and its type picks the CEL type.
type (
	callView  policy.Request
	taintView policy.Request
)

// An argLabel is the label of one argument, as a rule sees it.
type argLabel struct {
	taint   policy.Taint
	request *policy.Request
	name    string // of the argument
}

// origin is only looked for when a rule asks: it reads the user's text.
func (a *argLabel) origin() string { return a.request.Origin(a.name) }

// A fieldDef is one field of a CEL object type. get returns plain Go data, or an
// error where the field has no value for this call.
type fieldDef struct {
	name string
	typ  *cel.Type
	get  func(any) (any, error)
	set  func(any) bool
}

// fieldOf declares a field that always has a value.
func fieldOf[T any](name string, typ *cel.Type, get func(T) any) fieldDef {
	return optionalField(name, typ, func(v T) (any, error) { return get(v), nil }, func(T) bool { return true })
}

// optionalField declares a field for which has() can be false.
func optionalField[T any](name string, typ *cel.Type, get func(T) (any, error), set func(T) bool) fieldDef {
	return fieldDef{
		name: name,
		typ:  typ,
		get: func(v any) (any, error) {
			t, ok := v.(T)
			if !ok {
				return nil, fmt.Errorf("no such field: %s", name)
			}
			return get(t)
		},
		set: func(v any) bool { t, ok := v.(T); return ok && set(t) },
	}
}

// An objectType is a CEL message type over a Go type. A field that it does not
// have is a compile error.
type objectType struct {
	typ    *cel.Type
	names  []string
	fields map[string]*types.FieldType
}

func newObjectType(name string, defs ...fieldDef) *objectType {
	t := &objectType{typ: types.NewObjectType(name), fields: make(map[string]*types.FieldType, len(defs))}
	for _, d := range defs {
		t.names = append(t.names, d.name)
		t.fields[d.name] = &types.FieldType{Type: d.typ, IsSet: d.set, GetFrom: d.get}
	}
	return t
}

var (
	stringList = cel.ListType(cel.StringType)

	pathType = newObjectType("codeact.Path",
		fieldOf("param", cel.StringType, func(p *policy.PathFact) any { return p.Param }),
		fieldOf("rel", cel.StringType, func(p *policy.PathFact) any { return p.Rel }),
		fieldOf("abs", cel.StringType, func(p *policy.PathFact) any { return p.Abs }),
		fieldOf("writable", cel.BoolType, func(p *policy.PathFact) any { return p.Writable }),
		fieldOf("made", cel.BoolType, func(p *policy.PathFact) any { return p.Made }),
	)
	urlType = newObjectType("codeact.URL",
		fieldOf("scheme", cel.StringType, func(u *urls.URL) any { return u.Scheme }),
		fieldOf("host", cel.StringType, func(u *urls.URL) any { return u.Host }),
		fieldOf("port", cel.StringType, func(u *urls.URL) any { return u.Port }),
		fieldOf("path", cel.StringType, func(u *urls.URL) any { return u.Path }),
		fieldOf("query", cel.StringType, func(u *urls.URL) any { return u.Query }),
		fieldOf("userinfo", cel.StringType, func(u *urls.URL) any { return u.Userinfo }),
		fieldOf("isAbs", cel.BoolType, func(u *urls.URL) any { return u.Scheme != "" && u.Host != "" }),
	)
	shellType = newObjectType("codeact.Shell",
		fieldOf("parsed", cel.BoolType, func(s *policy.ShellFact) any { return s.Parsed }),
		fieldOf("risk", cel.StringType, func(s *policy.ShellFact) any { return s.Risk }),
		fieldOf("reason", cel.StringType, func(s *policy.ShellFact) any { return s.Reason }),
		fieldOf("writes", stringList, func(s *policy.ShellFact) any { return s.Writes }),
		fieldOf("network", cel.BoolType, func(s *policy.ShellFact) any { return s.Network }),
	)
	callType = newObjectType("codeact.Call",
		fieldOf("id", cel.StringType, func(c *callView) any { return c.Call }),
		fieldOf("name", cel.StringType, func(c *callView) any { return c.Tool.Name }),
		fieldOf("step", cel.IntType, func(c *callView) any { return c.step() }),
		fieldOf("argsBytes", cel.IntType, func(c *callView) any { return c.ArgsBytes }),
		fieldOf("paths", cel.ListType(pathType.typ), func(c *callView) any { return c.Paths }),
		fieldOf("urls", cel.ListType(urlType.typ), func(c *callView) any { return c.URLs }),
		optionalField("url", urlType.typ, (*callView).url, func(c *callView) bool { return len(c.URLs) > 0 }),
		optionalField("shell", shellType.typ, (*callView).shell, func(c *callView) bool { return c.Shell != nil }),
	)
	toolType = newObjectType("codeact.Tool",
		fieldOf("name", cel.StringType, func(t *policy.ToolView) any { return t.Name }),
		fieldOf("server", cel.StringType, func(t *policy.ToolView) any { return t.Server }),
		fieldOf("tier", cel.IntType, func(t *policy.ToolView) any { return t.Tier.Number() }),
		fieldOf("sandboxed", cel.BoolType, func(t *policy.ToolView) any { return t.Sandboxed }),
		fieldOf("capabilities", stringList, func(t *policy.ToolView) any { return t.Caps.Names() }),
		fieldOf("labels", stringList, func(t *policy.ToolView) any { return t.Labels }),
		fieldOf("pinned", cel.BoolType, func(t *policy.ToolView) any { return t.Pinned }),
	)
	labelsType = newObjectType("codeact.Labels",
		fieldOf("private", cel.BoolType, func(t *policy.Taint) any { return t.Private() }),
		fieldOf("untrusted", cel.BoolType, func(t *policy.Taint) any { return t.Untrusted() }),
		fieldOf("unvouched", cel.BoolType, func(t *policy.Taint) any { return t.Unvouched() }),
		fieldOf("sources", stringList, func(t *policy.Taint) any { return Sources(*t) }),
	)
	argLabelType = newObjectType("codeact.ArgLabel",
		fieldOf("private", cel.BoolType, func(a *argLabel) any { return a.taint.Private() }),
		fieldOf("untrusted", cel.BoolType, func(a *argLabel) any { return a.taint.Untrusted() }),
		fieldOf("unvouched", cel.BoolType, func(a *argLabel) any { return a.taint.Unvouched() }),
		fieldOf("origin", cel.StringType, func(a *argLabel) any { return a.origin() }),
		fieldOf("sources", stringList, func(a *argLabel) any { return Sources(a.taint) }),
	)
	taintType = newObjectType("codeact.Taint",
		fieldOf("private", cel.BoolType, func(t *taintView) any { return t.Held.Private() }),
		fieldOf("untrusted", cel.BoolType, func(t *taintView) any { return t.Held.Untrusted() }),
		fieldOf("unvouched", cel.BoolType, func(t *taintView) any { return t.Held.Unvouched() }),
		fieldOf("control", labelsType.typ, func(t *taintView) any { return &t.Control }),
		fieldOf("turn", labelsType.typ, func(t *taintView) any { return &t.Turn }),
		fieldOf("args", cel.MapType(cel.StringType, argLabelType.typ), func(t *taintView) any { return &argTaints{(*policy.Request)(t)} }),
	)
	leaseType = newObjectType("codeact.Lease",
		fieldOf("id", cel.StringType, func(l *policy.LeaseView) any { return l.ID }),
		fieldOf("usesLeft", cel.IntType, func(l *policy.LeaseView) any { return l.UsesLeft }),
		fieldOf("expires", cel.TimestampType, func(l *policy.LeaseView) any { return l.Expires }),
		fieldOf("approvedBy", cel.StringType, func(l *policy.LeaseView) any { return l.ApprovedBy }),
	)
	runType = newObjectType("codeact.Run",
		fieldOf("id", cel.StringType, func(r *policy.RunView) any { return r.ID }),
		fieldOf("mode", cel.StringType, func(r *policy.RunView) any { return r.Mode }),
		fieldOf("bytesSent", cel.IntType, func(r *policy.RunView) any { return r.BytesSent }),
		fieldOf("callsThisStep", cel.IntType, func(r *policy.RunView) any { return r.CallsThisStep }),
		fieldOf("toolCalls", cel.IntType, func(r *policy.RunView) any { return r.ToolCalls }),
		fieldOf("costUsd", cel.DoubleType, func(r *policy.RunView) any { return r.CostUSD }),
	)
	sessionType = newObjectType("codeact.Session",
		fieldOf("id", cel.StringType, func(s *policy.SessionView) any { return s.ID }),
		fieldOf("user", cel.StringType, func(s *policy.SessionView) any { return s.User }),
	)
	objectTypes = []*objectType{pathType, urlType, shellType, callType, toolType, labelsType, argLabelType, taintType, leaseType, runType, sessionType}
)

// step is the middle of "run/step/n"; 0 where the id has another form.
func (c *callView) step() int {
	if parts := strings.Split(c.Call, "/"); len(parts) == 3 {
		if n, err := strconv.Atoi(parts[1]); err == nil {
			return n
		}
	}
	return 0
}

func (c *callView) url() (any, error) {
	switch len(c.URLs) {
	case 0:
		return nil, errors.New("the call has no URL; guard with has(call.url)")
	case 1:
		return urls.OfFact(&c.URLs[0])
	}
	return nil, fmt.Errorf("the call has %d URLs, and call.url is for one; use call.urls.all(u, ...)", len(c.URLs))
}

func (c *callView) shell() (any, error) {
	if c.Shell == nil {
		return nil, errors.New("the call runs no command; guard with has(call.shell)")
	}
	return c.Shell, nil
}

// argLabelOf returns the label of an argument of the call: the proven one, or the
// floor.
func argLabelOf(r *policy.Request, name string) (*argLabel, bool) {
	if a, ok := r.ArgTaint[name]; ok {
		return &argLabel{a.Taint, r, name}, true
	}
	if _, ok := r.Args[name]; ok {
		return &argLabel{r.Held, r, name}, true
	}
	return nil, false
}

// ArgNames are the arguments that have a label, sorted.
func ArgNames(r *policy.Request) []string {
	names := make([]string, 0, len(r.Args)+len(r.ArgTaint))
	for n := range r.Args {
		names = append(names, n)
	}
	for n := range r.ArgTaint {
		names = append(names, n)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Sources are the calls behind any label of t, sorted.
func Sources(t policy.Taint) []string {
	var ids []string
	for _, l := range policy.Labels() {
		ids = append(ids, t.Sources(l)...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
