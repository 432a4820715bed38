package restrict

import (
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/codeact-dev/codeact/interp/kernel"
	"github.com/codeact-dev/codeact/interp/kernel/kerneltest"
)

// judge is what becomes of a call of this architecture.
func judge(t kerneltest.TB, c Calls, nr uintptr, args ...uint64) uint32 {
	t.Helper()
	call := kerneltest.Call{Number: uint32(nr)}
	copy(call.Args[:], args)
	return kerneltest.Judge(t, c.filter(), call)
}

const allowed = uint32(unix.SECCOMP_RET_ALLOW)

// What this architecture does not have is left out, so a name with a typing error would be, too.
func TestEveryNameIsACallSomewhere(t *testing.T) {
	for _, name := range slices.Concat(refused, refusedBare) {
		_, old := arch.X86_64.SyscallNames[name]
		_, older := arch.I386.SyscallNames[name]
		if !old && !older && !kernel.Known(name) {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestTheUpperHalfOfARegisterHidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.OneOf(rapid.Just(uint32(unix.TIOCSTI)), rapid.Just(uint32(unix.TIOCLINUX)),
			rapid.Uint32Range(0, 500), rapid.Uint32()).Draw(t, "request")
		request := uint64(low) | uint64(rapid.Uint32().Draw(t, "upper"))<<32
		refused := judge(t, Calls{}, unix.SYS_IOCTL, 0, request) != allowed
		if refused != (low == unix.TIOCSTI || low == unix.TIOCLINUX) {
			t.Fatalf("request %#x refused: %v", request, refused)
		}
	})
}

func TestOnlyListedFamiliesHaveSockets(t *testing.T) {
	for _, c := range []struct {
		calls Calls
		want  map[uint64]bool
	}{
		{Calls{}, map[uint64]bool{unix.AF_INET: true, unix.AF_INET6: true, unix.AF_NETLINK: true}},
		{Calls{Network: true}, map[uint64]bool{unix.AF_UNIX: true, unix.AF_INET: true, unix.AF_INET6: true, unix.AF_NETLINK: true}},
		{Calls{Bare: true}, nil},
		{Calls{Bare: true, Network: true}, map[uint64]bool{unix.AF_INET: true, unix.AF_INET6: true, unix.AF_NETLINK: true}},
	} {
		for family := range uint64(64) {
			if got := judge(t, c.calls, unix.SYS_SOCKET, family) == allowed; got != c.want[family] {
				t.Errorf("%+v: family %d allowed: %v", c.calls, family, got)
			}
		}
	}
}

// A datagram from one of a pair can be sent to any address, and SOCK_RAW is another name of that kind.
func TestOnlyPairsThatStayConnectedAreMade(t *testing.T) {
	eacces := uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EACCES)
	for _, c := range []Calls{{}, {Network: true}, {Bare: true}, {Bare: true, Network: true}} {
		for kind := range uint64(16) {
			for _, flags := range []uint64{0, unix.SOCK_CLOEXEC, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 1 << 40} {
				want := kind == unix.SOCK_STREAM || kind == unix.SOCK_SEQPACKET || c == Calls{Network: true}
				got := judge(t, c, unix.SYS_SOCKETPAIR, unix.AF_UNIX, kind|flags)
				if (got == allowed) != want || !want && got != eacces {
					t.Errorf("%+v: a pair of kind %d|%#x: %#x, want allowed: %v", c, kind, flags, got, want)
				}
			}
		}
		if got := judge(t, c, unix.SYS_SOCKETPAIR, unix.AF_TIPC, unix.SOCK_STREAM); got != eacces {
			t.Errorf("%+v: a pair of another family: %#x", c, got)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	eperm := uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	for _, c := range []struct {
		nr          uintptr
		args        []uint64
		boxed, bare bool // allowed
	}{
		{unix.SYS_READ, nil, true, true}, {unix.SYS_EXECVE, nil, true, true}, {unix.SYS_PTRACE, nil, false, false},
		{unix.SYS_BPF, nil, false, false}, {unix.SYS_IO_URING_SETUP, nil, false, false}, {unix.SYS_MOUNT, nil, false, false},
		{unix.SYS_KEYCTL, nil, false, false}, {unix.SYS_USERFAULTFD, nil, false, false}, {unix.SYS_PERF_EVENT_OPEN, nil, false, false},
		{unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, true, true}, {unix.SYS_CLONE, []uint64{unix.CLONE_NEWNET}, false, false},
		{unix.SYS_FCHMODAT, nil, true, false}, {unix.SYS_FCHMOD, nil, true, false}, {unix.SYS_FCHOWNAT, nil, true, false}, {unix.SYS_FILE_SETATTR, nil, true, false}, {unix.SYS_SHMGET, nil, true, false},
		{unix.SYS_PRLIMIT64, []uint64{0}, true, true}, {unix.SYS_PRLIMIT64, []uint64{7}, true, false}, {unix.SYS_PRLIMIT64, []uint64{1 << 32}, true, false},
		{unix.SYS_UTIMENSAT, []uint64{3, 0}, true, true}, {unix.SYS_UTIMENSAT, []uint64{3, 4096}, true, false},
		{unix.SYS_SETPRIORITY, []uint64{0, 0}, true, true}, {unix.SYS_SETPRIORITY, []uint64{0, 7}, true, false},
		{unix.SYS_SETPRIORITY, []uint64{2, 0}, true, false}, // of all the user's processes
		{unix.SYS_SCHED_SETAFFINITY, []uint64{7}, true, false},
	} {
		for bare, want := range map[bool]bool{false: c.boxed, true: c.bare} {
			got := judge(t, Calls{Bare: bare}, c.nr, c.args...)
			if (got == allowed) != want || !want && got != eperm {
				t.Errorf("bare %v: call %d %v: %#x, want allowed: %v", bare, c.nr, c.args, got, want)
			}
		}
	}
	if got := judge(t, Calls{}, unix.SYS_CLONE3); got != uint32(unix.SECCOMP_RET_ERRNO)|uint32(unix.ENOSYS) {
		t.Errorf("clone3: %#x", got)
	}
	if got := kerneltest.Judge(t, Calls{}.filter(), kerneltest.Call{Arch: kerneltest.Native(t) ^ 1, Number: unix.SYS_READ}); got != unix.SECCOMP_RET_KILL_PROCESS {
		t.Errorf("a foreign call: %#x", got)
	}
}
