//go:build !darwin && !windows && !ios

package workspace

func fold(s string) string { return s }

func alias(string) bool { return false }
