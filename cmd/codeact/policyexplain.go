package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/codeact-dev/codeact/bridge/shellrisk"
	"github.com/codeact-dev/codeact/engine/assembly"
	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/policytest"
	"github.com/codeact-dev/codeact/policy/rules"
	"github.com/codeact-dev/codeact/policy/rules/source"
)

// A policyExplain is one command to explain a decision.
type policyExplain struct {
	from        policySource
	call, trace string
	seq         int64
	json        bool
}

func newPolicyExplain(s *sys) *cobra.Command {
	var x policyExplain
	c := &cobra.Command{
		Use:   "explain --call FILE | --trace RUN|FILE --seq N [FILE|DIR]...",
		Short: "Say what every rule makes of a call, and why",
		Long: "Judge a call that is written in a file, as a case of a policy test has it, or the recorded decision at an event\n" +
			"of a trace, and print what each gate and rule found, with the values of what did not hold. With --task the\n" +
			"tool, the security settings and the rules are those of the task; policy files add to them.\n" +
			"What a trace does not hold is named: what rests on it is a guess. Nothing is run. Exit codes: 0; 2 with errors.",
		RunE: func(c *cobra.Command, args []string) error { x.from.paths = args; return x.explain(c.Context(), s) },
	}
	x.from.flags(c, "the tools, settings and policies of this task `FILE`")
	c.Flags().StringVar(&x.call, "call", "", "a `FILE` with the call")
	c.Flags().StringVar(&x.trace, "trace", "", "a run, or a trace `FILE`")
	c.Flags().Int64Var(&x.seq, "seq", 0, "the `NUMBER` of the event call.decided in the trace")
	c.Flags().BoolVar(&x.json, "json", false, "print JSON")
	return c
}

// An explained is an explanation with what is known of its call.
type explained struct {
	rules.Explanation
	Unknown  []string         `json:"unknown,omitempty"`  // facts that the trace does not hold and the rules read
	Recorded *policy.Decision `json:"recorded,omitempty"` // what was decided then
}

func (x policyExplain) explain(ctx context.Context, s *sys) error {
	switch {
	case (x.call == "") == (x.trace == ""):
		return usage(errors.New("give --call FILE, or --trace RUN and --seq N"))
	case x.trace != "" && x.seq < 1:
		return usage(errors.New("--trace needs --seq N, the number of a call.decided as codeact trace show prints it"))
	case x.call != "" && x.seq != 0:
		return usage(errors.New("--seq goes with --trace"))
	}
	p, run, err := x.from.compiled(ctx, s)
	if err != nil {
		return err
	}
	if run != nil {
		defer run.Close()
	}
	var e explained
	if x.call != "" {
		e, err = x.written(p, run)
	} else {
		e, err = x.recorded(s, p)
	}
	if err != nil {
		return usage(err)
	}
	if x.json {
		return writeJSON(s, e)
	}
	for l := range linesOf(e.String()) {
		fmt.Fprintln(s.stdout, s.show(l))
	}
	if len(e.Unknown) > 0 {
		fmt.Fprintf(s.stdout, "the trace does not hold %s: what rests on it is a guess\n", strings.Join(e.Unknown, ", "))
	}
	if e.Recorded != nil {
		fmt.Fprintf(s.stdout, "recorded %s\n", scan.Line(strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Recorded.Verdict, who(*e.Recorded), e.Recorded.Reason)), maxWhy))
	}
	return nil
}

// who is the gate and the rule of a decision.
func who(d policy.Decision) string {
	if d.Rule != "" {
		return d.Gate + "/" + d.Rule
	}
	return d.Gate
}

func linesOf(text string) iter.Seq[string] {
	return strings.SplitSeq(strings.TrimRight(text, "\n"), "\n")
}

// written explains the call of a file.
func (x policyExplain) written(p *rules.Policy, run *assembly.Run) (explained, error) {
	data, err := os.ReadFile(x.call)
	if err != nil {
		return explained{}, err
	}
	r, err := policytest.ParseCall(source.File{Name: x.call, Data: data})
	if err != nil {
		return explained{}, err
	}
	if r.Shell == nil && r.Tool.Name == "shell" {
		r.Shell = classified(r.Args)
	}
	r.Security = policy.Security{SendsAfterPrivate: true, Named: policy.NamedAsk, Attended: r.Run.Mode == "interactive"} // a task's defaults
	var v veil
	if run != nil {
		if v, err = surround(&r, run); err != nil {
			return explained{}, err
		}
	}
	redact, err := v.redact()
	if err != nil {
		return explained{}, err
	}
	e := p.Explain(r, v.hidden...).Behind(policy.Interlock(r), policy.Named(r))
	return explained{Explanation: e.Map(redact)}, nil
}

// classified is what the bridge would tell rules of a command.
func classified(args map[string]any) *policy.ShellFact {
	var risk shellrisk.Risk
	switch argv, isList := args["argv"].([]any); {
	case isList:
		words := make([]string, len(argv))
		for i, w := range argv {
			words[i] = fmt.Sprint(w)
		}
		risk = shellrisk.ClassifyArgv(words)
	default:
		line, _ := args["command"].(string)
		risk = shellrisk.Classify(line)
	}
	return &policy.ShellFact{Parsed: risk.Parsed, Risk: risk.Level, Reason: risk.Reason, Writes: risk.Writes, Network: risk.Network}
}

// A veil is what an explanation does not show.
type veil struct {
	hidden   []string // arguments
	secrets  []string // texts, wherever they stand
	patterns []string
}

// The lengths in bytes from which a text is looked for in others: shorter ones stand
// there by chance, and those below the second are not looked for in encodings.
const minQuoted, minSecret = 4, 6

func (v veil) redact() (func(string) string, error) {
	c := redact.Config{Secrets: map[string]string{}, Patterns: v.patterns}
	var short []string
	for i, text := range v.secrets {
		switch {
		case len(text) >= minSecret:
			c.Secrets[strconv.Itoa(i)] = text
		case len(text) >= minQuoted:
			short = append(short, text, "[sensitive]")
		}
	}
	r, err := redact.New(c)
	if err != nil {
		return nil, err
	}
	shorts := strings.NewReplacer(short...)
	return func(text string) string {
		text, _ = r.String(text)
		return shorts.Replace(text)
	}, nil
}

// surround gives a call what a task knows of it: the tool, the settings and who named
// what. It returns what is not to be shown of it.
func surround(r *policy.Request, run *assembly.Run) (veil, error) {
	f := run.File
	v := veil{patterns: f.Redact.Patterns, secrets: slices.Collect(maps.Values(f.SensitiveParams))}
	attended := r.Security.Attended
	r.Security = f.Security.Rules()
	r.Security.Attended = attended
	r.Authority = policy.NewAuthority(policy.AuthorityConfig{User: []string{f.Goal}, Destinations: f.Security.Destinations, Identity: f.Security.Identity})
	if r.Labels == nil {
		r.Labels = f.Metadata.Labels
	}
	views := run.Bridge.Tools()
	i := slices.IndexFunc(views, func(t policy.ToolView) bool { return t.Name == r.Tool.Name })
	j := slices.IndexFunc(run.Tools, func(t bridge.Tool) bool { return t.Name == r.Tool.Name })
	if i < 0 || j < 0 {
		return veil{}, fmt.Errorf("the task grants no tool %q", r.Tool.Name)
	}
	views[i].Sandboxed, views[i].Pinned = views[i].Sandboxed || r.Tool.Sandboxed, views[i].Pinned || r.Tool.Pinned
	r.Tool = views[i]
	masked, err := redact.Sensitive(r.Args, run.Tools[j].Sensitive, nil)
	if err != nil {
		return veil{}, err
	}
	for name, arg := range r.Args {
		if !reflect.DeepEqual(arg, masked[name]) {
			v.hidden = append(v.hidden, name)
			v.secrets = append(v.secrets, texts(arg)...)
		}
	}
	return v, nil
}

// texts are the texts in a value.
func texts(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			out = append(out, texts(x)...)
		}
	case map[string]any:
		for _, x := range v {
			out = append(out, texts(x)...)
		}
	}
	return out
}

// recorded explains a decision of a trace. The other gates are as they were: what
// they went by is not all recorded.
func (x policyExplain) recorded(s *sys, p *rules.Policy) (explained, error) {
	path, err := find(s, x.trace)
	if err != nil {
		return explained{}, err
	}
	c, err := pastCallAt(path, x.seq)
	if err != nil {
		return explained{}, err
	}
	gates := slices.DeleteFunc(slices.Clone(c.decided.Gates), func(d policy.Decision) bool { return d.Gate == "policy" && p != nil })
	e := explained{Explanation: p.Explain(c.Request).Behind(gates...), Recorded: &c.decided.Decision}
	e.Unknown = p.Unknown(c.Request, c.Known)
	return e, nil
}
