package kerneltest

import (
	"encoding/binary"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
)

// A TB is a test, or one run of a property.
type TB interface {
	Helper()
	Fatal(...any)
}

// A Filter is one of package kernel, which cannot be imported here: its own tests need this package.
type Filter interface {
	Program() ([]bpf.Instruction, error)
}

// A Call is what a filter sees of a system call.
type Call struct {
	Arch   uint32 // as the kernel's audit names it; 0 means this one's
	Number uint32
	Args   [6]uint64
}

// Native is the number of this architecture.
func Native(t TB) uint32 {
	t.Helper()
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	return uint32(info.ID)
}

// Judge returns what the filter's program returns for the call: a SECCOMP_RET value.
func Judge(t TB, f Filter, c Call) uint32 {
	t.Helper()
	program, err := f.Program()
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	if c.Arch == 0 {
		c.Arch = Native(t)
	}
	// struct seccomp_data: seccomp(2). The machine reads words as the network has them, so they are written like that, but the halves
	// of an argument stand in the order of this architecture.
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[0:], c.Number)
	binary.BigEndian.PutUint32(data[4:], c.Arch)
	for i, a := range c.Args {
		first, second := uint32(a), uint32(a>>32)
		if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
			first, second = second, first
		}
		binary.BigEndian.PutUint32(data[16+8*i:], first)
		binary.BigEndian.PutUint32(data[20+8*i:], second)
	}
	action, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(action)
}
