package worker

import (
	"runtime/debug"
	"time"

	"github.com/codeact-dev/codeact/interp/wire"
)

// Confine shuts the process in before anything untrusted arrives, and reports what took hold.
type Confine func(wire.Limits) Confinement

// Confinement is what took hold. The zero value is none.
type Confinement struct {
	Held   []string                  // names of Features that took hold
	Missed []string                  // "name: reason" of those that did not
	Slice  func(time.Duration) error // allows so much more processor time; nil: nothing limits it
	Used   func() time.Duration      // processor time of the process so far; nil: unknown
}

func (c Confinement) slice(cpu time.Duration) error {
	if c.Slice == nil {
		return nil
	}
	return c.Slice(cpu)
}

func (c Confinement) used() time.Duration {
	if c.Used == nil {
		return 0
	}
	return c.Used()
}

// Unconfined confines nothing: for a block that runs in a trusting process.
func Unconfined(wire.Limits) Confinement { return Confinement{} }

// feature is one part of the confinement.
type feature struct {
	name  string
	apply func(wire.Limits) error
}

// apply tries every feature in order; one that fails does not stop the next, since the host decides what it requires.
func apply(features []feature, limits wire.Limits) (c Confinement) {
	for _, f := range features {
		if err := f.apply(limits); err != nil {
			c.Missed = append(c.Missed, f.name+": "+err.Error())
			continue
		}
		c.Held = append(c.Held, f.name)
	}
	return c
}

// maxStack makes a stack overflow die at 64 MiB, before it takes the memory limit.
const maxStack = 64 << 20

// boundRuntime sets what the Go runtime itself can bound, on every system. Neither is a wall: a stack overflow still
// kills the process, and the memory limit only makes the collector work harder below the real one.
func boundRuntime(limits wire.Limits) error {
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(mostOf(limits.Memory))
	return nil
}
