package tools_test

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is the user id that owns nothing.
const nobody = 65534

// asNobody makes the rest of the test a user without rights, also where it runs as
// root: the file system's user is the thread's own.
func asNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread()
	if err := unix.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Setfsuid(0)
		runtime.UnlockOSThread()
	})
}
