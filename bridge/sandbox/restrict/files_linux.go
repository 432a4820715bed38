package restrict

import (
	"fmt"
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What each version of the kernel's interface added: https://docs.kernel.org/userspace-api/landlock.html
const (
	abiLeast  = 3 // the first that refuses to truncate; before it every file that can be named could be emptied
	abiScoped = 6 // signals and abstract sockets
)

// Files are what a process may use. All else is refused.
type Files struct {
	Read, Write []string // files, and directories with what is in them; what is not there is left out
	TCP         bool     // TCP may be used
}

const (
	accessRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	accessWrite = accessRead | accessFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_REFER // no devices
)

// landlockABI is the version that the kernel speaks.
func landlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("this kernel has no landlock, or it is off: %w", errno)
	}
	return int(abi), nil
}

// handled is all that this version can refuse.
func handled(abi int, tcp bool) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: (unix.LANDLOCK_ACCESS_FS_TRUNCATE << 1) - 1} // every action of version 3
	if abi >= 4 && !tcp {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= abiScoped {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// Apply restricts this thread.
// Preconditions: no_new_privs is set.
func (f Files) Apply() error {
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	if abi < abiLeast {
		return fmt.Errorf("landlock: version %d of the kernel's interface, want %d", abi, abiLeast)
	}
	attr := handled(abi, f.TCP)
	return enforce(attr, func(ruleset int) error {
		for _, p := range f.Read {
			if err := allow(ruleset, p, accessRead); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
		}
		for _, p := range f.Write {
			if err := allow(ruleset, p, accessWrite); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
		}
		return nil
	})
}

// Signals takes from this thread, and what it starts, the power to signal processes that it did not start.
func Signals() error {
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	if abi < abiScoped {
		return fmt.Errorf("landlock: version %d of the kernel's interface does not scope signals", abi)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	// Every ruleset refuses to move files between directories, unless it says otherwise.
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL, Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER}
	return enforce(attr, func(ruleset int) error { return allow(ruleset, "/", unix.LANDLOCK_ACCESS_FS_REFER) })
}

func enforce(attr unix.LandlockRulesetAttr, add func(ruleset int) error) error {
	size := unsafe.Sizeof(attr)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: create the ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	if err := add(int(fd)); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	return nonzero(errno)
}

// allow adds a rule for path and, if it is a directory, for what is in it.
func allow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
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
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessFile
	}
	if fd > math.MaxInt32 {
		return unix.EBADF
	}
	rule := unix.LandlockPathBeneathAttr{Parent_fd: int32(fd), Allowed_access: access}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	return nonzero(errno)
}
