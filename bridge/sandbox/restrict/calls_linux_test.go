package restrict

import (
	"encoding/binary"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// judge runs the filter as the kernel would: over the number, the architecture and the arguments of a call.
func judge(t rapid.TB, c Calls, archID uint32, nr uintptr, args ...uint64) uint32 {
	t.Helper()
	raw, err := c.program()
	if err != nil {
		t.Fatal(err)
	}
	instructions, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("unknown instructions")
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64) // struct seccomp_data, each word in the order in which the machine of the library reads it
	binary.BigEndian.PutUint32(data[0:], uint32(nr))
	binary.BigEndian.PutUint32(data[4:], archID)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	action, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(action)
}

const allowed = uint32(seccomp.ActionAllow)

func native(t *testing.T) uint32 {
	t.Helper()
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	return uint32(info.ID)
}

func TestTheUpperHalfOfARegisterHidesNothing(t *testing.T) {
	id := native(t)
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.OneOf(rapid.Just(uint32(unix.TIOCSTI)), rapid.Just(uint32(unix.TIOCLINUX)), rapid.Uint32()).Draw(t, "request")
		request := uint64(low) | uint64(rapid.Uint32().Draw(t, "upper"))<<32
		refused := judge(t, Calls{}, id, unix.SYS_IOCTL, 0, request) != allowed
		if refused != (low == unix.TIOCSTI || low == unix.TIOCLINUX) {
			t.Fatalf("request %#x refused: %v", request, refused)
		}
	})
}

func TestOnlyListedFamiliesHaveSockets(t *testing.T) {
	id := native(t)
	for _, c := range []struct {
		calls Calls
		want  map[uint64]bool
	}{
		{Calls{}, map[uint64]bool{unix.AF_UNIX: true, unix.AF_INET: true, unix.AF_INET6: true, unix.AF_NETLINK: true}},
		{Calls{Bare: true}, nil},
		{Calls{Bare: true, Network: true}, map[uint64]bool{unix.AF_INET: true, unix.AF_INET6: true, unix.AF_NETLINK: true}},
	} {
		for family := range uint64(64) {
			if got := judge(t, c.calls, id, unix.SYS_SOCKET, family) == allowed; got != c.want[family] {
				t.Errorf("%+v: family %d allowed: %v", c.calls, family, got)
			}
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	id, eperm := native(t), uint32(seccomp.ActionErrno)|uint32(unix.EPERM)
	for _, c := range []struct {
		nr          uintptr
		args        []uint64
		boxed, bare bool // allowed
	}{
		{unix.SYS_READ, nil, true, true}, {unix.SYS_EXECVE, nil, true, true}, {unix.SYS_PTRACE, nil, false, false},
		{unix.SYS_BPF, nil, false, false}, {unix.SYS_IO_URING_SETUP, nil, false, false}, {unix.SYS_MOUNT, nil, false, false},
		{unix.SYS_KEYCTL, nil, false, false}, {unix.SYS_USERFAULTFD, nil, false, false}, {unix.SYS_PERF_EVENT_OPEN, nil, false, false},
		{unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, true, true}, {unix.SYS_CLONE, []uint64{unix.CLONE_NEWNET}, false, false},
		{unix.SYS_FCHMODAT, nil, true, false}, {unix.SYS_FCHMOD, nil, true, false}, {unix.SYS_FCHOWNAT, nil, true, false}, {unix.SYS_SHMGET, nil, true, false},
		{unix.SYS_PRLIMIT64, []uint64{0}, true, true}, {unix.SYS_PRLIMIT64, []uint64{7}, true, false}, {unix.SYS_PRLIMIT64, []uint64{1 << 32}, true, false},
		{unix.SYS_UTIMENSAT, []uint64{3, 0}, true, true}, {unix.SYS_UTIMENSAT, []uint64{3, 4096}, true, false},
		{unix.SYS_SETPRIORITY, []uint64{0, 0}, true, true}, {unix.SYS_SETPRIORITY, []uint64{0, 7}, true, false},
		{unix.SYS_SETPRIORITY, []uint64{2, 0}, true, false}, // of all the user's processes
		{unix.SYS_SCHED_SETAFFINITY, []uint64{7}, true, false},
	} {
		for bare, want := range map[bool]bool{false: c.boxed, true: c.bare} {
			got := judge(t, Calls{Bare: bare}, id, c.nr, c.args...)
			if (got == allowed) != want || !want && got != eperm {
				t.Errorf("bare %v: call %d %v: %#x, want allowed: %v", bare, c.nr, c.args, got, want)
			}
		}
	}
	if got := judge(t, Calls{}, id, unix.SYS_CLONE3); got != uint32(seccomp.ActionErrno)|uint32(unix.ENOSYS) {
		t.Errorf("clone3: %#x", got)
	}
	if got := judge(t, Calls{}, id^1, unix.SYS_READ); got != uint32(seccomp.ActionKillProcess) {
		t.Errorf("a foreign call: %#x", got)
	}
}
