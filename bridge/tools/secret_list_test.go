package tools_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/tools"
)

func TestSecretListNamesSecrets(t *testing.T) {
	for _, names := range [][]string{nil, {"TOKEN"}, {"B", "A"}} {
		r := newRig(t, setup{tools: []bridge.Tool{tools.SecretList(names)}})
		want := []any{}
		for i := range names {
			want = append(want, names[len(names)-1-i])
		}
		first := r.value(t, "secret_list", args{})
		if !reflect.DeepEqual(first, want) {
			t.Errorf("%v, want %v", first, want)
		}
		if len(names) > 0 {
			first.([]any)[0] = "changed by a script"
			if again := r.value(t, "secret_list", args{}); !reflect.DeepEqual(again, want) {
				t.Errorf("the second call returned %v", again)
			}
		}
		r.fails(t, "secret_list", args{"name": fmt.Sprint(names)}, "it takes no parameters")
	}
}

func TestSecretListIsFree(t *testing.T) {
	s := tools.SecretList([]string{"TOKEN"})
	if s.Tier.Number() != 0 || s.Caps.String() != "none" || !s.Idempotent {
		t.Errorf("tier %d, capabilities %s", s.Tier.Number(), s.Caps)
	}
}
