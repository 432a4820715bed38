//go:build unix

package assembly_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/codeact-dev/codeact/engine/assembly"
)

// A home of another user permits nothing, although he lets us read it. Only root can
// give a file away, so that the claim is tested where root runs the tests.
func TestAHomeOfAnotherUserIsRefused(t *testing.T) {
	const nobody = 65534
	if os.Geteuid() != 0 {
		return
	}
	for _, name := range []string{"", "config.yaml", "trusted"} {
		p := newPlace(t, head+ws+final+mocks+guard+"security: {trifecta: allow}\n", map[string]string{"home": home + "permit: [trifecta.allow]\n"})
		if _, err := assembly.Trust(p.home, p.digest(t), "test"); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p.home, 0o755); err != nil {
			t.Fatal(err)
		}
		p.must(t, nil)
		if err := os.Chown(filepath.Join(p.home, name), nobody, nobody); err != nil {
			t.Fatal(err)
		}
		if r, err := p.open(t, nil); !errors.Is(err, assembly.ErrPrecondition) {
			if err == nil {
				r.Close()
			}
			t.Errorf("%q of another user: %v", name, err)
		}
	}
}
