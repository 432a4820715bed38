package celenv

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/google/go-cmp/cmp"

	"github.com/codeact-dev/codeact/policy"
	"github.com/codeact-dev/codeact/policy/rules/urls"
)

func TestB04AGlobJudgesCanonicalPathsOnly(t *testing.T) {
	for _, c := range []struct {
		s, p string
		want bool
	}{
		{"src/a/b.go", "src/**", true}, {"src", "src/**", true}, {"srcx/a", "src/**", false}, {"a/b", "*/b", true}, {"a/b/c", "*/c", false}, {"", "*", true},
	} {
		if got, err := matchesGlob(c.s, c.p); got != c.want || err != nil {
			t.Errorf("%s by %s: %v, %v", c.s, c.p, got, err)
		}
	}
	// FAULTS B04: five spellings of one path, none of which slips past a deny rule.
	for _, s := range []string{"./secrets/a", "src/../secrets/a", "secrets//a", "secrets/a/", "../secrets/a"} {
		if _, err := matchesGlob(s, "secrets/**"); err == nil {
			t.Errorf("%s is judged as written", s)
		}
	}
	for _, p := range []string{"[", strings.Repeat("a", maxPattern+1)} {
		if ok, err := matchesGlob("a", p); ok || err == nil {
			t.Errorf("the pattern %.10s is accepted", p)
		}
	}
}

func TestZonesAreNamedAndNeverTheMachines(t *testing.T) {
	at := time.Date(2026, 7, 5, 23, 30, 15, 250e6, time.UTC)
	want := map[string][]int64{ // in the order of the accessors
		"Europe/Berlin": {2026, 6, 186, 5, 6, 1, 1, 30, 15, 250},
		"UTC":           {2026, 6, 185, 4, 5, 0, 23, 30, 15, 250},
		"+05:30":        {2026, 6, 186, 5, 6, 1, 5, 0, 15, 250},
		"-03:30":        {2026, 6, 185, 4, 5, 0, 20, 0, 15, 250},
	}
	for range 2 { // the second time from the map
		for name, values := range want {
			for i, z := range zonedAccessors {
				if got := z.call(types.Timestamp{Time: at}, types.String(name)); got != types.Int(values[i]) {
					t.Errorf("%s in %s: %v, want %d", z.name, name, got, values[i])
				}
			}
		}
	}
	for _, name := range []string{"", "Local", "Nowhere", "../etc/passwd", "+25:00", "+5", "-aa:bb"} {
		if _, err := zone(name); err == nil {
			t.Errorf("%q is a zone", name)
		}
	}
}

func TestObjectsOfUnknownTypeAreReadSafely(t *testing.T) {
	path := object{pathType, &policy.PathFact{Rel: "a"}}
	if got := path.Get(types.String("rel")); got != types.String("a") {
		t.Error(got)
	}
	for _, v := range []ref.Val{
		path.Get(types.String("rle")), path.Get(types.Int(1)), path.IsSet(types.String("rle")), path.ConvertToType(types.StringType),
		object{callType, (*callView)(&policy.Request{})}.Get(types.String("url")), object{callType, &policy.PathFact{}}.Get(types.String("id")),
		provider{}.NewValue("codeact.Path", nil),
	} {
		if !types.IsError(v) {
			t.Errorf("%v is no error", v)
		}
	}
	if got := (object{callType, (*callView)(&policy.Request{})}).IsSet(types.String("url")); got != types.False {
		t.Error(got)
	}
	if path.Equal(object{pathType, &policy.PathFact{Rel: "a"}}) != types.True || path.Equal(object{pathType, &policy.PathFact{Rel: "b"}}) != types.False || path.Equal(types.Int(1)) != types.False {
		t.Error("objects are compared by identity")
	}
	if path.ConvertToType(types.TypeType) != pathType.typ || path.Type() != pathType.typ {
		t.Error("an object has another type")
	}
	if v, err := path.ConvertToNative(reflect.TypeFor[*policy.PathFact]()); err != nil || v != path.v {
		t.Error(v, err)
	}
	if _, err := path.ConvertToNative(reflect.TypeFor[int]()); err == nil {
		t.Error("a path is an int")
	}
	if got, want := path.String(), `{param: "", rel: "a", abs: "", writable: false, made: false}`; got != want {
		t.Error(got)
	}
	if got := (object{callType, (*callView)(&policy.Request{Call: "x"})}).String(); !strings.HasPrefix(got, `{id: "x"`) || strings.Contains(got, "url:") {
		t.Error(got)
	}
}

func TestEveryViewHasItsType(t *testing.T) {
	r := &policy.Request{}
	for _, c := range []struct {
		v    any
		want *objectType
	}{
		{(*callView)(r), callType}, {(*taintView)(r), taintType}, {&r.Tool, toolType}, {&urls.URL{}, urlType}, {&policy.PathFact{}, pathType}, {&policy.ShellFact{}, shellType},
		{&r.Held, labelsType}, {&argLabel{}, argLabelType}, {&r.Lease, leaseType}, {&r.Run, runType}, {&r.Session, sessionType},
	} {
		if o, ok := (Adapter{}).NativeToValue(c.v).(object); !ok || o.typ != c.want {
			t.Errorf("%T: %v", c.v, o)
		}
	}
	names, ok := provider{}.FindStructFieldNames("codeact.Path")
	if diff := cmp.Diff([]string{"param", "rel", "abs", "writable", "made"}, names); !ok || diff != "" {
		t.Error(diff)
	}
	p := provider{Base().CELTypeProvider()}
	if _, ok := p.FindStructFieldNames("no.Such"); ok {
		t.Error("there is no such type")
	}
	if _, ok := p.FindStructFieldType("no.Such", "x"); ok {
		t.Error("there is no such type")
	}
	if v := p.NewValue("no.Such", nil); !types.IsError(v) {
		t.Error(v)
	}
}

func TestTheMapOfArgumentLabelsIsAMap(t *testing.T) {
	r := &policy.Request{Args: map[string]any{"b": 1, "a": 2}, ArgTaint: map[string]policy.ArgTaint{"a": {Taint: policy.Tainted(policy.Private, "c1"), Origin: "tool"}, "c": {}}, Held: policy.Tainted(policy.Untrusted, "c9")}
	m := &argTaints{r}
	if m.Size() != types.Int(3) || m.Contains(types.String("b")) != types.True || m.Contains(types.String("z")) != types.False {
		t.Error("it has other keys")
	}
	if got := m.Get(types.String("b")).(object).v; !reflect.DeepEqual(got, &argLabel{r.Held, r, "b"}) {
		t.Errorf("an argument without a label has %+v, not the floor", got)
	}
	for _, v := range []ref.Val{m.Get(types.String("z")), m.Get(types.Int(1)), m.Contains(types.Int(1)), m.ConvertToType(types.StringType)} {
		if !types.IsError(v) {
			t.Errorf("%v is no error", v)
		}
	}
	other := *r
	other.Held = policy.Tainted(policy.Private, "x")
	if m.Equal(&argTaints{r}) != types.True || m.Equal(&argTaints{&other}) != types.False || m.Equal(&argTaints{&policy.Request{}}) != types.False || m.Equal(types.True) != types.False {
		t.Error("it is equal to another, or not to itself")
	}
	if m.ConvertToType(types.MapType) != ref.Val(m) || m.ConvertToType(types.TypeType) != types.MapType || m.Type() != types.MapType || m.Value() != any(m) {
		t.Error("it has another type")
	}
	if v, err := m.ConvertToNative(reflect.TypeFor[*argTaints]()); err != nil || v != any(m) {
		t.Error(v, err)
	}
	if _, err := m.ConvertToNative(reflect.TypeFor[int]()); err == nil {
		t.Error("it is an int")
	}
}

func TestAStepIsTheMiddleOfACall(t *testing.T) {
	for id, want := range map[string]int{"r/7/2": 7, "": 0, "r": 0, "r/x/2": 0, "a/b/c/d": 0} {
		if got := (&callView{Call: id}).step(); got != want {
			t.Errorf("%s: %d", id, got)
		}
	}
}

func TestBigIntegersStayExact(t *testing.T) {
	for n, want := range map[string]string{"5": "5", "18446744073709551615": "18446744073709551615", "-9223372036854775808": "-9223372036854775808"} {
		b, _ := new(big.Int).SetString(n, 10)
		if got := fmt.Sprint(bigValue(b).Value()); got != want {
			t.Errorf("%s became %s", n, got)
		}
	}
}
