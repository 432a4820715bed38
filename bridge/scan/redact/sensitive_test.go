package redact_test

import (
	"math"
	"strings"
	"testing"

	"github.com/codeact-dev/codeact/bridge/scan/redact"
	"github.com/google/go-cmp/cmp"
)

func TestSensitiveParametersAreHidden(t *testing.T) {
	mac := func(b []byte) string { return "1a2b" }
	args := func() map[string]any {
		return map[string]any{"user": "bob", "Password": "hunter2", "list": []any{map[string]any{"password": []byte("x")}, int64(1)}, "auth": map[string]any{"token": map[string]any{"v": 1}, "pin": nil}}
	}
	for _, tt := range []struct {
		name  string
		names []string
		want  map[string]any
	}{
		{"none", nil, args()},
		{"a key at any depth, in any case", []string{"password"}, map[string]any{"user": "bob", "Password": "[sensitive string, 7 bytes, hmac 1a2b]",
			"list": []any{map[string]any{"password": "[sensitive bytes, 1 bytes, hmac 1a2b]"}, int64(1)}, "auth": args()["auth"]}},
		{"the same with a star", []string{"*.password"}, map[string]any{"user": "bob", "Password": "[sensitive string, 7 bytes, hmac 1a2b]",
			"list": []any{map[string]any{"password": "[sensitive bytes, 1 bytes, hmac 1a2b]"}, int64(1)}, "auth": args()["auth"]}},
		{"a path from the top", []string{"args.password", "args.auth.pin"}, map[string]any{"user": "bob", "Password": "[sensitive string, 7 bytes, hmac 1a2b]",
			"list": args()["list"], "auth": map[string]any{"token": map[string]any{"v": 1}, "pin": "[sensitive None, 4 bytes, hmac 1a2b]"}}},
		{"a path through a star and a list", []string{"auth.*", "list.password"}, map[string]any{"user": "bob", "Password": "hunter2",
			"list": []any{map[string]any{"password": "[sensitive bytes, 1 bytes, hmac 1a2b]"}, int64(1)},
			"auth": map[string]any{"token": "[sensitive dict, 7 bytes, hmac 1a2b]", "pin": "[sensitive None, 4 bytes, hmac 1a2b]"}}},
		{"a path that begins anywhere", []string{"*.token.v"}, map[string]any{"user": "bob", "Password": "hunter2", "list": args()["list"],
			"auth": map[string]any{"token": map[string]any{"v": "[sensitive value, 1 bytes, hmac 1a2b]"}, "pin": nil}}},
	} {
		in := args()
		got, err := redact.Sensitive(in, tt.names, mac)
		if d := cmp.Diff(tt.want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", tt.name, err, d)
		}
		if d := cmp.Diff(args(), in); d != "" {
			t.Errorf("%s: the input was changed: %s", tt.name, d)
		}
	}
}

func TestSensitiveKindsWithoutAFingerprint(t *testing.T) {
	got, err := redact.Sensitive(map[string]any{"p": true}, []string{"p"}, nil)
	if err != nil || got["p"] != "[sensitive bool, 4 bytes]" {
		t.Errorf("%v %v", got, err)
	}
	got, err = redact.Sensitive(map[string]any{"p": math.NaN(), "q": []any{}}, []string{"p", "q"}, nil)
	if err != nil || got["p"] != "[sensitive value, 3 bytes]" || got["q"] != "[sensitive list, 2 bytes]" {
		t.Errorf("%v %v", got, err)
	}
}

func TestSensitiveRefusesWhatIsTooDeep(t *testing.T) {
	for _, v := range []any{nest("x", 70), map[string]any{"a": nest("x", 70)}} {
		if got, err := redact.Sensitive(map[string]any{"deep": v}, []string{"p"}, nil); err == nil || got != nil || !strings.Contains(err.Error(), "arguments: deep") {
			t.Errorf("%v %v", got, err)
		}
	}
}
