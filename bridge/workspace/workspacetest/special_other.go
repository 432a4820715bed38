//go:build !unix

package workspacetest

import "testing"

var special map[string]func(t testing.TB, at string)
