//go:build linux

package sandbox_test

import (
	"testing"

	"github.com/codeact-dev/codeact/bridge/sandbox"
)

// What a command costs that does nothing: on 2 cores at 2.5 GHz, see the results in RATIONALE.md.
func BenchmarkTrue(b *testing.B) {
	for _, kind := range []string{sandbox.Bwrap, sandbox.Landlock, sandbox.None} {
		b.Run(kind, func(b *testing.B) {
			w := newWorld(b)
			box := w.open(b, sandbox.Config{Kind: kind})
			for b.Loop() {
				if r, err := box.Run(b.Context(), sandbox.Command{Argv: []string{"true"}}); err != nil || r.ExitCode != 0 {
					b.Fatalf("got %+v, %v", r, err)
				}
			}
		})
	}
}
