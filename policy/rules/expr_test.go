package rules

import (
	"errors"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/policy"
)

func TestAnExpressionHoldsOrDoesNot(t *testing.T) {
	r := send(map[string]any{"n": int64(3), "l": []any{"a", "b"}})
	r.Labels = map[string]string{"env": "dev"}
	r.Held = policy.Tainted(policy.Private, "c1")
	r.Session.User = "ann"
	for src, want := range map[string]bool{
		"args.n == 3":                                                   true,
		"args.n > 3":                                                    false,
		"'b' in args.l && args.l.size() == 2":                           true,
		"labels[?'env'].orValue('prod') == 'dev'":                       true,
		"args.?none.orValue(7) == 7":                                    true,
		"taint.private && !taint.turn.private":                          true,
		"taint.args.n.private":                                          true,
		"has(call.url) || has(call.shell)":                              false,
		"session.user == 'ann' && tool.tier == 0":                       true,
		"now.getHours() == 10 && now.getHours('Asia/Tokyo') == 19":      true,
		"isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.0.0.1')": true,
		"'%s-%d'.format(['a', 1]) == 'a-1'":                             true,
		"run.costUsd < 1":                                               true,
		"call.id == 'r/2/1' && call.step == 2":                          true,
	} {
		e, err := CompileExpr(src, "lease.when")
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got, err := e.Holds(r); got != want || err != nil || e.String() != src {
			t.Errorf("%s: %v, %v", src, got, err)
		}
	}
}

func TestAnErrorMeansNo(t *testing.T) {
	for _, src := range []string{"args.none", "args.n", "args.n / 0 == 1 || false"} {
		e, err := CompileExpr(src, "when")
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := e.Holds(send(map[string]any{"n": int64(1)})); ok || err == nil {
			t.Errorf("%s: %v, %v", src, ok, err)
		}
	}
	var none *Expr
	if ok, err := none.Holds(policy.Request{}); ok || err == nil || none.String() != "" {
		t.Error("nothing holds")
	}
}

func TestABadExpressionSaysWhere(t *testing.T) {
	for src, want := range map[string]string{
		"":                           "when:1:1: the expression is empty",
		"\n \n":                      "when:1:1: the expression is empty",
		strings.Repeat("a", 1<<14):   "more than 8192",
		"tool.nmae == ''":            "when:1:6: there is no field \"nmae\"",
		"true &&\n  tool.nmae == ''": "when:2:8: there is no field \"nmae\"",
		"params.x == 1":              "when:1:8: params.x is not declared, as none is",
		"variables.x == 1":           "when:1:11: variables.x is not declared, as none is",
		"tool.name":                  "the expression must be a bool",
		"variables":                  "variables.? is not declared",
	} {
		_, err := CompileExpr(src, "when")
		var f *FileError
		if !errors.As(err, &f) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", src, err, want)
		}
	}
}

func FuzzExpr(f *testing.F) {
	for _, s := range []string{"args.n == 3", "tool.nmae", "args.l.all(x, x.matches('(a+)+$'))", "url(args.u).host.inDomains(['x.org'])", "'a'.matchesGlob('**/[')", "\n\t'é' == now"} {
		f.Add(s)
	}
	r := send(map[string]any{"n": int64(1), "u": "https://x.org", "l": []any{"a", 1.5, nil, map[string]any{"k": true}}})
	f.Fuzz(func(t *testing.T, s string) {
		e, err := CompileExpr(s, "when")
		if (e == nil) == (err == nil) {
			t.Fatal("neither an expression nor an error, or both")
		}
		if err != nil {
			var at *FileError
			if !errors.As(err, &at) || at.Line < 1 || at.Col < 1 {
				t.Fatalf("%v has no place", err)
			}
			return
		}
		first, err := e.Holds(r)
		second, _ := e.Holds(r)
		if first != second || first && err != nil {
			t.Fatalf("%v, then %v, %v", first, second, err)
		}
	})
}
