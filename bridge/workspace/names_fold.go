//go:build darwin || windows || ios

package workspace

import "runtime"

func fold(s string) string { return foldName(s) }

func alias(name string) bool { return runtime.GOOS == "windows" && dosAlias(name) }
