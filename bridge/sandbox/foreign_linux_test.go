//go:build linux && !amd64

package sandbox_test

import "errors"

// foreignCalls: this processor has no second set of calls, or no short way to them.
func foreignCalls([]string) error { return errors.New("none here") }
