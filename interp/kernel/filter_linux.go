package kernel

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A Filter says what becomes of a system call: the first rule that matches decides, else Default. A call of another architecture, whose
// numbers mean other things, ends the process. So does every call under the zero value.
type Filter struct {
	Rules   []Rule
	Default Action
}

// A Rule matches a call of one of these names for which all conditions hold. Every name must be Known.
type Rule struct {
	Names  []string
	If     []Condition
	Action Action
}

// An Action is what becomes of a call. The zero value ends the process.
type Action struct {
	Allow bool
	Errno unix.Errno // what the call fails with instead of being made; 0 means none, and comes before Allow
}

// A Condition compares the bits of one argument. A register has 64, of which the kernel drops the upper half where the argument is an
// int: there, what refuses a number must mask the half (CVE-2019-10063), and what allows it need not.
type Condition struct {
	Arg   int    // 0 to 5
	Mask  uint64 // 0 means all bits
	Value uint64
	Not   bool // holds if they differ
}

// Is holds for an argument of this value, all 64 bits of it.
func Is(arg int, v uint64) Condition { return Condition{Arg: arg, Value: v} }

// IsNot holds for all others.
func IsNot(arg int, v uint64) Condition { return Condition{Arg: arg, Value: v, Not: true} }

// HasNone holds for an argument without any of these bits.
func HasNone(arg int, bits uint64) Condition { return Condition{Arg: arg, Mask: bits} }

// HasAny holds for an argument with one of these bits at least.
func HasAny(arg int, bits uint64) Condition { return Condition{Arg: arg, Mask: bits, Not: true} }

// newer are calls that the table of numbers lacks. Calls that are so new have one number on all architectures.
var newer = map[string]uint32{"file_getattr": unix.SYS_FILE_GETATTR, "file_setattr": unix.SYS_FILE_SETATTR}

// Known says whether this architecture has a call of that name.
func Known(name string) bool {
	info, err := arch.GetInfo("")
	if err != nil {
		return false
	}
	_, known := number(info, name)
	return known
}

func number(info *arch.Info, name string) (uint32, bool) {
	if nr, ok := info.SyscallNames[name]; ok {
		return uint32(nr), true
	}
	nr, ok := newer[name]
	return nr, ok
}

// RestrictThread puts this thread under the filter.
// Preconditions: no_new_privs is set.
func (f Filter) RestrictThread() error { return f.install(0) }

// RestrictProcess puts every thread of this process under the filter, or none.
// Preconditions: no_new_privs is set for this thread; the others get it.
func (f Filter) RestrictProcess() error { return f.install(unix.SECCOMP_FILTER_FLAG_TSYNC) }

func (f Filter) install(flags uintptr) error {
	instructions, err := f.Program()
	if err != nil {
		return err
	}
	raw, err := bpf.Assemble(instructions)
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: (*unix.SockFilter)(unsafe.Pointer(&raw[0]))}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0:
		return fmt.Errorf("seccomp: %w", errno)
	case thread != 0: // no errno, and no filter either
		return fmt.Errorf("seccomp: thread %d has a filter of its own", thread)
	}
	return nil
}

// Where the words of struct seccomp_data are, in bytes: seccomp(2).
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// x32Bit marks the calls of the x32 ABI, whose architecture is that of amd64.
const x32Bit = 0x40000000

// Program compiles the filter for this architecture. Each rule loads what it compares, so none depends on what the one before has left behind.
func (f Filter) Program() ([]bpf.Instruction, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("seccomp: %w", err)
	}
	kill := Action{}.instruction()
	program := []bpf.Instruction{
		word(offArch), bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1}, kill,
	}
	if info.ID == arch.X86_64.ID {
		program = append(program, word(offNumber), bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1}, kill)
	}
	for _, r := range f.Rules {
		part, err := r.instructions(info)
		if err != nil {
			return nil, err
		}
		program = append(program, part...)
	}
	return append(program, f.Default.instruction()), nil
}

// instructions are, for each name: compare the number, then the arguments, then act. A comparison that fails goes on behind that.
func (r Rule) instructions(info *arch.Info) (list []bpf.Instruction, err error) {
	for _, name := range r.Names {
		nr, ok := number(info, name)
		if !ok {
			return nil, fmt.Errorf("seccomp: %s has no call %q", info.Name, name)
		}
		body := []bpf.Instruction{r.Action.instruction()}
		for _, c := range slices.Backward(r.If) {
			if c.Arg < 0 || c.Arg > 5 || c.Mask != 0 && c.Value&^c.Mask != 0 {
				return nil, fmt.Errorf("seccomp: %s: a condition that makes no sense: %+v", name, c)
			}
			body = c.guard(body)
		}
		body = guard(word(offNumber), ^uint32(0), nr, body)
		if len(body) > maxJump {
			return nil, fmt.Errorf("seccomp: %s: too many conditions", name)
		}
		list = append(list, body...)
	}
	return list, nil
}

// maxJump is how far a conditional jump of a filter reaches, in instructions.
const maxJump = 255

// guard puts a comparison before body that jumps behind it if the condition does not hold.
func (c Condition) guard(body []bpf.Instruction) []bpf.Instruction {
	mask := c.Mask
	if mask == 0 {
		mask = ^uint64(0)
	}
	low, high := offArgs+8*uint32(c.Arg), offArgs+8*uint32(c.Arg)+4
	if bigEndian {
		low, high = high, low
	}
	if !c.Not {
		return guard(word(low), uint32(mask), uint32(c.Value), guard(word(high), uint32(mask>>32), uint32(c.Value>>32), body))
	}
	// Behind the body if both halves are equal; into it as soon as one is not.
	second := compare(word(high), uint32(mask>>32), uint32(c.Value>>32), len(body), 0)
	return slices.Concat(compare(word(low), uint32(mask), uint32(c.Value), 0, len(second)), second, body)
}

func guard(load bpf.Instruction, mask, value uint32, body []bpf.Instruction) []bpf.Instruction {
	return append(compare(load, mask, value, 0, len(body)), body...)
}

// compare loads a word and skips so many instructions if it has this value below the mask, and so many if it has not.
func compare(load bpf.Instruction, mask, value uint32, equal, unequal int) []bpf.Instruction {
	return []bpf.Instruction{
		load,
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: uint8(equal), SkipFalse: uint8(unequal)},
	}
}

func word(offset uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offset, Size: 4} }

// bigEndian says which half of an argument comes first.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

func (a Action) instruction() bpf.Instruction {
	switch {
	case a.Errno != 0:
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(a.Errno)&unix.SECCOMP_RET_DATA}
	case a.Allow:
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	}
	return bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
}
