package worker

import (
	"fmt"
	"os"

	"github.com/codeact-dev/codeact/interp/wire"
)

// canaries are actions that no worker may be able to do, by name. Each returns nil if it was done, and leaves nothing.
var canaries = []struct {
	name string
	try  func(wire.Limits) error
}{
	{"open", func(wire.Limits) error { return closed(os.Open(os.DevNull)) }},
	{"write", func(wire.Limits) error {
		f, err := os.CreateTemp("", "codeact-canary-")
		if err == nil {
			defer os.Remove(f.Name())
		}
		return closed(f, err)
	}},
	{"connect", func(wire.Limits) error { return connect() }},
	{"exec", startSelf},
	{"memory", takeMemory},
}

// Canaries are the names that Open.Canary may have.
func Canaries() []string {
	names := make([]string, len(canaries))
	for i, c := range canaries {
		names[i] = c.name
	}
	return names
}

// tryForbidden does what the confinement should prevent. Most answers are not reached: the process dies of the attempt.
func tryForbidden(name string, limits wire.Limits) wire.Done {
	for _, c := range canaries {
		if c.name != name {
			continue
		}
		if err := c.try(limits); err != nil {
			return wire.Done{Fault: &wire.Fault{Kind: wire.FaultRuntime, Msg: wire.Clip(err.Error(), limits.ErrorBytes)}}
		}
		return wire.Done{}
	}
	return wire.Done{Fault: &wire.Fault{Kind: wire.FaultSource, Msg: fmt.Sprintf("no canary %q", wire.Clip(name, 40))}}
}

func closed(c interface{ Close() error }, err error) error {
	if err != nil {
		return err
	}
	return c.Close()
}

// startSelf starts this program, which ends at once as a worker without its socket.
func startSelf(wire.Limits) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := os.StartProcess(self, []string{self, Marker}, &os.ProcAttr{Env: []string{"GOTRACEBACK=none"}})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// takeMemory touches a quarter more than the limit.
func takeMemory(limits wire.Limits) error {
	const chunk = 16 << 20
	var held [][]byte
	for size := int64(0); size < limits.Memory/4*5; size += chunk {
		b := make([]byte, chunk)
		for i := 0; i < len(b); i += 4096 { // a page
			b[i] = 1
		}
		held = append(held, b)
	}
	if len(held[0]) != chunk {
		return fmt.Errorf("held %d bytes", len(held[0]))
	}
	return nil
}
