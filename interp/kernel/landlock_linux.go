package kernel

import (
	"errors"
	"fmt"
	"math"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The versions of landlock that somebody asks for: https://docs.kernel.org/userspace-api/landlock.html
const (
	Truncates = 3 // refuses to empty files; before it, each that can be named could be
	Scopes    = 6 // refuses signals and abstract sockets
	Syncs     = 8 // one call restricts every thread
)

// Landlock is the version that this kernel speaks.
func Landlock() (version int, err error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("this kernel has no landlock, or it is off: %w", errno)
	}
	return int(v), nil
}

// rights are all actions that landlock governs, by the version that first knew them.
func rights(version int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER - 1} // every action of version 1
	for _, added := range []struct {
		version int
		bits    uint64
		to      *uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER, &attr.Handled_access_fs},
		{Truncates, unix.LANDLOCK_ACCESS_FS_TRUNCATE, &attr.Handled_access_fs},
		{4, unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, &attr.Handled_access_net},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, &attr.Handled_access_fs},
		{Scopes, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL, &attr.Scoped},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, &attr.Handled_access_fs},
		{10, unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP, &attr.Handled_access_net},
	} {
		if version >= added.version {
			*added.to |= added.bits
		}
	}
	return attr
}

// What may be done with files, as Access has it.
const (
	Read  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	Write = Read | ofFiles | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | Move // no devices
	Move = unix.LANDLOCK_ACCESS_FS_REFER // to another directory

	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// An Access is leave to use a file, or a directory with all that is in it. A path that is not there is of no account.
type Access struct {
	Path   string
	Rights uint64 // Read, Write or Move
}

// A Ruleset is what landlock is to refuse: all that this kernel's version knows, but for what stands here.
type Ruleset struct {
	Allow   []Access
	Network bool // TCP and UDP may be used
}

// RestrictThread puts this thread under the ruleset.
// Preconditions: no_new_privs is set.
func (r Ruleset) RestrictThread() error {
	return r.apply(restrictThread)
}

// RestrictProcess puts every thread of this process under the ruleset.
// Preconditions: no_new_privs is set for this thread; the others get it.
func (r Ruleset) RestrictProcess() error {
	if version, err := Landlock(); err == nil && version < Syncs {
		return r.apply(restrictEach)
	}
	return r.apply(func(ruleset int) error { return restrict(ruleset, unix.LANDLOCK_RESTRICT_SELF_TSYNC) })
}

func (r Ruleset) apply(use func(ruleset int) error) error {
	version, err := Landlock()
	if err != nil {
		return err
	}
	attr := rights(version)
	if r.Network {
		attr.Handled_access_net = 0
	}
	return with(attr, r.Allow, use)
}

// RestrictSignals takes from this thread, and what it starts, the power to signal processes that it did not start, and nothing else.
// Preconditions: no_new_privs is set.
func RestrictSignals() error {
	version, err := Landlock()
	if err != nil {
		return err
	}
	if version < Scopes {
		return fmt.Errorf("landlock: version %d of the kernel's interface does not scope signals", version)
	}
	// Every ruleset refuses to move files between directories, unless it says otherwise.
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL, Handled_access_fs: Move}
	return with(attr, []Access{{"/", Move}}, restrictThread)
}

// ReachesThreads says whether RestrictProcess can reach threads that are there already: before version 8 it cannot where C code has a
// part in them.
func ReachesThreads() bool {
	if version, err := Landlock(); err == nil && version >= Syncs {
		return true
	}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_GETPID, 0, 0, 0)
	return errno != unix.ENOTSUP
}

// with makes a ruleset and hands it over.
func with(attr unix.LandlockRulesetAttr, allow []Access, use func(ruleset int) error) error {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: create the ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, a := range allow {
		if err := a.add(int(fd), attr.Handled_access_fs); err != nil {
			return fmt.Errorf("landlock: %s: %w", a.Path, err)
		}
	}
	if err := use(int(fd)); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

func restrictThread(ruleset int) error { return restrict(ruleset, 0) }

func restrict(ruleset int, flags uintptr) error {
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), flags, 0)
	return nonzero(errno)
}

// errCgo is what Go answers when C code owns the threads.
var errCgo = errors.New("this program is linked with C code, and the kernel's landlock is older than version 8")

// restrictEach restricts one thread after the other.
func restrictEach(ruleset int) error {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if errno == unix.ENOTSUP {
		return errCgo
	}
	if errno == 0 {
		_, _, errno = syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0)
	}
	return nonzero(errno)
}

// nonzero is errno as an error, nil if it is none.
func nonzero(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// add gives the leave, as far as the ruleset knows of it.
func (a Access) add(ruleset int, known uint64) error {
	fd, err := unix.Open(a.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	allowed := a.Rights & known
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		allowed &= ofFiles
	}
	if fd > math.MaxInt32 {
		return unix.EBADF
	}
	rule := unix.LandlockPathBeneathAttr{Parent_fd: int32(fd), Allowed_access: allowed}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	return nonzero(errno)
}
