package kernel

import (
	"slices"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/interp/kernel/kerneltest"
)

func native(t *testing.T) *arch.Info {
	t.Helper()
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// meant is what the filter's documentation says of a call.
func meant(info *arch.Info, f Filter, c kerneltest.Call) Action {
	if c.Arch != uint32(info.ID) || info.ID == arch.X86_64.ID && c.Number >= x32Bit {
		return Action{}
	}
	for _, r := range f.Rules {
		named := slices.ContainsFunc(r.Names, func(n string) bool { nr, _ := number(info, n); return nr == c.Number })
		all := !slices.ContainsFunc(r.If, func(x Condition) bool {
			mask := x.Mask
			if mask == 0 {
				mask = ^uint64(0)
			}
			return (c.Args[x.Arg]&mask == x.Value) == x.Not
		})
		if named && all {
			return r.Action
		}
	}
	return f.Default
}

// Few calls, numbers that are also arguments, and bits in both halves: so that rules meet each other.
var (
	names  = []string{"read", "mmap", "prctl", "socket", "file_setattr"}
	values = rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, unix.SYS_MMAP, unix.SYS_PRCTL, unix.SYS_FILE_SETATTR, 1 << 32, 1<<32 | 1, 1 << 63}), rapid.Uint64Range(0, 7))
	action = rapid.SampledFrom([]Action{{}, {Allow: true}, {Errno: unix.EPERM}, {Errno: unix.ENOSYS, Allow: true}})
)

var condition = rapid.Custom(func(t *rapid.T) Condition {
	c := Condition{Arg: rapid.IntRange(0, 5).Draw(t, "arg"), Mask: values.Draw(t, "mask"), Value: values.Draw(t, "value"), Not: rapid.Bool().Draw(t, "not")}
	if c.Mask != 0 {
		c.Value &= c.Mask
	}
	return c
})

var rule = rapid.Custom(func(t *rapid.T) Rule {
	return Rule{Names: rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "names"), If: rapid.SliceOfN(condition, 0, 4).Draw(t, "if"), Action: action.Draw(t, "action")}
})

func TestAFilterDoesWhatItsRulesSay(t *testing.T) {
	info := native(t)
	rapid.Check(t, func(t *rapid.T) {
		f := Filter{Rules: rapid.SliceOfN(rule, 0, 5).Draw(t, "rules"), Default: action.Draw(t, "default")}
		for range 8 {
			nr, _ := number(info, rapid.SampledFrom(names).Draw(t, "name"))
			nr |= rapid.SampledFrom([]uint32{0, 0, 0, x32Bit, 1 << 31}).Draw(t, "bits")
			c := kerneltest.Call{Arch: uint32(info.ID) ^ rapid.SampledFrom([]uint32{0, 0, 0, 1}).Draw(t, "arch"), Number: nr}
			for i := range c.Args {
				c.Args[i] = values.Draw(t, "argument")
			}
			want := bpf.RetConstant{Val: kerneltest.Judge(t, f, c)}
			if got := meant(info, f, c).instruction(); got != want {
				t.Fatalf("%+v: got %#x, want %#x", c, want, got)
			}
		}
	})
}

func TestTheZeroFilterEndsTheProcess(t *testing.T) {
	info := native(t)
	for _, c := range []kerneltest.Call{{Number: unix.SYS_READ}, {Arch: uint32(info.ID) ^ 1, Number: unix.SYS_READ}} {
		if got := kerneltest.Judge(t, Filter{}, c); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("%+v: %#x", c, got)
		}
	}
}

func TestAnActionIsTheKernels(t *testing.T) {
	for _, test := range []struct {
		action Action
		want   uint32
	}{
		{Action{}, unix.SECCOMP_RET_KILL_PROCESS}, {Action{Allow: true}, unix.SECCOMP_RET_ALLOW},
		{Action{Errno: unix.EPERM}, unix.SECCOMP_RET_ERRNO | 1}, {Action{Allow: true, Errno: unix.EPERM}, unix.SECCOMP_RET_ERRNO | 1},
	} {
		if got := kerneltest.Judge(t, Filter{Default: test.action}, kerneltest.Call{Number: unix.SYS_READ}); got != test.want {
			t.Errorf("%+v: got %#x", test.action, got)
		}
	}
}

func TestOfAnotherArchitectureNothingIsAllowed(t *testing.T) {
	info := native(t)
	allowAll := Filter{Default: Action{Allow: true}}
	if got := kerneltest.Judge(t, allowAll, kerneltest.Call{Arch: uint32(info.ID), Number: unix.SYS_READ}); got != unix.SECCOMP_RET_ALLOW {
		t.Errorf("the control: %#x", got)
	}
	foreign := []kerneltest.Call{{Arch: uint32(arch.I386.ID), Number: unix.SYS_READ}, {Arch: uint32(arch.ARM.ID), Number: unix.SYS_READ}}
	if info.ID == arch.X86_64.ID {
		foreign = append(foreign, kerneltest.Call{Arch: uint32(info.ID), Number: x32Bit | unix.SYS_READ})
	}
	for _, c := range foreign {
		if got := kerneltest.Judge(t, allowAll, c); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("%+v: %#x", c, got)
		}
	}
}

func TestAFilterThatMakesNoSenseIsAnError(t *testing.T) {
	many := make([]Condition, maxJump)
	for want, r := range map[string]Rule{
		`no call "raed"`:        {Names: []string{"raed"}},
		"makes no sense":        {Names: []string{"read"}, If: []Condition{{Arg: 6}}},
		"makes no sense: {Arg:": {Names: []string{"read"}, If: []Condition{{Arg: -1}}},
		"Mask:2 Value:3":        {Names: []string{"read"}, If: []Condition{{Mask: 2, Value: 3}}},
		"too many conditions":   {Names: []string{"read"}, If: many},
	} {
		if err := (Filter{Rules: []Rule{r}}).RestrictThread(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if Known("raed") || !Known("read") || !Known("file_setattr") {
		t.Error("what is known is not")
	}
}
