package policy_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/policy"
)

// A namedCase is one line of testdata/named: a conversation that holds untrusted
// content, a call, and what Named must say. Value goes into Param, which is the
// one destination and "to" unless the case says otherwise.
type namedCase struct {
	Name     string
	User     string
	Operator []string
	Identity []string
	Results  []struct {
		Spec struct {
			ID, Title string
			Metadata  []string
			Directory bool
			Opaque    bool
		}
		Value any
	}
	Tool    string
	Param   string
	IDs     []string `yaml:"ids"`
	Value   any
	Args    map[string]any
	NoArgs  bool `yaml:"noargs"`
	Want    policy.Verdict
	Unnamed []string // where the objection stands, when it is not Param
}

func (c *namedCase) request() policy.Request {
	a := policy.NewAuthority(policy.AuthorityConfig{User: []string{c.User}, Destinations: c.Operator, Identity: c.Identity})
	for _, r := range c.Results {
		a.Learn("r/1/1", "read", policy.RecordSpec(r.Spec), r.Value)
	}
	r := sending(a)
	r.Tool.IDs = c.IDs
	if c.Tool != "" {
		r.Tool.Name = c.Tool
	}
	if c.Param == "" {
		c.Param = "to"
	}
	r.Tool.Destinations = []string{c.Param}
	switch {
	case c.NoArgs:
		r.Args = nil
	case c.Args != nil:
		r.Args = c.Args
	default:
		r.Args = map[string]any{c.Param: c.Value}
		if c.Unnamed == nil && c.Want == policy.Ask {
			c.Unnamed = []string{c.Param}
		}
	}
	return r
}

// sending is a call of a tool that sends, in a conversation that holds untrusted
// content.
func sending(a *policy.Authority) policy.Request {
	return policy.Request{
		Call:      "r/2/1",
		Tool:      policy.ToolView{Name: "send", Caps: policy.Declare(policy.ExternalSend), Destinations: []string{"to"}},
		Args:      map[string]any{},
		Held:      policy.Tainted(policy.Untrusted, "r/1/1"),
		Authority: a,
		Security:  policy.Security{Named: policy.NamedAsk},
	}
}

func TestNamedKeepsItsRules(t *testing.T) {
	files, err := filepath.Glob("testdata/named/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var cases []namedCase
		if err := yaml.UnmarshalWithOptions(b, &cases, yaml.DisallowUnknownField()); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, c := range cases {
			t.Run(filepath.Base(f)+"/"+c.Name, func(t *testing.T) {
				r := c.request()
				d := policy.Named(r)
				if d.Verdict != c.Want || d.Gate != "named" {
					t.Fatalf("got %+v, want %v", d, c.Want)
				}
				var params []string
				for _, u := range r.Authority.Unnamed(r) {
					if !slices.Contains(params, u.Param) {
						params = append(params, u.Param)
					}
				}
				if len(params) != len(c.Unnamed) || len(params) > 0 && !cmp.Equal(params, c.Unnamed) {
					t.Errorf("unnamed %v, want %v", params, c.Unnamed)
				}
			})
		}
	}
}
