package assembly

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/tools"
	"github.com/codeact-dev/codeact/engine/taskfile"
	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
	"github.com/codeact-dev/codeact/leases"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules"
	"github.com/codeact-dev/codeact/spelling"
)

// tools is what the task grants: built-in tools, then mock tools, each with the
// operator's overrides. Overrides only add, and tiers only rise.
func (r *Run) tools() ([]bridge.Tool, error) {
	f := r.File
	ts, err := r.builtin()
	if err != nil {
		return nil, err
	}
	r.secretList(ts)
	mocks, err := r.mocks()
	if err != nil {
		return nil, err
	}
	ts = append(ts, mocks...)
	if r.servers != nil {
		ts = append(ts, r.servers.Tools()...)
	}
	var faults []error
	for name, o := range f.Tools.Overrides {
		i := slices.IndexFunc(ts, func(t bridge.Tool) bool { return t.Name == name })
		if i < 0 && r.unseen(name) {
			continue
		}
		if i < 0 {
			faults = append(faults, f.Fault("$.tools.overrides."+name, "there is no tool of this name in the task"))
			continue
		}
		override(&ts[i], o)
	}
	faults = append(faults, r.leases(ts)...)
	faults = append(faults, r.stage(ts)...)
	for i := range ts {
		ts[i].Sensitive = append(ts[i].Sensitive, sensitiveNames(ts[i].Sensitive, f.Redact.Params)...)
	}
	if r.opt.Mode == "plan" {
		ts = slices.DeleteFunc(ts, func(t bridge.Tool) bool { return t.Tier != policy.Free })
	}
	return ts, strictyaml.Join(faults...)
}

// builtin is the built-in tools of the task, with what the operator set for them.
func (r *Run) builtin() ([]bridge.Tool, error) {
	f := r.File
	opt := tools.Options{Box: r.box}
	if base := f.Tools.WebSearch.BaseURL; base != "" {
		s, err := tools.NewSearXNG(base)
		if err != nil {
			return nil, f.Fault("$.tools.webSearch.baseUrl", "%s", strings.TrimPrefix(err.Error(), "tools: "))
		}
		opt.Search = s
	}
	ts, err := tools.BuiltinWith(opt, f.Tools.Builtin...)
	if err != nil {
		return nil, f.Fault("$.tools.builtin", "%s", strings.TrimPrefix(err.Error(), "tools: "))
	}
	return ts, nil
}

// leases says what is wrong with the task's leases: one that names no tool of the
// task, and a condition that does not compile.
func (r *Run) leases(ts []bridge.Tool) (faults []error) {
	var names []string
	for _, t := range ts {
		names = append(names, t.Name)
	}
	for i, l := range r.File.Leases {
		if !slices.ContainsFunc(names, (leases.Lease{Tool: l.Tool}).Names) && !r.unseen(l.Tool) {
			faults = append(faults, r.File.Fault(fmt.Sprintf("$.leases[%d].tool", i), "%q names none of the task's tools, which are %s%s",
				l.Tool, strings.Join(names, ", "), spelling.DidYouMean(l.Tool, names)))
		}
		if l.When == "" {
			continue
		}
		if _, err := rules.CompileExpr(l.When, "when"); err != nil {
			faults = append(faults, r.File.Fault(fmt.Sprintf("$.leases[%d].when", i), "%v", err))
		}
	}
	return faults
}

// sensitiveNames are the task's redact.params that have does not hold yet: a plain one is a
// key at any depth.
func sensitiveNames(have, params []string) []string {
	var names []string
	for _, p := range params {
		if !strings.Contains(p, ".") {
			p = "*." + p
		}
		if !slices.Contains(have, p) {
			names = append(names, p)
		}
	}
	return names
}

func override(t *bridge.Tool, o taskfile.Override) {
	for _, c := range o.AddCapabilities {
		t.Caps = t.Caps.Union(policy.Declare(c))
	}
	if o.Tier != nil {
		t.Tier = t.Tier.Stricter(*o.Tier)
	}
	if o.RateLimit.Calls > 0 {
		t.Rate = bridge.Rate{N: o.RateLimit.Calls, Per: o.RateLimit.Per}
	}
	if o.UserRateLimit.Calls > 0 {
		t.UserRate = bridge.Rate{N: o.UserRateLimit.Calls, Per: o.UserRateLimit.Per}
	}
	t.Sensitive = union(t.Sensitive, o.SensitiveParams)
	t.Destinations = union(t.Destinations, o.Destinations)
	t.Paths = union(t.Paths, o.Paths)
	t.URLs = union(t.URLs, o.URLs)
	t.Labels = union(t.Labels, o.Labels)
	t.Record.Directory = t.Record.Directory || o.Directory
	t.Idempotent = t.Idempotent || o.Idempotent
	if o.Record != nil {
		t.Record.ID, t.Record.Title, t.Record.Metadata = o.Record.ID, o.Record.Title, o.Record.Metadata
	}
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(slices.Clip(a), s)
		}
	}
	return a
}

// mocks builds the tools of tools.mock.
func (r *Run) mocks() ([]bridge.Tool, error) {
	m := r.File.Tools.Mock
	if m == nil {
		return nil, nil
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(m.Effects)); m.Effects != "" && (within(m.Effects, r.opt.Home) || err == nil && within(real, r.opt.Home)) {
		return nil, fmt.Errorf("%w: tools.mock: effects lies in codeact's own home", ErrPrecondition)
	}
	var ts []bridge.Tool
	var faults []error
	sink := effects(m)
	for _, t := range m.Tools {
		schema := bridge.Schema{}
		if t.Params != nil {
			text, err := t.Params.MarshalJSON()
			if err == nil {
				schema, err = bridge.ParseSchema(text)
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("tools.mock: %s: %w", t.Name, err))
				continue
			}
		}
		b := bridge.Tool{Name: t.Name, Doc: t.Description, Params: schema, Tier: t.Tier, Caps: t.Capabilities, Destinations: t.Destinations,
			Paths: t.Paths, URLs: t.URLs, Sensitive: t.Sensitive, Labels: t.Labels, Rate: bridge.Rate{N: t.Rate.Calls, Per: t.Rate.Per},
			Idempotent: t.Idempotent, Record: policy.RecordSpec{Directory: t.Directory, Opaque: t.Opaque}}
		if t.Record != nil {
			b.Record.ID, b.Record.Title, b.Record.Metadata = t.Record.ID, t.Record.Title, t.Record.Metadata
		}
		effect := sink
		if t.Effect != "append" {
			effect = nil
		}
		ts = append(ts, tools.Mock(b, responses(t.Responses), effect))
	}
	return ts, strictyaml.Join(faults...)
}

func responses(list []taskfile.Response) []tools.MockResponse {
	out := make([]tools.MockResponse, len(list))
	for i, x := range list {
		out[i] = tools.MockResponse{When: x.When, Value: x.Value, Error: x.Error, Local: !x.External, MediaType: x.MediaType, Times: x.Times}
	}
	return out
}

// effects appends the lines of mock effects to a file, each at once. It ends in
// .jsonl and no link leads to it, so that a task which nobody trusts cannot write
// what something else would read.
func effects(m *taskfile.MockTools) func([]byte) error {
	if m.Effects == "" {
		return nil
	}
	var mu sync.Mutex
	return func(line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		dir, err := os.OpenRoot(filepath.Dir(m.Effects))
		if err != nil {
			return err
		}
		defer dir.Close()
		f, err := dir.OpenFile(filepath.Base(m.Effects), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(line)
		return errors.Join(err, f.Close())
	}
}
